import { randomBytes } from 'node:crypto';
import { limits, type Scope } from '@szafa/protocol';
import { lockDir } from '../files/directories-table.ts';
import { badDirectory } from '../files/refusals.ts';
import { limitAudit, recordAudit } from '../operator/audit-table.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { readPages } from '../platform/sql/pages.ts';
import { countUpToLimit, first, insertInto, Queries, type Sql } from '../platform/sql/sql.ts';
import { newestFirst } from '../platform/time.ts';
import { type Lookup, requireLiveAccount, SESSION, SESSIONS, type SessionRow } from './account-rows.ts';
import { sessionEnded } from './refusals.ts';

const ID = /^[0-9a-f]{32}$/;

/** A new login, registration or token. */
export interface NewSession {
  tokenHash: string;
  username: string;
  accountId: string;
  device: string;
  now: number;
  scope?: Scope;
  dirId?: number | null;
  expiresAt?: number | null;
  /** The id of the passkey that opened the session. */
  passkey?: string | null;
  /** For a token: the id of the session or token that created it. */
  madeBy?: string | null;
}

/** The part of a session that a login or registration provides. */
export type LoginSession = Pick<NewSession, 'tokenHash' | 'device'>;

interface SessionListRow {
  token_hash: string;
  id: string;
  device: string;
  created_at: number;
  used_at: number;
  scope: Scope;
  dir_id: number | null;
  expires_at: number | null;
  passkey: string | null;
  made_by: string | null;
}

export const SESSION_COLUMNS = [
  ...['token_hash', 'id', 'username', 'account_id', 'device', 'created_at', 'used_at', 'scope'],
  ...['dir_id', 'expires_at', 'passkey', 'made_by'],
] as const;

/** Ends the least recently used sessions to make room for one more. Tokens they created stay valid, as after a logout. */
export async function endLongestUnused(tx: Sql, username: string, most: number = limits.sessions) {
  await tx.execute(
    `DELETE FROM sessions WHERE token_hash IN (
       SELECT token_hash FROM sessions WHERE username = ? AND made_by IS NULL
       ORDER BY used_at DESC, created_at DESC, id LIMIT 1000 OFFSET ?)`,
    ...[username, most - 1],
  );
}

/** Returns the session id. The transaction must have locked the account, or just created it. */
export async function insertSession(tx: Sql, session: NewSession): Promise<string> {
  const { tokenHash, username, accountId, device, now } = session;
  const { scope = 'full', dirId = null, expiresAt = null, passkey = null, madeBy = null } = session;
  const id = randomBytes(16).toString('hex');
  await tx.execute(
    insertInto('sessions', SESSION_COLUMNS),
    ...[tokenHash, id, username, accountId, device, now, now, scope, dirId, expiresAt, passkey, madeBy],
  );
  return id;
}

/** Ends all sessions and tokens of an account except the one with this token hash; returns their number. */
export async function endSessions(tx: Sql, username: string, except = ''): Promise<number> {
  const text = 'DELETE FROM sessions WHERE username = ? AND token_hash <> ? RETURNING id';
  return (await tx.execute(text, username, except)).length;
}

/** Waits for tokens being created for this account; later ones wait until this transaction ends. */
async function lockAccount(tx: Sql, username: string): Promise<void> {
  await tx.query(`SELECT 1 FROM accounts WHERE username = ? ${tx.dialect.forUpdate}`, username);
}

/** Ends the sessions opened with a passkey, and the tokens these created. */
export async function endSessionsOf(tx: Sql, username: string, passkey: string, except: string) {
  const text = 'DELETE FROM sessions WHERE username = ? AND passkey = ? AND token_hash <> ?';
  await tx.execute(text, username, passkey, except);
}

/** Logins, registrations and tokens. The tokens themselves are stored only as hashes. */
export class SessionsTable extends Queries {
  get(tokenHash: string): Promise<SessionRow | undefined> {
    return first(this.sql, `SELECT ${SESSION} FROM ${SESSIONS} WHERE s.token_hash = ?`, tokenHash);
  }

