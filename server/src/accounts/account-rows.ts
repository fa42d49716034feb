/** SQL shared by the queries of other features: the account behind a token, and whether that account still exists. */
import type { TokenGrant } from '@szafa/protocol';
import type { Dialect, Sql } from '../platform/sql/sql.ts';
import { accountGone } from './refusals.ts';

/** Account ids of owners that are not registered users: the administrator, and "no owner". */
export const ADMIN_ACCOUNT = 'admin';
export const NO_ACCOUNT = 'none';
export const isAdmin = (accountId: string) => accountId === ADMIN_ACCOUNT;

/** Whether an account is neither being deleted nor disabled; `account` is its alias. */
export const isUsable = (account: string) =>
  `${account}.deleting_since IS NULL AND ${account}.disabled_at IS NULL`;

/** Selects an account that is not being deleted, and locks it so that no deletion can begin until the transaction ends. */
export const liveAccount = ({ forShare }: Dialect) =>
  `SELECT 1 FROM accounts WHERE account_id = ? AND deleting_since IS NULL ${forShare}`;

/**
 * Every transaction that creates something for an account calls this first: a request may take an hour, and in that time the
 * account may be deleted and its name registered by somebody else.
 */
export async function requireLiveAccount(tx: Sql, accountId: string): Promise<void> {
  if (isAdmin(accountId)) return;
  if ((await tx.query(liveAccount(tx.dialect), accountId)).length === 0) throw accountGone();
}

/** A session or token, with the facts about its account that every request needs. */
export interface SessionRow {
  session_id: string;
  username: string;
  account_id: string;
  used_at: number;
  scope: TokenGrant['scope'];
  /** The only directory that the token may use; null means all. */
  only_dir: number | null;
  /** Null if the session has no fixed expiry and ends when unused. */
  expires_at: number | null;
  /** When an operator disabled the account. */
  disabled_at: number | null;
  /** Limits set for this account, in bytes per second on each node. */
  upload_rate: number | null;
  download_rate: number | null;
}

/** The columns of `SessionRow`, where `s` is the session and `c` its account. */
export const SESSION = `s.id AS session_id, s.username, s.account_id, s.used_at, s.scope, s.dir_id AS only_dir, s.expires_at,
  c.disabled_at, c.upload_rate, c.download_rate`;
export const SESSIONS = 'sessions s JOIN accounts c ON c.account_id = s.account_id';

/** Picks the session's columns from a row that has more. */
export function sessionOf(row: SessionRow): SessionRow {
  const { session_id, username, account_id, used_at, scope, only_dir, expires_at } = row;
  const { disabled_at, upload_rate, download_rate } = row;
  return {
    ...{ session_id, username, account_id, used_at, scope, only_dir, expires_at },
    ...{ disabled_at, upload_rate, download_rate },
  };
}

/** How a route reads the caller's session and its own data in one query. */
export interface Lookup<T> {
  /** The system token has no session. */
  admin: () => Promise<T>;
  session: (tokenHash: string) => Promise<(SessionRow & T) | undefined>;
  /** On routes for visitors: finds the upload that this token belongs to, if the request names the same upload. */
  visitor?: (tokenHash: string, now: number) => Promise<(SessionRow & T) | undefined>;
}
