/** Downloads files shared by other people, by link or with an account. They pass the same checks as any other download. */
import { createHash } from 'node:crypto';
import { newTicket, type OpenedLink, type VisitedFile } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { openJournal, TransferRun } from '../run.ts';
import { Destination, targetFor } from './destination.ts';
import { checkLink } from './links.ts';
import { checkPrintable, listenToStdout, printFile, STDOUT } from './stdout.ts';
import { DownloadWriter, stateOf } from './write.ts';

type Ticket = Awaited<ReturnType<typeof loadTicket>>;

/**
 * Loads the ticket of a download. It is kept until everything is downloaded, so that a repeated command is not counted twice. It is
 * stored before its first use, and used only if there is something to download. The key includes the server: no server may see a
 * ticket of another, even for a link with the same ID.
 */
export async function loadTicket(invocation: Invocation, server: string, id: string) {
  const journal = openJournal(invocation);
  const key = createHash('sha256').update(`ticket\0${server}\0${id}`).digest('hex');
  const found = new TextDecoder().decode(await journal.load(key));
  let text = /^[\w-]{43}$/.test(found) ? found : undefined;
  let taken: Promise<string> | undefined;
  const take = async (opened: OpenedLink) => {
    text ??= newTicket(opened.engine);
    await journal.store(key, new TextEncoder().encode(text));
    await opened.take(text, invocation.signal);
    return text;
  };
  return {
    /** The stored ticket; undefined before the first download. */
    text,
    take(opened: OpenedLink): Promise<string> {
      taken ??= take(opened);
      return taken;
    },
    async forget(): Promise<void> {
      if (text !== undefined) await journal.remove(key);
    },
  };
}

/** A file of a share. `below` is its path relative to the argument that selected it. */
export type SharedFile = VisitedFile & { below: string };

/** The files to download of one share. */
export interface SharePart {
  opened: OpenedLink;
  ticket: Ticket;
  files: SharedFile[];
}

type Item = SharedFile & Omit<SharePart, 'files'>;

function checkExists({ missing }: VisitedFile): void {
  if (missing) throw new CliError('gone', 'its owner has deleted it', 'ask the owner to share it again');
}

async function receive(writer: DownloadWriter, item: Item): Promise<void> {
  const { run, destination } = writer;
  const { invocation } = run;
  const { name, size, link, mtime, below, opened, ticket } = item;
  const fields = { name };
  checkExists(item);
  if (link !== undefined) {
    // Do not take the ticket: a link downloads nothing, so it must not count as a download.
    const path = destination.claim(below);
    checkLink(path, link, destination.topOf(below));
    writer.writeLink({ fields, path, below, size: 0 }, link, { mtime });
  } else if (name.endsWith('/') && size === 0) {
    writer.makeFolder(below.replace(/\/$/, ''), fields);
  } else {
    const path = destination.claim(below);
    await run.progress.track(name, size, async (update) => {
      const open = async () => opened.file(item.number, await ticket.take(opened));
      const canOpen = invocation.flags['dry-run'] ? undefined : open;
      const state = await stateOf(path, item, canOpen, { ...invocation, destination });
      await writer.write({ fields, path, below, size }, state, open, { onProgress: update });
    });
  }
}

async function printAll(run: TransferRun, items: readonly Item[]): Promise<void> {
  const { batch, signal } = run.invocation;
  listenToStdout();
  await batch.each(items, async (item) => {
    // Stop at the first failure: anything after a truncated file would look like part of it.
    batch.stopped = true;
    checkExists(item);
    checkPrintable(item.link);
    const remote = item.opened.file(item.number, await item.ticket.take(item.opened));
    await printFile(remote, { signal, parallel: run.concurrency.volumes });
    batch.stopped = false;
  });
}

/** Writes or prints the files of opened shares. `single`: one file was given, so --output may be its new name. */
export async function fetchParts(invocation: Invocation, parts: SharePart[], single: boolean): Promise<void> {
  const { flags, out, batch } = invocation;
  const items = parts.flatMap(({ files, ...rest }) => files.map((file): Item => ({ ...file, ...rest })));
  if (flags.output === STDOUT && items.length !== 1) {
    throw new UsageError('standard output takes one file', 'give --output a folder');
  }
  using run = new TransferRun(invocation, items);
  if (out.dataOnStdout) await printAll(run, items);
  else {
    const hint = 'get them one by one, or ask for a share of its own';
    const target = await targetFor(flags.output, single);
    const destination = new Destination(target, out, { hint, dryRun: flags['dry-run'] });
    const writer = new DownloadWriter(run, destination);
    const isLink = ({ link }: Item) => link !== undefined;
    const receiveOne = (item: Item) => receive(writer, item);
    // Create symbolic links last, so that no file is written through one.
    const files = items.filter((item) => !isLink(item));
    await batch.each(files, receiveOne, { parallel: run.concurrency.files });
    await batch.each(items.filter(isLink), receiveOne);
  }
  if (batch.failed === 0 && !flags['dry-run']) for (const { ticket } of parts) await ticket.forget();
  if (!out.dataOnStdout) run.finish('got', 'would get');
}
