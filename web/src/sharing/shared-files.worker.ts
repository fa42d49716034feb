/** Files shared by a link or with this account. */
import { displayName, lastOf, type OpenedLink, type VisitedFile } from '@szafa/client';
import type { SharedFiles, SharedItem } from '../core/bridge/calls.ts';
import { withoutSlashes } from '../core/bridge/paths.ts';
import type { ReadableFile } from '../transfers/file-opener.worker.ts';

/** A ticket is taken again after this time. Within a day that is the same download; later it counts as a new one. */
const TICKET_MS = 3_600_000;
/** A ticket is renewed this long before it expires, so that a download does not start with an expiring one. */
const SPARE_MS = 60_000;

function itemOf(file: VisitedFile, idOf: (number: number) => string): SharedItem {
  const { number, name, size, missing, link } = file;
  const isFolder = name.endsWith('/') && size === 0;
  return {
    fileId: idOf(number),
    path: name,
    name: displayName(lastOf(withoutSlashes(name))),
    verified: true,
    size,
    createdAt: 0,
    versions: 1,
    missing,
    ...(isFolder && { isFolder }),
    ...(link !== undefined && { isLink: true }),
  };
}

/** Returns the files for the page. `idOf` makes their ids from their numbers. */
export function sharedFiles({ files, note }: OpenedLink, idOf: (number: number) => string): SharedFiles {
  return { items: files.map((file) => itemOf(file, idOf)), ...(note !== undefined && { note }) };
}

/** One download of a share. It begins with the first preview or download of a file; all further ones belong to it. */
export class SharedDownload {
  readonly #opened: OpenedLink;
  readonly #ticket: string;
  #taken: { until: number; done: Promise<unknown> } | undefined;

  constructor(opened: OpenedLink, ticket: string) {
    this.#opened = opened;
    this.#ticket = ticket;
  }

  async file(number: number): Promise<ReadableFile> {
    await this.#take();
    return this.#opened.file(number, this.#ticket);
  }

  async #take(): Promise<void> {
    if (this.#taken && performance.now() < this.#taken.until) return void (await this.#taken.done);
    const taking = { until: performance.now() + TICKET_MS, done: this.#opened.take(this.#ticket) };
    this.#taken = taking;
    try {
      // A ticket that was first taken before a reload expires earlier.
      const left = (await taking.done).getTime() - Date.now() - SPARE_MS;
      taking.until = Math.min(taking.until, performance.now() + left);
    } catch (error) {
      if (this.#taken === taking) this.#taken = undefined;
      throw error;
    }
  }
}
