/** The worker of the page that links lead to: what is behind the link, its keys, and what is read of it. */
import {
  displayName,
  fetchTransport,
  LinkVisit,
  LockedError,
  lastOf,
  newTicket,
  type OpenedLink,
  type VisitedFile,
  webEngine,
} from '@szafa/client';
import type { SharedFiles, SharedItem, Visited, VisitorCalls } from '../bridge.ts';
import { discard } from '../discard.ts';
import { answerBy, say } from '../worker/answer.ts';
import { holding } from '../worker/holding.ts';
import { noting } from '../worker/reachable.ts';
import type { Readable } from '../worker/readable.ts';
import { fileHandlers, type Shelf } from '../worker/reading.ts';
import { Tasks } from '../worker/tasks.ts';
import { withoutSlashes } from './paths.ts';

/** Volumes that are opened at a time. */
const MOST_PARALLEL = 4;
const RETRY_MS = 3_000;
/** A ticket reads for a day; taken again before that it is the same one, and after that a new one. */
const TICKET_MS = 3_600_000;

function itemOf({ number, name, size, missing }: VisitedFile): SharedItem {
  const isFolder = name.endsWith('/') && size === 0;
  return {
    fileId: `${number}`,
    path: name,
    name: displayName(lastOf(withoutSlashes(name))),
    verified: true,
    size,
    createdAt: 0,
    versions: 1,
    missing,
    ...(isFolder && { isFolder }),
  };
}

class Guest implements Shelf {
  readonly #engine = holding(
    webEngine({ parallel: Math.min(MOST_PARALLEL, navigator.hardwareConcurrency), discard }),
  );
  #visit: LinkVisit | undefined;
  #opened: OpenedLink | undefined;
  #ticket = '';
  #taken: { at: number; done: Promise<unknown> } | undefined;

  async visit(link: string, kept: string | null): Promise<Visited> {
    const visit = await LinkVisit.begin(link, {
      engine: this.#engine,
      transport: noting(fetchTransport, (reachable) => say({ reachable })),
      retry: { capMs: RETRY_MS },
      ticket: kept ?? undefined,
    });
    this.#visit = visit;
    this.#ticket = kept ?? newTicket(this.#engine);
    const { needsPassphrase, expiresAt, downloadsLeft } = visit;
    return {
      ticket: this.#ticket,
      needsPassphrase,
      downloadsLeft,
      expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    };
  }

  async openLink(passphrase: string | null): Promise<SharedFiles> {
    if (!this.#visit) throw new LockedError('no link is visited');
    this.#opened = await this.#visit.open(passphrase ?? undefined);
    const { files, note } = this.#opened;
    return { items: files.map(itemOf), ...(note !== undefined && { note }) };
  }

  /** The first look at a file, or its download, counts; all that follow are the same download. */
  async open(fileId: string): Promise<Readable> {
    const opened = this.#opened;
    if (!opened) throw new LockedError('the link is not opened');
    const now = performance.now();
    if (!this.#taken || now - this.#taken.at > TICKET_MS) {
      const taking = { at: now, done: opened.take(this.#ticket) };
      this.#taken = taking;
      taking.done.catch(() => {
        if (this.#taken === taking) this.#taken = undefined;
      });
    }
    await this.#taken.done;
    return opened.file(Number(fileId), this.#ticket);
  }

  async openOnce(fileId: string, signal: AbortSignal): Promise<Readable> {
    signal.throwIfAborted();
    return this.open(fileId);
  }
}

const guest = new Guest();

answerBy<VisitorCalls>({
  ...fileHandlers(new Tasks((progress) => say({ progress })), guest),
  visit: (link, ticket) => guest.visit(link, ticket),
  openLink: (passphrase) => guest.openLink(passphrase),
});
