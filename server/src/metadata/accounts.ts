import { randomBytes } from 'node:crypto';
import { ADMIN } from '@szafa/protocol';
import { type DirRow, JOIN_SUMS, LISTED, type ListedDir, listed } from './dirs.ts';
import { ADMIN_ACCOUNT, NO_ACCOUNT, outdateAccount } from './documents.ts';
import { JOIN_BLOCK, READ, type ReadableFile, type ReadRow, readAt } from './files.ts';
import type { Sql } from './sql.ts';
import { STATE, type TransferState } from './transfers.ts';
import { JOIN_USAGE, joined } from './usage.ts';

export interface SessionRow {
  username: string;
  used_at: number;
}

const newAccountId = () => randomBytes(16).toString('hex');

/** Failed logins, and when the last one was; for an address as a whole, when the first one of its time was. */
export interface Failures {
  failures: number;
  failed_at: number;
}

const NO_FAILURES: Failures = { failures: 0, failed_at: 0 };
/** Stands for all names together; it is no name. */
const ANY_NAME = '';

export class Accounts {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** False when the name is taken. */
  create(username: string, passwordHash: string, now: number, accountId = newAccountId()): Promise<boolean> {
    return this.#sql.transaction(async (tx) => {
      const rows = await tx.execute(
        `INSERT INTO users (username, account_id, password_hash, created_at) VALUES (?, ?, ?, ?)
         ON CONFLICT (username) DO NOTHING RETURNING username`,
        username,
        accountId,
        passwordHash,
        now,
      );
      if (rows.length === 0) return false;
      await outdateAccount(tx, username);
      return true;
    });
  }

  /** Undefined where nobody has that name. */
  async idOf(username: string): Promise<string | undefined> {
    if (username === ADMIN) return ADMIN_ACCOUNT;
    if (username === '') return NO_ACCOUNT;
    const [row] = await this.#sql.query<{ account_id: string }>(
      'SELECT account_id FROM users WHERE username = ?',
      username,
    );
    return row?.account_id;
  }

  async passwordHash(username: string): Promise<string | undefined> {
    const [row] = await this.#sql.query<{ password_hash: string }>(
      'SELECT password_hash FROM users WHERE username = ?',
      username,
    );
    return row?.password_hash;
  }

  async openSession(tokenHash: string, username: string, now: number): Promise<void> {
    await this.#sql.execute(
      'INSERT INTO sessions (token_hash, username, used_at) VALUES (?, ?, ?)',
      tokenHash,
      username,
      now,
    );
  }

  async session(tokenHash: string): Promise<SessionRow | undefined> {
    const [row] = await this.#sql.query<SessionRow>(
      'SELECT username, used_at FROM sessions WHERE token_hash = ?',
      tokenHash,
    );
    return row;
  }

  /** The same, with the id of its account. */
  async sessionWithAccount(tokenHash: string): Promise<(SessionRow & { account_id: string }) | undefined> {
    const [row] = await this.#sql.query<SessionRow & { account_id: string }>(
      `SELECT s.username, s.used_at, u.account_id
       FROM sessions s JOIN users u ON u.username = s.username WHERE s.token_hash = ?`,
      tokenHash,
    );
    return row;
  }

  /** The same, with the sum over the files of its user: one question instead of two. */
  async sessionWithUsage(tokenHash: string): Promise<(SessionRow & { bytes: bigint }) | undefined> {
    const [row] = await this.#sql.query<SessionRow & { high: string | null; low: string | null }>(
      `SELECT s.username, s.used_at, CAST(u.bytes_high AS TEXT) AS high, CAST(u.bytes_low AS TEXT) AS low
       FROM sessions s ${JOIN_USAGE('s.username')} WHERE s.token_hash = ?`,
      tokenHash,
    );
    if (!row) return undefined;
    return { username: row.username, used_at: row.used_at, bytes: joined(row.high ?? '0', row.low ?? '0') };
  }

  /** The same, with the directories of its user. */
  async sessionWithDirs(tokenHash: string): Promise<(SessionRow & { dirs: DirRow[] }) | undefined> {
    const rows = await this.#sql.query<SessionRow & (ListedDir | { dir_id: null })>(
      `SELECT s.username, s.used_at, ${LISTED}
       FROM sessions s LEFT JOIN dirs d ON d.owner = s.username ${JOIN_SUMS}
       WHERE s.token_hash = ?`,
      tokenHash,
    );
    if (!rows[0]) return undefined;
    const { username, used_at } = rows[0];
    return {
      username,
      used_at,
      dirs: listed(
        username,
        rows.filter((row) => row.dir_id !== null),
      ),
    };
  }

  /** The same, with a transfer, whoever made it. */
  async sessionWithTransfer(
    tokenHash: string,
    transferId: string,
  ): Promise<(SessionRow & { transfer: TransferState | undefined }) | undefined> {
    const [row] = await this.#sql.query<SessionRow & (TransferState | { file_id: null })>(
      `SELECT s.username, s.used_at, ${STATE}
       FROM sessions s LEFT JOIN transfers t ON t.transfer_id = ? WHERE s.token_hash = ?`,
      transferId,
      tokenHash,
    );
    if (!row) return undefined;
    const { username, used_at, ...transfer } = row;
    return { username, used_at, transfer: transfer.file_id === null ? undefined : transfer };
  }

  /** The same, with a file and one of its volumes, whoever owns it. */
  async sessionWithFile(
    tokenHash: string,
    fileId: string,
    idx: number,
  ): Promise<(SessionRow & { file: ReadableFile | undefined }) | undefined> {
    const { start, block, parse } = readAt(idx);
    const [row] = await this.#sql.query<SessionRow & (ReadRow | { owner: null })>(
      `SELECT s.username, s.used_at, ${READ} FROM sessions s LEFT JOIN files f ON f.file_id = ? ${JOIN_BLOCK}
       WHERE s.token_hash = ?`,
      start,
      fileId,
      block,
      tokenHash,
    );
    if (!row) return undefined;
    const { username, used_at } = row;
    return { username, used_at, file: row.owner === null ? undefined : parse(row) };
  }

  async touchSession(tokenHash: string, now: number): Promise<void> {
    await this.#sql.execute('UPDATE sessions SET used_at = ? WHERE token_hash = ?', now, tokenHash);
  }

  async closeSession(tokenHash: string): Promise<void> {
    await this.#sql.execute('DELETE FROM sessions WHERE token_hash = ?', tokenHash);
  }

  /** Failed logins of one name from an address, in a row, and of all names from there. */
  async failures(username: string, address: string): Promise<{ ofName: Failures; ofAddress: Failures }> {
    const rows = await this.#sql.query<Failures & { username: string }>(
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

  /** Those of the address as a whole are counted anew after `windowMs`. */
  async countFailure(username: string, address: string, now: number, windowMs: number): Promise<void> {
    const old = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at <= ?`;
    const recent = `login_failures.username = '${ANY_NAME}' AND login_failures.failed_at > ?`;
    await this.#sql.execute(
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
    await this.#sql.execute(
      'DELETE FROM login_failures WHERE username = ? AND address = ?',
      username,
      address,
    );
  }

  async expire(sessionsBefore: number, failuresBefore: number): Promise<void> {
    await this.#sql.execute('DELETE FROM sessions WHERE used_at < ?', sessionsBefore);
    await this.#sql.execute('DELETE FROM login_failures WHERE failed_at < ?', failuresBefore);
  }
}
