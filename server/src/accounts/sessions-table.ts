import { randomBytes } from 'node:crypto';
import { limits, type Scope } from '@szafa/protocol';
import { lockDir } from '../files/directories-table.ts';
import { limitAudit, recordAudit } from '../operator/audit-table.ts';
import { readPages } from '../platform/sql/pages.ts';
import { insertInto, Queries, type Sql } from '../platform/sql/sql.ts';
import { type Lookup, requireLiveAccount, SESSION, SESSIONS, type SessionRow } from './account-rows.ts';

const ID = /^[0-9a-f]{32}$/;

/** A session as it is made: by a login or a registration, or a token that somebody made with a session. */
export interface NewSession {
  tokenHash: string;
  username: string;
  accountId: string;
  device: string;
  now: number;
  scope?: Scope;
  dirId?: number | null;
  expiresAt?: number | null;
  /** The id of the passkey that it was opened with. */
  passkey?: string | null;
  /** The id of the session or token that made this token. */
  madeBy?: string | null;
}

/** What a new session has beside its account. */
export type Opening = Pick<NewSession, 'tokenHash' | 'device'>;

export interface ListedRow {
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

/** Whether the account has `most` tokens; a few more may be made in the same instant. */
async function hasTokens(tx: Sql, username: string, most: number): Promise<boolean> {
  const [row] = await tx.query<{ count: number }>(
    'SELECT COUNT(made_by) AS count FROM sessions WHERE username = ?',
    username,
  );
  return row!.count >= most;
}

/** Makes room for one more login: the longest unused sessions beyond the limit end. Their tokens stay, as after a logout. */
export async function endLongestUnused(
  tx: Sql,
  username: string,
  most: number = limits.sessions,
): Promise<void> {
  await tx.execute(
    `DELETE FROM sessions WHERE token_hash IN (
       SELECT token_hash FROM sessions WHERE username = ? AND made_by IS NULL
       ORDER BY used_at DESC, created_at DESC, id LIMIT 1000 OFFSET ?)`,
    username,
    most - 1,
  );
}

/** Its id, by which it can be ended. The caller holds the account, or has just made it. */
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

/** All sessions and tokens of an account, but the one with that token; how many they were. */
export async function endSessions(tx: Sql, username: string, except = ''): Promise<number> {
  const ended = await tx.execute(
    'DELETE FROM sessions WHERE username = ? AND token_hash <> ? RETURNING id',
    username,
    except,
  );
  return ended.length;
}

/** A token that a session of the account is making at this moment is there after this, or will not be made. */
async function holdMakers(tx: Sql, username: string): Promise<void> {
  await tx.query(`SELECT 1 FROM accounts WHERE username = ? ${tx.dialect.forUpdate}`, username);
}

/** Those that were opened with a passkey, and the tokens made by them. */
export async function endSessionsOf(
  tx: Sql,
  username: string,
  passkey: string,
  except: string,
): Promise<void> {
  const text = 'DELETE FROM sessions WHERE username = ? AND passkey = ? AND token_hash <> ?';
  await tx.execute(text, username, passkey, except);
}

/** Who may call: logins, registrations and tokens. The tokens themselves are not kept. */
export class SessionsTable extends Queries {
  async get(tokenHash: string): Promise<SessionRow | undefined> {
    const [row] = await this.sql.query<SessionRow>(
      `SELECT ${SESSION} FROM ${SESSIONS} WHERE s.token_hash = ?`,
      tokenHash,
    );
    return row;
  }

  /** For `Sessions.identify`: nothing else. */
  lookUp(): Lookup<object> {
    return { admin: async () => ({}), session: (tokenHash) => this.get(tokenHash) };
  }

  /** All sessions and tokens of an account, the latest first. */
  async list(username: string): Promise<ListedRow[]> {
    const page = (after: string, limit: number) =>
      this.sql.query<ListedRow>(
        `SELECT token_hash, id, device, created_at, used_at, scope, dir_id, expires_at, passkey, made_by
         FROM sessions WHERE username = ? AND id > ? ORDER BY id LIMIT ?`,
        ...[username, after, limit],
      );
    const rows = await readPages(page, '', ({ id }) => id);
    return rows.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
  }

  /**
   * A token that the session with the token `maker` asks for. It may have ended meanwhile, as by a new password: whoever ends sessions holds the
   * account as well. The new token remembers it, and the passkey behind it. At most `most` tokens of an account, or a few more that are made in the same instant.
   * `too often`: to make and end them costs nothing, and each is noted; so the audit log has a bound for a day.
   */
  create(
    session: NewSession,
    maker: string,
    most: number,
    mostEntries?: number,
  ): Promise<{ id: string } | 'ended' | 'no directory' | 'too many'> {
    const { username, accountId, device, now, scope = 'full', dirId } = session;
    return this.sql.transaction(async (tx) => {
      await requireLiveAccount(tx, accountId);
      const [by] = await tx.query<Pick<ListedRow, 'id' | 'passkey'>>(
        `SELECT id, passkey FROM sessions WHERE token_hash = ? ${tx.dialect.forShare}`,
        maker,
      );
      if (!by) return 'ended';
      if (dirId != null && !(await lockDir(tx, username, dirId))) return 'no directory';
      if (await hasTokens(tx, username, most)) return 'too many';
      await limitAudit(tx, username, now, mostEntries);
      const id = await insertSession(tx, { ...session, madeBy: by.id, passkey: by.passkey });
      const detail = `${scope}${dirId == null ? '' : ' for one directory'}: ${device}`;
      await recordAudit(tx, { at: now, actor: 'account', account: username, action: 'token made', detail });
      return { id };
    });
  }

  async touch(tokenHash: string, now: number): Promise<void> {
    await this.sql.execute('UPDATE sessions SET used_at = ? WHERE token_hash = ?', now, tokenHash);
  }

  async close(tokenHash: string): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE token_hash = ?', tokenHash);
  }

  /** One of the account's, by its id, and all tokens that it made, and that those made; false where there is none. */
  async end(username: string, id: string, now: number): Promise<boolean> {
    // PostgreSQL fails on a NUL in a list of ids.
    if (!ID.test(id)) return false;
    return this.sql.transaction(async (tx) => {
      await holdMakers(tx, username);
      let detail: string | undefined;
      for (let ids = [id]; ids.length > 0; ) {
        const list = JSON.stringify(ids);
        const ended = await tx.execute<{ device: string }>(
          `DELETE FROM sessions WHERE username = ? AND id ${tx.dialect.amongListed} RETURNING device`,
          username,
          list,
        );
        detail ??= ended[0]?.device;
        if (detail === undefined) return false;
        const made = `SELECT id FROM sessions WHERE made_by ${tx.dialect.amongListed}`;
        ids = (await tx.query<{ id: string }>(made, list)).map((row) => row.id);
      }
      const noted = { at: now, actor: 'account', account: username, action: 'session ended' } as const;
      await recordAudit(tx, { ...noted, detail: detail! });
      return true;
    });
  }

  /** All but the one with that token. */
  endOthers(username: string, tokenHash: string, now: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      await holdMakers(tx, username);
      const ended = await endSessions(tx, username, tokenHash);
      if (ended > 0)
        await recordAudit(tx, { at: now, actor: 'account', account: username, action: 'sessions ended' });
      return ended;
    });
  }

  /** Those not used since `unusedSince`, or those whose time is over. */
  async expire(unusedSince: number, now: number): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE expires_at IS NULL AND used_at < ?', unusedSince);
    await this.sql.execute('DELETE FROM sessions WHERE expires_at <= ?', now);
  }
}
