/** What other accounts share with this one, and whose keys they are. */
import {
  type Contact,
  displayName,
  newTicket,
  type ReceivedShare,
  type ShareItem,
  type Szafa,
  SzafaError,
} from '@szafa/client';
import { cleanUsername } from '@szafa/protocol';
import { requireSame } from '../accounts/same-account.worker.ts';
import { faultOf } from '../core/answer.worker.ts';
import type {
  LinkWishes,
  ListedContact,
  ListedReceived,
  Progress,
  SharedFiles,
} from '../core/bridge/calls.ts';
import { kept } from '../core/database.worker.ts';
import type { Readable } from '../transfers/readable.worker.ts';
import type { Shelf } from '../transfers/reading.worker.ts';
import { SharedDownload, sharedFiles } from './shared-files.worker.ts';

/** Ids of own files have no such sign in them. */
const SIGN = '/';

/** Other keys than before have a fingerprint that the page does not show: whoever copied it from there would have compared nothing. */
export function listedContact({ username, state, fingerprint }: Contact): ListedContact {
  return { username, state, ...(state !== 'changed' && { fingerprint }) };
}

export class Received implements Shelf {
  readonly #szafa: () => Szafa;
  #shares = new Map<string, ReceivedShare>();
  readonly #downloads = new Map<string, SharedDownload>();
  /** Names that somebody asked for here. */
  readonly #asked = new Set<string>();

  constructor(szafa: () => Szafa) {
    this.#szafa = szafa;
  }

  clear(): void {
    this.#shares.clear();
    this.#downloads.clear();
    this.#asked.clear();
  }

  async list(): Promise<ListedReceived[]> {
    const szafa = this.#szafa();
    const shares = await szafa.sharedWithMe();
    requireSame(szafa, this.#szafa);
    this.#shares = new Map(shares.map((share) => [share.id, share]));
    return shares.map(({ id, from, title, problem, madeAt, createdAt, expiresAt, ...share }) => {
      const { verified: compared, size, files, missing, downloadsLeft } = share;
      return {
        ...{ id, from: displayName(from), compared, title: displayName(title) },
        ...{ size, files, missing, downloadsLeft },
        madeAt: Date.parse(madeAt ?? createdAt),
        expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
        ...(problem && { problem: faultOf(problem) }),
      };
    });
  }

  /** Without the list that a person saw, the service could give anything for it. */
  async files(id: string): Promise<SharedFiles> {
    const share = this.#shares.get(id);
    if (!share) throw new SzafaError('gone', 'this share is not in the list any more');
    const szafa = this.#szafa();
    const ticket = await kept.ticket(id, newTicket(szafa.engine));
    const opened = await share.open({ ticket });
    requireSame(szafa, this.#szafa);
    this.#downloads.set(id, new SharedDownload(opened, ticket));
    return sharedFiles(opened, (number) => `${id}${SIGN}${number}`);
  }

  async open(fileId: string): Promise<Readable> {
    const [id = '', number] = fileId.split(SIGN);
    const download = this.#downloads.get(id);
    if (!download) throw new SzafaError('gone', 'this share is not opened');
    return download.file(Number(number));
  }

  async openOnce(fileId: string, signal: AbortSignal): Promise<Readable> {
    signal.throwIfAborted();
    return this.open(fileId);
  }

  async contacts(): Promise<ListedContact[]> {
    const szafa = this.#szafa();
    const [own, received] = await Promise.all([szafa.links(), szafa.sharedWithMe()]);
    const changed = new Set(
      received.filter(({ problem }) => problem?.code === 'contact-changed').map(({ from }) => from),
    );
    const names = new Set([
      ...own.flatMap(({ to }) => to ?? []),
      ...received.map(({ from }) => from),
      ...this.#asked,
    ]);
    const all = await Promise.all(
      [...names].toSorted().map(async (username): Promise<ListedContact[]> => {
        if (changed.has(username)) return [{ username, state: 'changed' }];
        const known = await szafa.rememberedContact(username);
        return known ? [listedContact(known)] : [];
      }),
    );
    return all.flat();
  }

  async contact(username: string): Promise<ListedContact> {
    const szafa = this.#szafa();
    const found = listedContact(await szafa.contact(username));
    requireSame(szafa, this.#szafa);
    this.#asked.add(found.username);
    return found;
  }
}

/** One of these shelves has it, by its id. */
export function eitherShelf(own: Shelf, received: Shelf): Shelf {
  const shelfOf = (fileId: string) => (fileId.includes(SIGN) ? received : own);
  return {
    open: (fileId) => shelfOf(fileId).open(fileId),
    openOnce: (fileId, signal) => shelfOf(fileId).openOnce(fileId, signal),
  };
}

export async function shareWith(
  szafa: Szafa,
  rawName: string,
  items: readonly ShareItem[],
  { title, note, expiresAt, downloads }: LinkWishes,
  { signal, tell }: { signal: AbortSignal; tell: (progress: Omit<Progress, 'id'>) => void },
): Promise<ListedContact> {
  const username = cleanUsername(rawName);
  await szafa.shareWith(username, items, {
    title,
    note,
    downloads,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    signal,
    onProgress: (done, total) => tell({ done, total }),
  });
  const known = await szafa.rememberedContact(username);
  return listedContact(known!);
}
