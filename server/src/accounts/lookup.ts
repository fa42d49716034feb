import type { Granted } from '@szafa/protocol';

export interface SessionRow {
  session_id: string;
  username: string;
  account_id: string;
  used_at: number;
  scope: Granted['scope'];
  /** The only directory that it may use; null: all. */
  only_dir: number | null;
  /** Null: when it has not been used for long. */
  expires_at: number | null;
  /** Since when an operator lets the account do nothing. */
  disabled_at: number | null;
  /** Bytes a second on each node, where the account has limits of its own. */
  upload_rate: number | null;
  download_rate: number | null;
}

/** With `s` for the session, and `c` for its account. */
export const SESSION = `s.id AS session_id, s.username, s.account_id, s.used_at, s.scope, s.dir_id AS only_dir, s.expires_at,
  c.disabled_at, c.upload_rate, c.download_rate`;
/** Where these come from. */
export const SESSIONS = 'sessions s JOIN users c ON c.account_id = s.account_id';

/** What a row that begins with these says of the session. */
export function sessionOf(row: SessionRow): SessionRow {
  const { session_id, username, account_id, used_at, scope, only_dir, expires_at } = row;
  const { disabled_at, upload_rate, download_rate } = row;
  return {
    ...{ session_id, username, account_id, used_at, scope, only_dir, expires_at },
    ...{ disabled_at, upload_rate, download_rate },
  };
}

/** What a request asks for beside who calls; with a session it is fetched in the same query. */
export interface Lookup<T> {
  /** The system token has no session. */
  admin: () => Promise<T>;
  session: (tokenHash: string) => Promise<(SessionRow & T) | undefined>;
  /** Of routes for visitors: the upload that is done with this token, if it is what the request names. */
  visitor?: (tokenHash: string, now: number) => Promise<(SessionRow & T) | undefined>;
}
