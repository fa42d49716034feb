import { lstat, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import {
  downloadToFile,
  type Entry,
  ExistsError,
  fileJournal,
  fileSource,
  type Journal,
  type LocalState,
  localState,
  makeFolder,
  type RemoteFile,
  type Szafa,
  safeSegments,
  sameContent,
} from '@szafa/client/node';
import { Batch } from '../batch.ts';
import type { Command, Invocation } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { nameIn } from '../existing.ts';
import { Lookup, ROOT } from '../lookup.ts';
import { Progress } from '../progress/progress.ts';
import type { Track } from '../progress/tally.ts';
import { chooseFiles, newestOnly, openChosen } from '../selection.ts';
import { formatBytes, oneLine } from '../text.ts';
import { lanesFor, summarize, type Tally, transfersOf } from '../transfers.ts';

const STDOUT = '-';

/** Where files go: a file, or a folder they are put below. */
type Place = { file: string } | { folder: string };

interface Get {
  invocation: Invocation;
  szafa: Szafa;
  progress: Progress;
  place: Place;
  parallel: number;
  journal: Journal;
  /** Paths that are taken: two names may become the same path. */
  taken: Map<string, string>;
  /** Folders that are there. */
  folders: Set<string>;
  tally: Tally;
}

async function placeFor({ args, flags }: Invocation): Promise<Place> {
  const { output, dir } = flags;
  const whole = args.length === 0;
  if (output === undefined) {
    return { folder: whole && dir !== undefined && dir !== ROOT ? join(...safeSegments(dir)) : '.' };
  }
  if (whole || args.length > 1 || output.endsWith('/')) return { folder: output };
  const isFolder = await stat(output).then(
    (stats) => stats.isDirectory(),
    () => false, // not there yet: it is the file's own name
  );
  return isFolder ? { folder: output } : { file: output };
}

function checkUsage({ args, flags }: Invocation): void {
  if (args.length === 0 && flags.dir === undefined) {
    throw new UsageError(
      'get needs NAME or ID, or --dir NAME for a whole directory',
      'szafa ls shows names and IDs',
    );
  }
  if (flags.output === STDOUT && args.length !== 1) {
    throw new UsageError('standard output takes one file', 'name one, or give --output a folder');
  }
  if (flags.output === '') throw new UsageError('--output is empty', 'give a file or a folder');
}

function claimPath({ invocation, place, taken }: Get, name: string): string {
  const path = 'file' in place ? place.file : join(place.folder, ...safeSegments(name));
  const other = taken.get(path);
  if (other !== undefined) {
    const message = `would be written to the same path as "${oneLine(other)}"`;
    throw new CliError('same-path', message, 'get it by its ID, with another --output');
  }
  taken.set(path, name);
  if ('folder' in place && join(...safeSegments(name)) !== name) {
    const message = `"${oneLine(name)}" is written as ${oneLine(path)}: its own name is not possible here`;
    invocation.out.note('renamed', message, { name, path });
  }
  return path;
}

function ensureFolder({ folders }: Get, folder: string): void {
  if (folders.has(folder)) return;
  makeFolder(folder);
  folders.add(folder);
}

/** What is at the place of a file. With --checksum its bytes decide: sealed again they must have the digests of the header. */
async function stateOf(path: string, remote: RemoteFile, { flags, signal }: Invocation): Promise<LocalState> {
  const state = localState(path, remote.metadata);
  if (!flags.checksum || state === 'absent' || !(await lstat(path)).isFile()) return state;
  const source = await fileSource(path);
  try {
    return (await sameContent(remote, source, signal)) ? 'same' : 'other';
  } finally {
    await source.close();
  }
}

async function receive(get: Get, entry: Entry): Promise<void> {
  const { invocation, szafa, progress, parallel, journal } = get;
  const { flags, out, signal } = invocation;
  const track = progress.start(entry.name, entry.size);
  let succeeded = false;
  try {
    const remote = await openChosen(szafa, entry, invocation);
    const { metadata, fileId } = remote;
    track.update(0, metadata.size);
    const { size } = metadata;
    const name = nameIn(entry, metadata);
    const path = claimPath(get, name);
    const state = await stateOf(path, remote, invocation);
    if (state === 'other' && !flags.yes) throw new ExistsError(path);
    if (state !== 'same') ensureFolder(get, dirname(path));
    const download = () =>
      downloadToFile(remote, path, {
        journal,
        overwrite: flags.yes,
        parallel,
        signal,
        onProgress: ({ done, total }) => track.update(done, total),
        onWait: () =>
          out.note('waiting', `${oneLine(path)} is being written by another szafa; waiting for it`, {
            path,
          }),
      });
    const { resumed, there } = state === 'same' ? { resumed: 0, there: true } : await download();
    succeeded = true;
    if (there) {
      get.tally.skipped++;
      out.done(
        'skipped',
        { file_id: fileId, name, path, reason: 'already there' },
        `${oneLine(path)} is already there`,
      );
      return;
    }
    get.tally.files++;
    get.tally.bytes += size;
    const again = resumed > 0 ? `, ${resumed} of ${remote.layout.count} volumes were already there` : '';
    out.done(
      'downloaded',
      { file_id: fileId, name, path, size, volumes: remote.layout.count, resumed },
      `got ${oneLine(path)}  ${formatBytes(size)}${again}`,
    );
  } finally {
    track.end(succeeded);
  }
}

function writeOut(bytes: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    process.stdout.write(bytes, (error) => (error ? reject(outputError(error)) : resolve()));
  });
}

