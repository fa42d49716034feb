import { randomBytes } from 'node:crypto';
import { ADMIN, cleanUsername, isIdentity, isKeys, isReservedUsername, limitNames } from '@szafa/protocol';
import { ADMIN_ACCOUNT, NO_ACCOUNT } from '../../accounts/account-rows.ts';
import { insertAccount } from '../../accounts/accounts-table.ts';
import { isPasswordHash, Passwords } from '../../accounts/passwords.ts';
import type { Report } from '../../operator/commands/report.ts';
import type { Sql } from '../../platform/sql/sql.ts';
import { BrokenDocument } from '../../platform/volumes/documents.ts';
import type { AccountDocument, Manifest } from '../../platform/volumes/store.ts';
import { outdateAccount } from '../documents-table.ts';
import type { Pair } from './pair.ts';
import type { PasswordFile } from './password-file.ts';

/** Everything into an empty database, what is missing into one that is in use, or only to tell what that is. */
export type Taking = 'all' | 'missing' | 'nothing';

/**
 * Accounts from their documents, with the passwords that their users know. An owner who has none gets a new password,
 * where there is a file for it: so nobody else can take the name meanwhile. The id says who is who; a name that another
 * account has got by now is that one's.
 */
export class AccountRescue {
  readonly #pair: Pair;
  readonly #taking: Taking;
  readonly #report: Report;
  readonly #file: PasswordFile | undefined;
  readonly #passwords = new Passwords();
  /** Names for which a password is being made: several files at once may ask for one. */
  readonly #making = new Map<string, Promise<string | undefined>>();
  /** Names of those that a run which only tells would have made. */
  readonly #told = new Map<string, string>();

  constructor(pair: Pair, taking: Taking, report: Report, file: PasswordFile | undefined) {
    this.#pair = pair;
    this.#taking = taking;
    this.#report = report;
    this.#file = file;
  }