  /** For routes that need only the caller. */
  lookUp(): Lookup<object> {
    return { admin: async () => ({}), session: (tokenHash) => this.get(tokenHash) };
  }

  /** All sessions and tokens of an account, newest first. */
  async list(username: string): Promise<SessionListRow[]> {
    const page = (after: string, limit: number) =>
      this.sql.query<SessionListRow>(
        `SELECT token_hash, id, device, created_at, used_at, scope, dir_id, expires_at, passkey, made_by
         FROM sessions WHERE username = ? AND id > ? ORDER BY id LIMIT ?`,
        ...[username, after, limit],
      );
    return newestFirst(await readPages(page, '', ({ id }) => id));
  }

  /** Creates a token that records the session that made it (`maker`) and the passkey of that session; returns its id. */
  create(session: NewSession, maker: string, most: number = limits.tokens, mostEntries?: number) {
    const { username, accountId, device, now, scope = 'full', dirId } = session;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      const text = `SELECT id, passkey FROM sessions WHERE token_hash = ? ${tx.dialect.forShare}`;
      const by = await first<Pick<SessionListRow, 'id' | 'passkey'>>(tx, text, maker);
      // The session may have ended since, for example by a password change.
      if (!by) throw sessionEnded();
      if (dirId != null && !(await lockDir(tx, username, dirId))) throw badDirectory();
      // Not exact: requests at the same moment may create a few more.
      if ((await countUpToLimit(tx, 'sessions WHERE username = ? AND made_by IS NOT NULL', username)) >= most)
        throw new ApiError(409, 'you have too many tokens; end some of them');
      await limitAudit(tx, username, now, mostEntries);
      const id = await insertSession(tx, { ...session, madeBy: by.id, passkey: by.passkey });
      const detail = `${scope}${dirId == null ? '' : ' for one directory'}: ${device}`;
      await recordAudit(tx, { at: now, account: username, action: 'token made', detail });
      return id;
    });
  }

  async touch(tokenHash: string, now: number): Promise<void> {
    await this.sql.execute('UPDATE sessions SET used_at = ? WHERE token_hash = ?', now, tokenHash);
  }

  async close(tokenHash: string): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE token_hash = ?', tokenHash);
  }

  /** Ends a session or token of the account, and all tokens created by it, directly or indirectly. False if there is none. */
  async end(username: string, id: string, now: number): Promise<boolean> {
    // PostgreSQL rejects a NUL in a list of ids.
    if (!ID.test(id)) return false;
    return this.sql.transaction(async (tx) => {
      await lockAccount(tx, username);
      let detail: string | undefined;
      for (let ids = [id]; ids.length > 0; ) {
        const list = JSON.stringify(ids);
        const ended = await tx.execute<{ device: string }>(
          `DELETE FROM sessions WHERE username = ? AND id ${tx.dialect.inJsonList} RETURNING device`,
          ...[username, list],
        );
        detail ??= ended[0]?.device;
        if (detail === undefined) return false;
        const made = `SELECT id FROM sessions WHERE made_by ${tx.dialect.inJsonList}`;
        ids = (await tx.query<{ id: string }>(made, list)).map((row) => row.id);
      }
      await recordAudit(tx, { at: now, account: username, action: 'session ended', detail: detail! });
      return true;
    });
  }

  /** Ends all sessions except the one with this token; returns their number. */
  endOthers(username: string, tokenHash: string, now: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      await lockAccount(tx, username);
      const ended = await endSessions(tx, username, tokenHash);
      if (ended > 0) await recordAudit(tx, { at: now, account: username, action: 'sessions ended' });
      return ended;
    });
  }

  /** Removes sessions not used since `unusedSince`, and sessions past their expiry. */
  async expire(unusedSince: number, now: number): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE expires_at IS NULL AND used_at < ?', unusedSince);
    await this.sql.execute('DELETE FROM sessions WHERE expires_at <= ?', now);
  }
}
