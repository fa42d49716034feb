import { randomBytes } from 'node:crypto';
import { ADMIN, cleanUsername, isIdentity, isKeys, isReservedUsername, limitNames } from '@szafa/protocol';
import { ADMIN_ACCOUNT, NO_ACCOUNT } from '../../accounts/account-rows.ts';
import { insertAccount } from '../../accounts/accounts-table.ts';
import { isPasswordHash, Passwords } from '../../accounts/passwords.ts';
import { ignoreBroken, type Report } from '../../operator/commands/report.ts';
import { Service } from '../../platform/service.ts';
import type { Sql } from '../../platform/sql/sql.ts';
import { BrokenDocument } from '../../platform/volumes/documents.ts';
import type { AccountDocument, Manifest } from '../../platform/volumes/store.ts';
import { markAccountStale } from '../documents-table.ts';
import type { Pair } from './pair.ts';
import type { PasswordFile } from './password-file.ts';

/** Rebuild everything in an empty database, add what a database in use lacks, or only report what is missing. */
type RescueMode = 'all' | 'missing' | 'nothing';

export interface RescueParts {
  pair: Pair;
  mode: RescueMode;
  report: Report;
  /** Receives the passwords of owners without a document. */
  file: PasswordFile | undefined;
}

/**
 * Rebuilds accounts from their documents, with their passwords. An owner without a document gets a new password if there is a
 * password file, so that nobody else can register the name. Accounts are identified by id: if another account has the name by
 * now, that account keeps it.
 */
export class AccountRescue extends Service<RescueParts> {
  readonly #passwords = new Passwords();
  /** Accounts being created, by name; several files of an owner may need the account at the same time. */
  readonly #creating = new Map<string, Promise<string | undefined>>();
  /** Names of accounts that a dry run would have created, by id. */
  readonly #reported = new Map<string, string>();

  /** Creates the account of a document, unless it exists. */
  async take(accountId: string): Promise<void> {
    const document = await this.#readDocument(accountId);
    if (!document) return;
    if (accountId === ADMIN_ACCOUNT) {
      if (this.deps.mode === 'all')
        await this.deps.pair.sql.transaction((tx) => this.#makeDirs(tx, document));
      return;
    }
    if ((await this.#nameOf(accountId)) !== undefined || (await this.#isDeleted(accountId))) return;
    if (await this.#make(document, (tx) => this.#makeDirs(tx, document))) return;
    const { username } = document;
    this.deps.report.problem('accounts whose name is taken', { account: accountId, username });
  }

  /** Finds or creates the owner of a file; undefined if there is none. */
  async ownerOf({ account_id: accountId, owner }: Manifest): Promise<string | undefined> {
    if (accountId === NO_ACCOUNT) return '';
    if (accountId === ADMIN_ACCOUNT) return ADMIN;
    for (;;) {
      const name = await this.#nameOf(accountId);
      if (name !== undefined || !this.deps.file || !isUsername(owner)) return name;
      const other = this.#creating.get(owner);
      if (!other) break;
      await other;
    }
    const making = this.#makeNew(accountId, owner).finally(() => this.#creating.delete(owner));
    this.#creating.set(owner, making);
    return making;
  }

  /** Looks up the name of a directory in the account's document, if that is valid. */
  async nameOfDir(accountId: string, dirId: number): Promise<string | undefined> {
    const document = await this.#readDocument(accountId).catch(ignoreBroken);
    return document?.dirs.find((dir) => dir.dir_id === dirId)?.name;
  }

  async #readDocument(accountId: string): Promise<AccountDocument | undefined> {
    const document = await this.deps.pair.volumes.account(accountId);
    if (document) check(document, accountId);
    return document;
  }

  async #makeNew(accountId: string, username: string): Promise<string | undefined> {
    if ((await this.deps.pair.metadata.accounts.idOf(username)) !== undefined) return undefined;
    const password = randomBytes(18).toString('base64url');
    const password_hash = await this.#passwords.hash(password);
    // Written before the account is created, so that no password is lost.
    if (this.deps.mode !== 'nothing') await this.deps.file!.add(username, password);
    const made = { account_id: accountId, username, password_hash, created_at: new Date().toISOString() };
    return (await this.#make(made, (tx) => markAccountStale(tx, username))) ? username : undefined;
  }

  /** Creates an account. False if another account has the name. */
  async #make(
    account: Omit<AccountDocument, 'dirs' | 'rev'>,
    also: (tx: Sql) => Promise<void>,
  ): Promise<boolean> {
    const { username, account_id } = account;
    if (this.deps.mode === 'nothing') {
      if ((await this.deps.pair.metadata.accounts.idOf(username)) !== undefined) return false;
      this.#reported.set(account_id, username);
    } else {
      const made = await this.deps.pair.sql.transaction(async (tx) => {
        const inserted = await insertAccount(tx, {
          username,
          accountId: account_id,
          // Only the administrator's document has no hash, and no account is created from it.
          passwordHash: account.password_hash!,
          createdAt: Date.parse(account.created_at),
          keys: account.keys,
          identity: account.identity,
          recoveryHash: account.recovery_hash,
          disabledAt: account.disabled_at === undefined ? undefined : Date.parse(account.disabled_at),
          limits: account.limits,
        });
        if (inserted) await also(tx);
        return inserted;
      });
      if (!made) return false;
    }
    this.deps.report.count('accounts');
    if (this.deps.mode !== 'all') this.deps.report.line({ account: username, id: account_id });
    return true;
  }

  /** Creates the directories of an account. A database in use assigns its own numbers, which makes the document stale. */
  async #makeDirs(tx: Sql, { account_id, username, dirs, rev }: AccountDocument): Promise<void> {
    const all = this.deps.mode === 'all';
    for (const { dir_id, name, created_at } of dirs) {
      const text = `INSERT INTO dirs (${all ? 'dir_id, ' : ''}owner, name, created_at) VALUES (${all ? '?, ' : ''}?, ?, ?)
        ON CONFLICT DO NOTHING`;
      await tx.execute(text, ...(all ? [dir_id] : []), username, name, Date.parse(created_at));
    }
    const insert = `INSERT INTO account_documents (account_id, rev, written_rev) VALUES (?, ?, ?)
      ON CONFLICT (account_id) DO NOTHING`;
    await tx.execute(insert, account_id, all ? rev : rev + 1, rev);
  }

  /** Whether the account was deleted and its document is about to be removed. */
  async #isDeleted(accountId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM account_documents WHERE account_id = ?';
    return (await this.deps.pair.sql.query(text, accountId)).length > 0;
  }

