import { randomBytes } from 'node:crypto';
import { ADMIN } from '@szafa/protocol';
import { ADMIN_ACCOUNT, NO_ACCOUNT, outdateAccount } from './documents.ts';
import type { Lookup, SessionRow } from './lookup.ts';
import { Queries, type Sql } from './sql.ts';

const newAccountId = () => randomBytes(16).toString('hex');

/** Failed logins, and when the last one was; for an address as a whole, when the first one of its time was. */
export interface Failures {
  failures: number;
  failed_at: number;
}

const NO_FAILURES: Failures = { failures: 0, failed_at: 0 };
/** Stands for all names together; it is no name. */
const ANY_NAME = '';

/** False when the name is taken. */
export async function insertAccount(
  tx: Sql,
  ...values: [name: string, id: string, hash: string | null, createdAt: number, keys: string | null]
): Promise<boolean> {
  const rows = await tx.execute(
    `INSERT INTO users (username, account_id, password_hash, created_at, keys) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT (username) DO NOTHING RETURNING username`,
    ...values,
  );
  return rows.length === 1;
}

export class AccountsTable extends Queries {
  /** False when the name is taken. */
  create(
    username: string,
    passwordHash: string,
    now: number,
    { keys, accountId = newAccountId() }: { keys?: string | undefined; accountId?: string } = {},
  ): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const created = await insertAccount(tx, username, accountId, passwordHash, now, keys ?? null);
      if (created) await outdateAccount(tx, username);
      return created;
    });
  }

  /** Undefined where nobody has that name. */
  async idOf(username: string): Promise<string | undefined> {
    if (username === ADMIN) return ADMIN_ACCOUNT;
    if (username === '') return NO_ACCOUNT;
    const [row] = await this.sql.query<{ account_id: string }>(
      'SELECT account_id FROM users WHERE username = ?',
      username,
    );
    return row?.account_id;
  }

  async passwordHash(username: string): Promise<string | undefined> {
    const [row] = await this.sql.query<{ password_hash: string }>(
      'SELECT password_hash FROM users WHERE username = ?',
      username,
    );
    return row?.password_hash;
  }

  /** The key bag; undefined where there is none. */
  async keys(username: string): Promise<string | undefined> {
    const [row] = await this.sql.query<{ keys: string | null }>(
      'SELECT keys FROM users WHERE username = ?',
      username,
    );
    return row?.keys ?? undefined;
  }

  /** Replaces the key bag where it is `expected` (undefined: where there is none); false otherwise. */
  replaceKeys(username: string, expected: string | undefined, keys: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [is, values] = expected === undefined ? ['IS NULL', []] : ['= ?', [expected]];
      const text = `UPDATE users SET keys = ? WHERE username = ? AND keys ${is} RETURNING username`;
      const replaced = (await tx.execute(text, keys, username, ...values)).length > 0;
      if (replaced) await outdateAccount(tx, username);
      return replaced;
    });
  }

  async openSession(tokenHash: string, username: string, now: number): Promise<void> {
    await this.sql.execute(
      'INSERT INTO sessions (token_hash, username, used_at) VALUES (?, ?, ?)',
      tokenHash,
      username,
      now,
    );
  }

  async session(tokenHash: string): Promise<SessionRow | undefined> {
    const [row] = await this.sql.query<SessionRow>(
      'SELECT username, used_at FROM sessions WHERE token_hash = ?',
      tokenHash,
    );
    return row;
  }

  /** For `Accounts.identify`: nothing else. */
  lookUp(): Lookup<object> {
    return { admin: async () => ({}), session: (tokenHash) => this.session(tokenHash) };
  }

  /** Likewise: the id of the caller's account. */
  lookUpId(): Lookup<{ account_id: string }> {
    return {
      admin: async () => ({ account_id: ADMIN_ACCOUNT }),
      session: async (tokenHash) => {
        const [row] = await this.sql.query<SessionRow & { account_id: string }>(
          `SELECT s.username, s.used_at, u.account_id
           FROM sessions s JOIN users u ON u.username = s.username WHERE s.token_hash = ?`,
          tokenHash,
        );
        return row;
      },
    };
  }

  async touchSession(tokenHash: string, now: number): Promise<void> {
    await this.sql.execute('UPDATE sessions SET used_at = ? WHERE token_hash = ?', now, tokenHash);
  }

  async closeSession(tokenHash: string): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE token_hash = ?', tokenHash);
  }

  /** Failed logins of one name from an address, in a row, and of all names from there. */
  async failures(username: string, address: string): Promise<{ ofName: Failures; ofAddress: Failures }> {
    const rows = await this.sql.query<Failures & { username: string }>(
      `SELECT username, failures, failed_at FROM login_failures
       WHERE username IN (?, '${ANY_NAME}') AND address = ?`,
      username,
      address,
    );
    const of = (name: string): Failures => {
      const { failures, failed_at } = rows.find((row) => row.username === name) ?? NO_FAILURES;
      return { failures, failed_at };
    };
    return { ofName: of(username), ofAddress: of(ANY_NAME) };
  }

  /** The count for the whole address starts again after `windowMs`. */
  async countFailure(username: string, address: string, now: number, windowMs: number): Promise<void> {
    const old = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at <= ?`;
    const recent = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at > ?`;
    await this.sql.execute(
      `INSERT INTO login_failures (username, address, failures, failed_at)
       VALUES (?, ?, 1, ?), ('${ANY_NAME}', ?, 1, ?)
       ON CONFLICT (username, address) DO UPDATE
       SET failures = CASE WHEN ${old} THEN 1 ELSE login_failures.failures + 1 END,
         failed_at = CASE WHEN ${recent} THEN login_failures.failed_at ELSE excluded.failed_at END`,
      username,
      address,
      now,
      address,
      now,
      now - windowMs,
      now - windowMs,
    );
  }

  async clearFailures(username: string, address: string): Promise<void> {
    await this.sql.execute(
      'DELETE FROM login_failures WHERE username = ? AND address = ?',
      username,
      address,
    );
  }

  async expire(sessionsBefore: number, failuresBefore: number): Promise<void> {
    await this.sql.execute('DELETE FROM sessions WHERE used_at < ?', sessionsBefore);
    await this.sql.execute('DELETE FROM login_failures WHERE failed_at < ?', failuresBefore);
  }
}
