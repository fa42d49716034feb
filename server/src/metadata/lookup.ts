import type { Scope } from '@szafa/protocol';

export interface SessionRow {
  username: string;
  account_id: string;
  used_at: number;
  scope: Scope;
  /** The only directory that it may use; null: all. */
  only_dir: number | null;
  /** Null: when it has not been used for long. */
  expires_at: number | null;
}

/** With `s` for the session. */
export const SESSION = 's.username, s.account_id, s.used_at, s.scope, s.dir_id AS only_dir, s.expires_at';

/** What a row that begins with these says of the session. */
export function sessionOf(row: SessionRow): SessionRow {
  const { username, account_id, used_at, scope, only_dir, expires_at } = row;
  return { username, account_id, used_at, scope, only_dir, expires_at };
}

/** What a request asks for beside who calls; with a session it is fetched in the same query. */
export interface Lookup<T> {
  /** The system token has no session. */
  admin: () => Promise<T>;
  session: (tokenHash: string) => Promise<(SessionRow & T) | undefined>;
}
