/** get of a link: needs no account; every check is that of any other download. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import {
  downloadToFile,
  fileJournal,
  type Journal,
  LinkVisit,
  localState,
  newTicket,
  type OpenedLink,
  parseLink,
  TargetExistsError,
  type VisitedFile,
} from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Invocation } from '../command.ts';
import { clientOptions, sameServer } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { Progress } from '../progress/progress.ts';
import { readSecret } from '../question.ts';
import { formatBytes, oneLine } from '../text.ts';
import { lanesFor, summarize, type Tally, transfersOf } from '../transfers.ts';
import { Destination, placeFor } from './destination.ts';
import { listenToStdout, writeOut } from './pour.ts';

const STDOUT = '-';
const ALONE = 'ask for a link of its own';

/**
 * The ticket of a download, kept until all of it is there: the same command, given again, goes on with it, and is not counted twice. It is
 * kept before it is taken, and taken only where something is to be fetched.
 */
class Ticket {
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

interface Visit {
  invocation: Invocation;
  opened: OpenedLink;
  ticket: Ticket;
  journal: Journal;
  progress: Progress;
  destination: Destination;
  parallel: number;
  tally: Tally;
}

const goneFile = () => new CliError('gone', 'its owner has deleted it', 'ask the owner for another link');

async function receive(visit: Visit, file: VisitedFile): Promise<void> {
  const { invocation, opened, ticket, progress, journal, parallel, tally, destination } = visit;
  const { flags, out, signal } = invocation;
  const { name, size, missing } = file;
  const dryRun = flags['dry-run'];
  if (missing) throw goneFile();
  const isFolder = name.endsWith('/') && size === 0;
  const below = isFolder ? name.replace(/\/+$/, '') : name;
  const path = destination.claim(below);
  if (isFolder) {
    if (!dryRun) destination.ensure(below, true);
    out.done('folder', { name, path }, `${dryRun ? 'would make' : 'made'} ${oneLine(path)}/`);
    return;
  }
  const track = progress.start(name, size);
  let succeeded = false;
  try {
    const state = localState(path, file);
    if (state === 'other' && !flags.yes) throw new TargetExistsError(path);
    const fetch = async () => {
      destination.ensure(below);
      const remote = opened.file(file.number, await ticket.take(opened, signal));
      const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
      const onWait = () =>
        out.note('waiting', `${oneLine(path)} is being written by another szafa; waiting for it`, { path });
      return downloadToFile(remote, path, {
        journal,
        overwrite: flags.yes,
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

/** Each volume is verified before it is passed on; only exit code 0 says that the whole was. */
async function pour(
  { invocation, opened, ticket, parallel }: Visit,
  { number, missing }: VisitedFile,
): Promise<void> {
  const { signal } = invocation;
  if (missing) throw goneFile();
  listenToStdout();
  const remote = opened.file(number, await ticket.take(opened, signal));
  for await (const volume of remote.volumes({ signal, parallel })) {
    await writeOut(volume.bytes);
    volume.release();
  }
}

export async function getLink(invocation: Invocation, link: string): Promise<void> {
  const { flags, settings, out, signal } = invocation;
  const began = performance.now();
  if (flags.checksum) {
    throw new UsageError(
      '--checksum does not go with a link',
      'omit it: what is there with the same size and time is skipped',
    );
  }
  const address = parseLink(link);
  const server = sameServer(address.server);
  out.dataOnStdout = flags.output === STDOUT;
  const { options, close } = clientOptions(invocation, server, transfersOf(invocation));
  try {
    const journal = fileJournal(join(settings.config, 'journal'));
    const ticket = await Ticket.kept(journal, server, address.id);
    const { engine, transport, retry, onRetry } = options;
    const found = await LinkVisit.begin(
      { ...address, server },
      { engine, transport, retry, onRetry, ticket: ticket.text, signal },
    );
    const source = settings.linkPassphrase;
    const passphrase = found.needsPassphrase
      ? await readSecret({ source, what: 'passphrase of the link', signal })
      : undefined;
    const opened = await found.open(passphrase);
    if (opened.note !== undefined) out.note('says', oneLine(opened.note), { note: opened.note });
    const { files } = opened;
    if (flags.output === STDOUT && files.length !== 1) {
      throw new UsageError('standard output takes one file', 'give --output a folder');
    }
    const lanes = lanesFor(invocation, files);
    const progress = new Progress(out);
    progress.expect(
      files.length,
      files.reduce((sum, { size }) => sum + size, 0),
    );
    const visit: Visit = {
      ...{ invocation, opened, ticket, journal, progress, parallel: lanes.volumes },
      destination: new Destination(await placeFor(flags.output, files.length === 1), out, ALONE),
      tally: { files: 0, bytes: 0, skipped: 0 },
    };
    const batch = new Batch(out);
    try {
      const about = ({ name }: VisitedFile) => name;
      const work = flags.output === STDOUT ? pour : receive;
      await batch.run(files, { out, signal, parallel: lanes.files, about }, (file) => work(visit, file));
    } finally {
      progress.close();
    }
    if (batch.failed === 0 && !flags['dry-run']) await ticket.forget();
    if (flags.output !== STDOUT) summarize(out, flags['dry-run'] ? 'would get' : 'got', visit.tally, began);
    batch.finish();
  } finally {
    await close();
  }
}
