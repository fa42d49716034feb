/** The worker of the page that links lead to: opens the link and reads its files. */
import { fetchTransport, LinkVisit, LockedError, newTicket, webEngine } from '@szafa/client';
import { post, serveCalls } from '../core/answer.worker.ts';
import type { LinkTerms, SharedFiles, VisitorCalls } from '../core/bridge/calls.ts';
import { discard } from '../core/bridge/discard.ts';
import { holding } from '../core/engine/holding.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { reportReachable } from '../core/transport/reachable.worker.ts';
import { SharedDownload, sharedFiles } from '../sharing/shared-files.worker.ts';
import type { FileOpener, ReadableFile } from '../transfers/file-opener.worker.ts';
import { fileHandlers } from '../transfers/reading.worker.ts';

/** Volumes that are opened at a time. */
const MOST_PARALLEL = 4;
const RETRY_MS = 3_000;
class Guest implements FileOpener {
  readonly #engine = holding(
    webEngine({ parallel: Math.min(MOST_PARALLEL, navigator.hardwareConcurrency), discard }),
  );
  #visit: LinkVisit | undefined;
  #ticket = '';
  #download: SharedDownload | undefined;

  async visit(link: string, kept: string | null): Promise<LinkTerms> {
    const visit = await LinkVisit.begin(link, {
      engine: this.#engine,
      transport: reportReachable(fetchTransport, (reachable) => post({ reachable })),
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
    const opened = await this.#visit.open(passphrase ?? undefined);
    this.#download = new SharedDownload(opened, this.#ticket);
    return sharedFiles(opened, String);
  }

  async open(fileId: string): Promise<ReadableFile> {
    if (!this.#download) throw new LockedError('the link is not opened');
    return this.#download.file(Number(fileId));
  }

  async openOnce(fileId: string, signal: AbortSignal): Promise<ReadableFile> {
    signal.throwIfAborted();
    return this.open(fileId);
  }
}

const guest = new Guest();

serveCalls<VisitorCalls>({
  ...fileHandlers(new Tasks((progress) => post({ progress })), guest),
  visit: (link, ticket) => guest.visit(link, ticket),
  openLink: (passphrase) => guest.openLink(passphrase),
});