  async #nameOf(accountId: string): Promise<string | undefined> {
    const text = 'SELECT username FROM accounts WHERE account_id = ?';
    const [row] = await this.deps.pair.sql.query<{ username: string }>(text, accountId);
    return row?.username ?? this.#reported.get(accountId);
  }
}

/** Refuses malformed documents. */
function check(document: AccountDocument, accountId: string): void {
  const { username, password_hash, dirs } = document;
  const isAdmin = accountId === ADMIN_ACCOUNT && username === ADMIN && password_hash === null;
  const right =
    document.account_id === accountId &&
    (isAdmin || (isUsername(username) && isHash(password_hash))) &&
    isTime(document.created_at) &&
    Number.isSafeInteger(document.rev) &&
    isAbsentOr(isKeys, document.keys) &&
    isAbsentOr(isIdentity, document.identity) &&
    isAbsentOr(isHash, document.recovery_hash) &&
    isAbsentOr(isTime, document.disabled_at) &&
    isAbsentOr(areLimits, document.limits) &&
    Array.isArray(dirs) &&
    dirs.every(isDir);
  if (!right) throw new BrokenDocument(`the document of account ${accountId} is malformed`);
}

export const isAbsentOr = <T>(isRight: (value: T) => boolean, value: T | undefined) =>
  value === undefined || isRight(value);

const isDir = (dir: AccountDocument['dirs'][number]) =>
  Number.isSafeInteger(dir?.dir_id) &&
  dir.dir_id > 0 &&
  typeof dir.name === 'string' &&
  isTime(dir.created_at);

const isHash = (text: unknown) => typeof text === 'string' && isPasswordHash(text);

const areLimits = (value: unknown) =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(
    ([name, limit]) => (limitNames as string[]).includes(name) && Number.isSafeInteger(limit) && limit >= 0,
  );

function isUsername(text: unknown): boolean {
  try {
    return typeof text === 'string' && cleanUsername(text) === text && !isReservedUsername(text);
  } catch {
    return false;
  }
}

/** Up to the year 2255: file numbers are milliseconds times 1000, and must be safe integers. */
const LATEST = Number.MAX_SAFE_INTEGER / 1000;
export function isTime(text: unknown): boolean {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return time >= 0 && time < LATEST;
}
