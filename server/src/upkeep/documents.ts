import { limitNames } from '@szafa/protocol';
import { readManifest } from '../files/manifest.ts';
import type { Metadata } from '../metadata.ts';
import { inParallel } from '../platform/parallel.ts';
import type { AccountDocument, VolumeStore } from '../platform/volumes/store.ts';
import type { AccountState } from './documents-table.ts';

/** Limits the duration of a round, so that the rest of the sweep does not wait for a million manifests. */
const ROUND_MS = 2_000;
const PAGE = 100;
const AT_ONCE = 8;

interface Stores {
  metadata: Metadata;
  volumes: Pick<VolumeStore, 'writeManifest' | 'removeManifest' | 'writeAccount' | 'removeAccount'>;
}

/**
 * Writes stale manifests of files and documents of accounts. Each round starts where the last one ended, so that a document
 * that cannot be written does not hold up the others.
 */
export class DocumentQueue {
  readonly #stores: Stores;
  #lastAccount = '';
  #lastFile = '';

  constructor(stores: Stores) {
    this.#stores = stores;
  }

  /** Runs one round and returns the errors; a later round tries those documents again. */
  async work(roundMs = ROUND_MS): Promise<unknown[]> {
    const { documents } = this.#stores.metadata;
    const faults: unknown[] = [];
    const write = (id: string) => writeAccount(this.#stores, id).catch((error) => faults.push(error));
    const rewrite = (id: string) => rewriteManifest(this.#stores, id).catch((error) => faults.push(error));
    const accounts = (after: string) => documents.staleAccounts(after, PAGE);
    const manifests = (after: string) => documents.staleManifests(after, PAGE);
    this.#lastAccount = await workPages(this.#lastAccount, accounts, write, roundMs);
    this.#lastFile = await workPages(this.#lastFile, manifests, rewrite, roundMs);
    return faults;
  }
}

/**
 * Writes pages of documents for `roundMs`. Returns the id after which the next round begins; an empty id means from the
 * start.
 */
async function workPages(
  start: string,
  page: (after: string) => Promise<string[]>,
  write: (id: string) => Promise<unknown>,
  roundMs: number,
): Promise<string> {
  const until = performance.now() + roundMs;
  let after = start;
  do {
    const ids = await page(after);
    after = ids.at(-1) ?? '';
    // Writes at least a few, so that slow rounds make progress.
    const inTime = function* () {
      for (const [at, id] of ids.entries()) if (at < AT_ONCE || performance.now() <= until) yield id;
    };
    await inParallel(inTime(), AT_ONCE, write);
  } while (after !== '' && performance.now() < until);
  return after;
}

/** Writes the manifest of a file again, or removes it if the file is gone. */
export async function rewriteManifest({ metadata, volumes }: Stores, fileId: string): Promise<void> {
  const file = await metadata.files.get(fileId);
  if (!file) {
    // Removing the group will also remove its manifest.
    if (await metadata.garbage.isKnown(fileId)) return;
    await volumes.removeManifest(fileId);
    await metadata.documents.manifestRemoved(fileId);
    return;
  }
  try {
    await volumes.writeManifest(await readManifest(metadata, file));
  } catch (error) {
    // The file was deleted in the meantime. It stays marked, and the next round removes its manifest.
    if (!(await metadata.files.get(fileId))) return;
    throw error;
  }
  await metadata.documents.manifestWritten(fileId, file.rev);
}

export function accountDocument(accountId: string, account: AccountState): AccountDocument {
  const iso = (time: number) => new Date(time).toISOString();
  const own = limitNames.filter((name) => account[name] !== null).map((name) => [name, account[name]]);
  return {
    account_id: accountId,
    username: account.username,
    password_hash: account.password_hash,
    created_at: iso(account.created_at),
    dirs: account.dirs.map((dir) => ({ ...dir, created_at: iso(dir.created_at) })),
    keys: account.keys ?? undefined,
    identity: account.identity ?? undefined,
    recovery_hash: account.recovery_hash ?? undefined,
    disabled_at: account.disabled_at === null ? undefined : iso(account.disabled_at),
    limits: own.length === 0 ? undefined : Object.fromEntries(own),
    rev: account.rev,
  };
}

/** Writes the document of an account, or removes it if the account is gone. */
export async function writeAccount({ metadata, volumes }: Stores, accountId: string): Promise<void> {
  const account = await metadata.documents.account(accountId);
  if (account) {
    await volumes.writeAccount(accountDocument(accountId, account));
    if (await metadata.documents.accountWritten(accountId, account.rev)) return;
  }
  await volumes.removeAccount(accountId);
  await metadata.documents.accountRemoved(accountId);
}
