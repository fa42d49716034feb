/** Shares from other accounts, and the keys of those accounts. */
import { type Contact, newTicket, type ReceivedShare, type Szafa, SzafaError } from '@szafa/client';
import { requireSameAccount } from '../accounts/same-account.worker.ts';
import type { ContactRow, ReceivedRow, SharedFiles } from '../core/bridge/calls.ts';
import { sessionStore } from '../core/database.worker.ts';
import { forPage } from '../core/for-page.worker.ts';
import type { FileOpener, ReadableFile } from '../transfers/file-opener.worker.ts';
import { SharedDownload, sharedFiles } from './shared-files.worker.ts';

/** Separates the id of a share from the number of a file in it. Ids of the account's own files never contain it. */
const SEPARATOR = '/';

/** Leaves out the fingerprint of changed keys: the user must get it from the owner, and not copy it from the page. */
export function contactRow({ username, state, fingerprint }: Contact): ContactRow {
  return { username, state, ...(state !== 'changed' && { fingerprint }) };
}

export class ReceivedShares implements FileOpener {
  readonly #szafa: () => Szafa;
  #shares = new Map<string, ReceivedShare>();
  readonly #downloads = new Map<string, SharedDownload>();
  /** Usernames that were looked up in this session. */
  readonly #lookedUp = new Set<string>();

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
  }

  clear(): void {
    this.#shares.clear();
    this.#downloads.clear();
    this.#lookedUp.clear();
  }

  async list(): Promise<ReceivedRow[]> {
    const szafa = this.#szafa();
    const shares = await szafa.sharedWithMe();
    requireSameAccount(szafa, this.#szafa);
    this.#shares = new Map(shares.map((share) => [share.id, share]));
    return shares.map(forPage);
  }

  /** Opens the share that was listed: looked up again by id, the server could substitute another one. */
  async files(id: string): Promise<SharedFiles> {
    const share = this.#shares.get(id);
    if (!share) throw new SzafaError('gone', 'this share is not in the list any more');
    const szafa = this.#szafa();
    const ticket = await sessionStore.ticket(id, newTicket(szafa.engine));
    const opened = await share.open({ ticket });
    requireSameAccount(szafa, this.#szafa);
    this.#downloads.set(id, new SharedDownload(opened, ticket));
    return sharedFiles(opened, (number) => `${id}${SEPARATOR}${number}`);
  }

  async open(fileId: string): Promise<ReadableFile> {
    const [id = '', number] = fileId.split(SEPARATOR);
    const download = this.#downloads.get(id);
    if (!download) throw new SzafaError('gone', 'this share is not opened');
    return download.file(Number(number));
  }

  async openOnce(fileId: string, signal: AbortSignal): Promise<ReadableFile> {
    signal.throwIfAborted();
    return this.open(fileId);
  }

  async contacts(): Promise<ContactRow[]> {
    const szafa = this.#szafa();
    const [own, received] = await Promise.all([szafa.links(), szafa.sharedWithMe()]);
    const changed = new Set(
      received.filter(({ problem }) => problem?.code === 'contact-changed').map(({ from }) => from),
    );
    const names = new Set([
      ...own.flatMap(({ to }) => to ?? []),
      ...received.map(({ from }) => from),
      ...this.#lookedUp,
    ]);
    const all = await Promise.all(
      [...names].toSorted().map(async (username): Promise<ContactRow[]> => {
        if (changed.has(username)) return [{ username, state: 'changed' }];
        const known = await szafa.rememberedContact(username);
        return known ? [contactRow(known)] : [];
      }),
    );
    return all.flat();
  }

  async contact(username: string): Promise<ContactRow> {
    const szafa = this.#szafa();
    const found = contactRow(await szafa.contact(username));
    requireSameAccount(szafa, this.#szafa);
    this.#lookedUp.add(found.username);
    return found;
  }
}

/** Opens the account's own files and received ones. Their ids tell them apart. */
export function ownOrReceived(own: FileOpener, received: FileOpener): FileOpener {
  const openerOf = (fileId: string) => (fileId.includes(SEPARATOR) ? received : own);
  return {
    open: (fileId) => openerOf(fileId).open(fileId),
    openOnce: (fileId, signal) => openerOf(fileId).openOnce(fileId, signal),
  };
}