function outputError(cause: NodeJS.ErrnoException): Error {
  if (cause.code !== 'EPIPE') return cause;
  return new CliError(
    'output-closed',
    'standard output was closed',
    'the program at the other end of the pipe ended early',
    1,
    { cause },
  );
}

/** Each volume is verified before it is passed on; only exit code 0 says that the whole was. */
async function pour(get: Get, entry: Entry, track: Track): Promise<void> {
  const { szafa, parallel, invocation } = get;
  const { out, signal } = invocation;
  const remote = await openChosen(szafa, entry, invocation);
  const { size } = remote.metadata;
  const name = nameIn(entry, remote.metadata);
  const onProgress = ({ done, total }: { done: number; total: number }) => track.update(done, total);
  for await (const volume of remote.volumes({ signal, parallel, onProgress })) {
    await writeOut(volume.bytes);
    volume.release();
  }
  get.tally.files++;
  get.tally.bytes += size;
  out.done(
    'downloaded',
    { file_id: entry.fileId, name, path: STDOUT, size },
    `got ${oneLine(name)}  ${formatBytes(size)}`,
  );
}

async function receiveToStdout(get: Get, entry: Entry): Promise<void> {
  // The callback of the write has the error; without a listener the event would end the process.
  process.stdout.on('error', () => {});
  const track = get.progress.start(entry.name, entry.size);
  let succeeded = false;
  try {
    await pour(get, entry, track);
    succeeded = true;
  } finally {
    track.end(succeeded);
  }
}

export const command: Command = async (invocation) => {
  const { args, flags, out, signal } = invocation;
  checkUsage(invocation);
  const toStdout = flags.output === STDOUT;
  out.dataOnStdout = toStdout;
  const began = performance.now();
  await using connection = await connect(invocation, {
    keys: 'needed',
    transfers: transfersOf(invocation),
  });
  const { szafa } = connection;
  const lookup = new Lookup(szafa, signal);
  const batch = new Batch(out);
  const chosen = await chooseFiles(lookup, invocation, batch);
  const files = args.length === 0 ? await newestOnly(szafa, chosen, invocation, batch) : chosen;
  const lanes = lanesFor(invocation, files);
  const progress = new Progress(out);
  progress.expect(
    files.length,
    files.reduce((sum, { size }) => sum + size, 0),
  );
  const place = toStdout ? { file: STDOUT } : await placeFor(invocation);
  const get: Get = {
    invocation,
    szafa,
    progress,
    place,
    parallel: lanes.volumes,
    journal: fileJournal(join(invocation.settings.config, 'journal')),
    taken: new Map(),
    folders: new Set(),
    tally: { files: 0, bytes: 0, skipped: 0 },
  };
  try {
    const options = { out, signal, parallel: lanes.files, about: ({ name }: Entry) => name };
    await batch.run(files, options, (entry) =>
      toStdout ? receiveToStdout(get, entry) : receive(get, entry),
    );
  } finally {
    progress.close();
  }
  if (args.length === 0 && files.length === 0)
    out.note('empty', `the directory ${oneLine(flags.dir ?? '')} is empty`);
  summarize(out, 'got', get.tally, began);
  batch.finish();
};
