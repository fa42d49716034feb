/** Downloads of what others share, by a link or with an account; every check is that of any other download. */
import { createHash } from 'node:crypto';
import {
  downloadToFile,
  type Journal,
  localState,
  newTicket,
  type OpenedLink,
  type VisitedFile,
} from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import { CliError, UsageError } from '../../../errors.ts';
import { formatBytes, oneLine } from '../../print/text.ts';
import { Batch } from '../batch.ts';
import { lanesFor, summarize, type Tally } from '../concurrency.ts';
import { Progress } from '../progress/progress.ts';
import { Destination, placeFor } from './destination.ts';
import { inTheWay, isFolder as isFolderHere } from './disk.ts';
import { checkLink, linkState, makeLink } from './links.ts';
import { isLink, listenToStdout, writeOut } from './pour.ts';
import { stateByBytes } from './receive.ts';

export const STDOUT = '-';
const ALONE = 'get them one by one, or ask for a share of its own';

/**
 * The ticket of a download, kept until all of it is there: the same command, given again, goes on with it, and is not counted twice. It is
 * kept before it is taken, and taken only where something is to be fetched.
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

  /** One server is never shown what was taken from another, though it may name a link as that one does. */
  static async kept(journal: Journal, server: string, id: string): Promise<Ticket> {
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

/** What is to be fetched of one share. */
export interface Part {
  opened: OpenedLink;
  ticket: Ticket;
  files: Wanted[];
}

/** A file of a share, and its path below what was asked for. */
export interface Wanted {
  file: VisitedFile;
  below: string;
}

type Item = Wanted & Pick<Part, 'opened' | 'ticket'>;

interface Visit {
  invocation: Invocation;
  journal: Journal;
  progress: Progress;
  destination: Destination;
  parallel: number;
  tally: Tally;
}

const goneFile = () => new CliError('gone', 'its owner has deleted it', 'ask the owner to share it again');

async function receive(visit: Visit, { file, opened, ticket, ...item }: Item): Promise<void> {
  const { invocation, progress, journal, parallel, tally, destination } = visit;
  const { flags, out, signal } = invocation;
  const { name, size, missing, link } = file;
  const dryRun = flags['dry-run'];
  if (missing) throw goneFile();
  if (link !== undefined) return receiveLink(visit, file, link, item.below);
  const isFolder = name.endsWith('/') && size === 0;
  const below = isFolder ? item.below.replace(/\/$/, '') : item.below;
  const path = destination.claim(below, isFolder);
  if (isFolder) {
    if (!dryRun) destination.ensure(below, true);
    out.done('folder', { name, path }, `${dryRun ? 'would make' : 'made'} ${oneLine(path)}/`);
    return;
  }
  const track = progress.start(name, size);
  let succeeded = false;
  try {
    const remoteFile = async () => opened.file(file.number, await ticket.take(opened, signal));
    const found = localState(path, file);
    const isSure = found !== 'same' || dryRun || !destination.hasOtherName(path);
    const state = isSure ? found : await stateByBytes(path, await remoteFile(), signal);
    if (state === 'other' && (!flags.yes || isFolderHere(path))) throw inTheWay(path);
    const fetch = async () => {
      destination.ensure(below);
      const remote = await remoteFile();
      const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
      const onWait = () =>
        out.note('waiting', `${oneLine(path)} is being written by another szafa; waiting for it`, { path });
      return downloadToFile(remote, path, {
        journal,
        overwrite: state === 'other' && flags.yes,
        parallel,
        signal,
        onProgress,
        onWait,
      });
    };
    const nothing = { resumed: 0, there: state === 'same' };
    const { resumed, there } = state === 'same' || dryRun ? nothing : await fetch();
    succeeded = true;
    if (there) {
      tally.skipped++;
      out.done('skipped', { name, path, reason: 'already there' }, `${oneLine(path)} is already there`);
      return;
    }
    tally.files++;
    tally.bytes += size;
    if (dryRun) {
      const planned = { action: 'download', name, path, size };
      out.done('planned', planned, `would get ${oneLine(path)}  ${formatBytes(size)}`);
      return;
    }
    const again = resumed > 0 ? `, ${resumed} volumes were already there` : '';
    out.done(
      'downloaded',
      { name, path, size, resumed },
      `got ${oneLine(path)}  ${formatBytes(size)}${again}`,
    );
  } finally {
    track.end(succeeded);
  }
}

/** Nothing is fetched for it, and so nothing counted. */
function receiveLink(
  { invocation, tally, destination }: Visit,
  file: VisitedFile,
  link: string,
  below: string,
): void {
  const { flags, out } = invocation;
  const { name, mtime } = file;
  const path = destination.claim(below);
  checkLink(path, link, destination.topOf(below));
  const state = linkState(path, link);
  if (state === 'same') {
    tally.skipped++;
    out.done('skipped', { name, path, reason: 'already there' }, `${oneLine(path)} is already there`);
    return;
  }
  if (state === 'other' && (!flags.yes || isFolderHere(path))) throw inTheWay(path);
  tally.files++;
  const text = `${oneLine(path)}  ${formatBytes(0)} -> ${oneLine(link)}`;
  if (flags['dry-run']) {
    out.done('planned', { action: 'download', name, path, size: 0 }, `would get ${text}`);
    return;
  }
  destination.ensure(below);
  makeLink(path, link, { time: { mtime }, overwrite: flags.yes ?? false });
  out.done('downloaded', { name, path, size: 0, link }, `got ${text}`);
}

/** Each volume is verified before it is passed on; only exit code 0 says that the whole was. */
async function pour(
  { invocation, parallel }: Visit,
  { file: { number, missing, link }, opened, ticket }: Item,
): Promise<void> {
  const { signal } = invocation;
  if (missing) throw goneFile();
  if (link !== undefined) throw isLink(link);
  const remote = opened.file(number, await ticket.take(opened, signal));
  for await (const volume of remote.volumes({ signal, parallel })) {
    await writeOut(volume.bytes);
    volume.release();
  }
}

export interface Fetching {
  journal: Journal;
  began: number;
  /** One file was asked for: --output may be its name. */
  single: boolean;
  toStdout: boolean;
}

/** Writes the files of shares that are opened, or prints them one after the other. */
export async function fetchParts(
  invocation: Invocation,
  parts: Part[],
  { journal, began, single, toStdout }: Fetching,
): Promise<void> {
  const { flags, out, signal } = invocation;
  const items = parts.flatMap(({ files, ...rest }) => files.map((file): Item => ({ ...file, ...rest })));
  if (flags.output === STDOUT && items.length !== 1) {
    throw new UsageError('standard output takes one file', 'give --output a folder');
  }
  const lanes = lanesFor(
    invocation,
    items.map(({ file }) => file),
  );
  const progress = new Progress(out);
  progress.expect(
    items.length,
    items.reduce((sum, { file }) => sum + file.size, 0),
  );
  const visit: Visit = {
    ...{ invocation, journal, progress, parallel: lanes.volumes },
    destination: new Destination(await placeFor(flags.output, single), out, {
      hint: ALONE,
      dryRun: flags['dry-run'],
    }),
    tally: { files: 0, bytes: 0, skipped: 0 },
  };
  const batch = new Batch(out);
  try {
    const options = { out, signal, about: ({ file }: Item) => file.name };
    if (toStdout) {
      listenToStdout();
      await batch.run(items, { ...options, parallel: 1 }, async (item) => {
        // After a failure nothing follows, or two halves would look like one file.
        batch.stopped = true;
        await pour(visit, item);
        batch.stopped = false;
      });
    } else {
      // Symbolic links are made last: until then none is in the way of a file.
      const [files, links] = [
        items.filter(({ file }) => file.link === undefined),
        items.filter(({ file }) => file.link !== undefined),
      ];
      await batch.run(files, { ...options, parallel: lanes.files }, (item) => receive(visit, item));
      await batch.run(links, { ...options, parallel: 1 }, (item) => receive(visit, item));
    }
  } finally {
    progress.close();
  }
  if (batch.failed === 0 && !flags['dry-run']) for (const { ticket } of parts) await ticket.forget();
  if (!toStdout) summarize(out, flags['dry-run'] ? 'would get' : 'got', visit.tally, began);
  batch.finish();
}