  /** The account of a document, unless the database has it. */
  async take(accountId: string): Promise<void> {
    const document = await this.#pair.volumes.account(accountId);
    if (!document) return;
    check(document, accountId);
    if (accountId === ADMIN_ACCOUNT) {
      if (this.#taking === 'all') await this.#pair.sql.transaction((tx) => this.#makeDirs(tx, document));
      return;
    }
    if ((await this.#nameOf(accountId)) !== undefined || (await this.#isDeleted(accountId))) return;
    if (await this.#make(document, (tx) => this.#makeDirs(tx, document))) return;
    const { username } = document;
    this.#report.problem('accounts whose name is taken', { account: accountId, username });
  }

  /** Whose the file is; undefined where there is no such account. */
  async ownerOf({ account_id: accountId, owner }: Manifest): Promise<string | undefined> {
    if (accountId === NO_ACCOUNT) return '';
    if (accountId === ADMIN_ACCOUNT) return ADMIN;
    for (;;) {
      const name = await this.#nameOf(accountId);
      if (name !== undefined || !this.#file || !isUsername(owner)) return name;
      const other = this.#making.get(owner);
      if (!other) break;
      await other;
    }
    const making = this.#makeAnew(accountId, owner).finally(() => this.#making.delete(owner));
    this.#making.set(owner, making);
    return making;
  }

  /** By the document of the account, where it can be believed. */
  async nameOfDir(accountId: string, dirId: number): Promise<string | undefined> {
    try {
      const document = await this.#pair.volumes.account(accountId);
      if (document) check(document, accountId);
      return document?.dirs.find((dir) => dir.dir_id === dirId)?.name;
    } catch (error) {
      if (error instanceof BrokenDocument) return undefined;
      throw error;
    }
  }

  async #makeAnew(accountId: string, username: string): Promise<string | undefined> {
    if ((await this.#pair.metadata.accounts.idOf(username)) !== undefined) return undefined;
    const password = randomBytes(18).toString('base64url');
    const password_hash = await this.#passwords.hash(password);
    // First, so that there is no account whose password was lost.
    if (this.#taking !== 'nothing') await this.#file!.add(username, password);
    const made = { account_id: accountId, username, password_hash, created_at: new Date().toISOString() };
    return (await this.#make(made, (tx) => outdateAccount(tx, username))) ? username : undefined;
  }

  /** False where another account has the name. */
  async #make(
    account: Omit<AccountDocument, 'dirs' | 'rev'>,
    also: (tx: Sql) => Promise<void>,
  ): Promise<boolean> {
    const { username, account_id } = account;
    if (this.#taking === 'nothing') {
      if ((await this.#pair.metadata.accounts.idOf(username)) !== undefined) return false;
      this.#told.set(account_id, username);
    } else {
      const made = await this.#pair.sql.transaction(async (tx) => {
        const inserted = await insertAccount(tx, {
          username,
          accountId: account_id,
          // Only the administrator has none, whose document makes no account.
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
    this.#report.count('accounts');
    if (this.#taking !== 'all') this.#report.line({ account: username, id: account_id });
    return true;
  }

  /** A database that is in use gives out numbers of its own. The document is then one of another state. */
  async #makeDirs(tx: Sql, { account_id, username, dirs, rev }: AccountDocument): Promise<void> {
    const all = this.#taking === 'all';
    for (const { dir_id, name, created_at } of dirs) {
      await tx.execute(
        `INSERT INTO dirs (${all ? 'dir_id, ' : ''}owner, name, created_at) VALUES (${all ? '?, ' : ''}?, ?, ?)
         ON CONFLICT DO NOTHING`,
        ...(all ? [dir_id] : []),
        username,
        name,
        Date.parse(created_at),
      );
    }
    await tx.execute(
      `INSERT INTO account_documents (account_id, rev, written_rev) VALUES (?, ?, ?)
       ON CONFLICT (account_id) DO NOTHING`,
      account_id,
      all ? rev : rev + 1,
      rev,
    );
  }

  /** The document of a deleted account goes soon; until then the database says that it does. */
  async #isDeleted(accountId: string): Promise<boolean> {
    const text = 'SELECT 1 FROM account_documents WHERE account_id = ?';
    return (await this.#pair.sql.query(text, accountId)).length > 0;
  }

  async #nameOf(accountId: string): Promise<string | undefined> {
    const [row] = await this.#pair.sql.query<{ username: string }>(
      'SELECT username FROM accounts WHERE account_id = ?',
      accountId,
    );
    return row?.username ?? this.#told.get(accountId);
  }
}

/** Text that was written by somebody else, or broke on the way, makes no account. */
function check(document: AccountDocument, accountId: string): void {
  const { username, password_hash, dirs } = document;
  const isAdmin = accountId === ADMIN_ACCOUNT && username === ADMIN && password_hash === null;
  const right =
    document.account_id === accountId &&
    (isAdmin || (isUsername(username) && isHash(password_hash))) &&
    isTime(document.created_at) &&
    Number.isSafeInteger(document.rev) &&
    (document.keys === undefined || isKeys(document.keys)) &&
    (document.identity === undefined || isIdentity(document.identity)) &&
    (document.recovery_hash === undefined || isHash(document.recovery_hash)) &&
    (document.disabled_at === undefined || isTime(document.disabled_at)) &&
    (document.limits === undefined || areLimits(document.limits)) &&
    Array.isArray(dirs) &&
    dirs.every(
      (dir) =>
        Number.isSafeInteger(dir?.dir_id) &&
        dir.dir_id > 0 &&
        typeof dir.name === 'string' &&
        isTime(dir.created_at),
    );
  if (!right) throw new BrokenDocument(`the document of account ${accountId} is malformed`);
}

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

/** Up to the year 2255: a thousand for each millisecond are numbers that count exactly. */
const LATEST = Number.MAX_SAFE_INTEGER / 1000;
export function isTime(text: unknown): boolean {
  const time = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  return time >= 0 && time < LATEST;
}
