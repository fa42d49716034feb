/** Downloads of files that others share, by a link or with an account; they pass the same checks as any other download. */
import { createHash } from 'node:crypto';
import { type Journal, newTicket, type OpenedLink, type VisitedFile } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { TransferRun } from '../run.ts';
import { Destination, targetFor } from './destination.ts';
import { checkLink } from './links.ts';
import { checkPrintable, listenToStdout, printFile, STDOUT } from './stdout.ts';
import { DownloadWriter, stateOf } from './write.ts';

/**
 * The ticket of a download, kept until all of it is there: the same command, run again, continues with it and is not counted twice.
 * It is stored before it is used, and used only if something is to be downloaded.
 */
export class Ticket {
  readonly #journal: Journal;
  readonly #key: string;
  #text: string | undefined;
  #taken: Promise<string> | undefined;

  private constructor(journal: Journal, key: string, text: string | undefined) {
    this.#journal = journal;
    this.#key = key;
    this.#text = text;
  }

  /** Keyed by the server: one server must never see the ticket of another, even if it gives a link the same ID. */
  static async load(journal: Journal, server: string, id: string): Promise<Ticket> {
    const key = createHash('sha256').update(`ticket\0${server}\0${id}`).digest('hex');
    const found = await journal.load(key);
    const text = found && new TextDecoder().decode(found);
    return new Ticket(journal, key, text !== undefined && /^[\w-]{43}$/.test(text) ? text : undefined);
  }

  get text(): string | undefined {
    return this.#text;
  }

  take(opened: OpenedLink, signal: AbortSignal): Promise<string> {
    this.#taken ??= (async () => {
      this.#text ??= newTicket(opened.engine);
      await this.#journal.store(this.#key, new TextEncoder().encode(this.#text));
      await opened.take(this.#text, signal);
      return this.#text;
    })();
    return this.#taken;
  }

  async forget(): Promise<void> {
    if (this.#text !== undefined) await this.#journal.remove(this.#key);
  }
}

/** A file of a share, and its path below the argument that names it. */
export interface SharedFile {
  file: VisitedFile;
  below: string;
}

/** The files to download of one share. */
export interface SharePart {
  opened: OpenedLink;
  ticket: Ticket;
  files: SharedFile[];
}

type Item = SharedFile & Pick<SharePart, 'opened' | 'ticket'>;

function checkExists({ missing }: VisitedFile): void {
  if (missing) throw new CliError('gone', 'its owner has deleted it', 'ask the owner to share it again');
}

async function receive(writer: DownloadWriter, { file, opened, ticket, below }: Item): Promise<void> {
  const { run, destination } = writer;
  const { invocation } = run;
  const { name, size, link, mtime } = file;
  const fields = { name };
  checkExists(file);
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
      const open = async () => opened.file(file.number, await ticket.take(opened, invocation.signal));
      const canOpen = invocation.flags['dry-run'] ? undefined : open;
      const state = await stateOf(path, file, canOpen, { ...invocation, destination });
      await writer.write({ fields, path, below, size }, state, open, { onProgress: update });
    });
  }
}

async function print(run: TransferRun, { file, opened, ticket }: Item): Promise<void> {
  const { signal } = run.invocation;
  checkExists(file);
  checkPrintable(file.link);
  const remote = opened.file(file.number, await ticket.take(opened, signal));
  await printFile(remote, { signal, parallel: run.concurrency.volumes });
}

export interface FetchOptions {
  journal: Journal;
  began: number;
  /** One file was named: --output may be its new name. */
  single: boolean;
  toStdout: boolean;
}

/** Writes the files of opened shares, or prints them one after the other. */
export async function fetchParts(
  invocation: Invocation,
  parts: SharePart[],
  { journal, began, single, toStdout }: FetchOptions,
): Promise<void> {
  const { flags, out } = invocation;
  const items = parts.flatMap(({ files, ...rest }) => files.map((file): Item => ({ ...file, ...rest })));
  if (flags.output === STDOUT && items.length !== 1) {
    throw new UsageError('standard output takes one file', 'give --output a folder');
  }
  using run = new TransferRun(
    invocation,
    items.map(({ file }) => file),
    { began },
  );
  const { batch } = run;
  const about = ({ file }: Item) => file.name;
  if (toStdout) {
    listenToStdout();
    const printOne = async (item: Item) => {
      // After a failure nothing follows, or two halves would look like one file.
      batch.stopped = true;
      await print(run, item);
      batch.stopped = false;
    };
    await run.each(items, about, printOne, 1);
  } else {
    const hint = 'get them one by one, or ask for a share of its own';
    const target = await targetFor(flags.output, single);
    const destination = new Destination(target, out, { hint, dryRun: flags['dry-run'] });
    const writer = new DownloadWriter(run, destination, journal);
    const isLink = ({ file }: Item) => file.link !== undefined;
    // Symbolic links last: until then none is in the way of a file.
    const [links = [], files = []] = [items.filter(isLink), items.filter((item) => !isLink(item))];
    await run.each(files, about, (item) => receive(writer, item));
    await run.each(links, about, (item) => receive(writer, item), 1);
  }
  if (batch.failed === 0 && !flags['dry-run']) for (const { ticket } of parts) await ticket.forget();
  if (toStdout) batch.finish();
  else run.finish('got', 'would get');
}
