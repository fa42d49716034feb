/** Downloads of files that others share, by a link or with an account; they pass the same checks as any other download. */
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
 * The ticket of a download, kept until all of it is there: the same command, run again, continues with it and is not counted twice.
 * It is stored before it is used, and used only if something is to be downloaded. Keyed by the server: one server must never see the
 * ticket of another, even if it gives a link the same ID.
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
    /** Undefined before the first download. */
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

/** A file of a share, and its path below the argument that names it. */
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
    // Downloads nothing, so it does not count.
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
    // After a failure nothing follows, or two halves would look like one file.
    batch.stopped = true;
    checkExists(item);
    checkPrintable(item.link);
    const remote = item.opened.file(item.number, await item.ticket.take(item.opened));
    await printFile(remote, { signal, parallel: run.concurrency.volumes });
    batch.stopped = false;
  });
}

/** Writes the files of opened shares, or prints them. `single`: one file was named, and --output may be its new name. */
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
    // Symbolic links last: until then none is in the way of a file.
    const files = items.filter((item) => !isLink(item));
    await batch.each(files, receiveOne, { parallel: run.concurrency.files });
    await batch.each(items.filter(isLink), receiveOne);
  }
  if (batch.failed === 0 && !flags['dry-run']) for (const { ticket } of parts) await ticket.forget();
  if (!out.dataOnStdout) run.finish('got', 'would get');
}
