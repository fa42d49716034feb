/** The worker of the page behind a link: opens the link and reads its files. */
import { fetchTransport, LinkVisit, LockedError, newTicket, webEngine } from '@szafa/client';
import { post, serveCalls } from '../core/answer.worker.ts';
import type { LinkTerms, SharedFiles, VisitorCalls } from '../core/bridge/calls.ts';
import { discard } from '../core/bridge/discard.ts';
import { holding } from '../core/engine/holding.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { reportReachable } from '../core/transport/reachable.worker.ts';
import { SharedDownload, sharedFiles } from '../sharing/shared-files.worker.ts';
import type { ReadableFile } from '../transfers/file-opener.worker.ts';
import { fileHandlers } from '../transfers/reading.worker.ts';

/** Maximum number of volumes opened at the same time. */
const MOST_PARALLEL = 4;
const RETRY_MS = 3_000;

const engine = holding(
  webEngine({ parallel: Math.min(MOST_PARALLEL, navigator.hardwareConcurrency), discard }),
);
const transport = reportReachable(fetchTransport, (reachable) => post({ reachable }));
let visited: { link: LinkVisit; ticket: string } | undefined;
let download: SharedDownload | undefined;

async function visit(address: string, stored: string | null): Promise<LinkTerms> {
  const retry = { capMs: RETRY_MS };
  const link = await LinkVisit.begin(address, { engine, transport, retry, ticket: stored ?? undefined });
  const ticket = stored ?? newTicket(engine);
  visited = { link, ticket };
  const { needsPassphrase, expiresAt, downloadsLeft } = link;
  const expiry = expiresAt === null ? null : Date.parse(expiresAt);
  return { ticket, needsPassphrase, downloadsLeft, expiresAt: expiry };
}

async function openLink(passphrase: string | null): Promise<SharedFiles> {
  if (!visited) throw new LockedError('no link is visited');
  const { link, ticket } = visited;
  const opened = await link.open(passphrase ?? undefined);
  download = new SharedDownload(opened, ticket);
  return sharedFiles(opened, String);
}

async function open(fileId: string): Promise<ReadableFile> {
  if (!download) throw new LockedError('the link is not opened');
  return download.file(Number(fileId));
}

const openOnce = async (fileId: string, signal: AbortSignal) => {
  signal.throwIfAborted();
  return open(fileId);
};

serveCalls<VisitorCalls>({
  ...fileHandlers(new Tasks((progress) => post({ progress })), { open, openOnce }),
  visit,
  openLink,
});
