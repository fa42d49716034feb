import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { layoutOf } from '@szafa/client/format';
import {
  type ByteStream,
  type Claims,
  type FileSource,
  fileJournal,
  fileSource,
  type Journal,
  type Source,
  type Szafa,
} from '@szafa/client/node';
import { cleanDirName } from '@szafa/protocol';
import { Batch } from '../batch.ts';
import type { Command, Invocation } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { type Existing, findExisting, type Opened, versionsCalled } from '../existing.ts';
import { explain } from '../explain.ts';
import { Lookup, ROOT } from '../lookup.ts';
import { Origins } from '../origin.ts';
import { collect, keyOf, type Planned } from '../plan.ts';
import { Progress } from '../progress/progress.ts';
import { hostFor, type PullPlan, pullPlan } from '../pull.ts';
import { parseSize } from '../quantities.ts';
import { standardInput } from '../stdin.ts';
import { formatBytes, oneLine, plural } from '../text.ts';
import { lanesFor, summarize, type Tally } from '../transfers.ts';

const STDIN = '-';
const ASK_EVERY_MS = 200;
/** Thousands of small files end in a second: their claims end together. */
const RELEASE_EVERY_MS = 100;

/** Everything that is the same for all files of one command. */
interface Put {
  invocation: Invocation;
  szafa: Szafa;
  journal: Journal & { claims: Claims };
  /** What is there, as of the moment when the files under way were claimed. */
  lookup: Lookup;
  /** Names of the files of this command, with their directories. */
  names: ReadonlySet<string>;
  origins: Origins;
  progress: Progress;
  parallel: number;
  pull: PullPlan | undefined;
  /** Directory ids by name; made once. */
  dirs: Map<string, Promise<number>>;
  tally: Tally;
}

function checkUsage({ args, flags }: Invocation): void {
  const several = args.length > 1;
  if (args.includes(STDIN)) {
    if (several)
      throw new UsageError(
        'standard input (-) cannot be combined with files',
        'upload the files with a second command',
      );
    if (pullPlan(flags)) {
      throw new UsageError(
        'the server cannot pull standard input: it can be read only once',
        'omit --pull, or upload a file',
      );
    }
    if (flags.name === undefined) throw new UsageError('standard input needs a name', 'give it with --name');
  }
  if (flags.name !== undefined && several) {
    throw new UsageError('--name is for one file', 'upload the files one by one, or omit --name');
  }
  if (flags.checksum && flags.force) {
    throw new UsageError('--force uploads everything, so there is nothing to compare', 'omit --checksum');
  }
  if (flags.name === '') throw new UsageError('--name is empty', 'give a name');
  // Refuses what no file could be cut into.
  if (flags['volume-size'] !== undefined) layoutOf(0, parseSize('volume-size', flags['volume-size']));
  if (flags.dir !== undefined && flags.dir !== ROOT) cleanDirName(flags.dir);
}

function dirIdOf(put: Put, name: string | undefined): Promise<number> {
  if (name === undefined) return Promise.resolve(0);
  const { szafa, dirs, invocation } = put;
  let dirId = dirs.get(name);
  if (!dirId) {
    const options = { plain: invocation.flags['plain-names'] ?? false, signal: invocation.signal };
    // An async function: a name that breaks a rule is a failure of its files.
    dirId = (async () => szafa.ensureDir(cleanDirName(name), options))();
    dirs.set(name, dirId);
  }
  return dirId;
}

interface Circumstances {
  mtime: number;
  mode?: number | undefined;
  dirId: number;
  /** What is there under this name. */
  newest: Opened | undefined;
}

async function send(
  put: Put,
  source: Source | ByteStream,
  file: Planned,
  { mtime, mode, dirId, newest }: Circumstances,
): Promise<void> {
  const { invocation, szafa, journal, progress, parallel } = put;
  const { flags, out, signal } = invocation;
  const { name, path, origin } = file;
  const track = progress.start(name, 'size' in source ? source.size : undefined);
  let succeeded = false;
  try {
    const result = await szafa.upload(source, {
      name,
      dirId: dirId || null,
      mtime,
      after: newest?.metadata.gen,
      mode,
      source: origin,
      volumeSize:
        flags['volume-size'] === undefined ? undefined : parseSize('volume-size', flags['volume-size']),
      plainName: flags['plain-names'],
      parallel,
      journal,
      pull: put.pull && hostFor(put.pull, szafa.api.server),
      signal,
      onProgress: ({ done }) => track.update(done),
    });
    succeeded = true;
    put.tally.files++;
    const size = 'size' in source ? source.size : track.done;
    put.tally.bytes += size;
    const { fileId, storedSize, volumes, resumed } = result;
    const again = resumed > 0 ? `, ${resumed} of ${volumes} volumes were already there` : '';
    out.done(
      'uploaded',
      {
        path,
        name,
        file_id: fileId,
        dir_id: dirId || null,
        size,
        stored_size: storedSize,
        volumes,
        resumed,
      },
      `put ${oneLine(name)}  ${formatBytes(size)}  ${oneLine(fileId)}${again}`,
    );
  } catch (error) {
    throw put.pull && !signal.aborted ? explainPull(error) : error;
  } finally {
    track.end(succeeded);
  }
}

/** The service could not fetch: what it says stays, what to do is to send. */
function explainPull(error: unknown): unknown {
  const { code, message } = explain(error);
  if (code !== 'conflict' && code !== 'server') return error;
  const hint = 'run the same command without --pull to send what is missing from here';
  return new CliError('pull', message, hint, 1, { cause: error });
}

async function sendFile(put: Put, file: Planned): Promise<void> {
  const { invocation, progress } = put;
  const source = await fileSource(file.path);
  try {
    progress.resize(source.size - file.size);
    const dirId = await dirIdOf(put, file.folder);
    const versions = await versionsOf(put, file.name, dirId);
    const { same } = invocation.flags.force ? {} : await meet(put, source, file, dirId, versions);
    if (same) skip(put, source, file, same);
    else {
      const { mtime, mode } = source;
      await send(put, source, file, { mtime, mode, dirId, newest: versions[0] });
    }
  } finally {
    await source.close();
  }
}

async function versionsOf(
  { szafa, lookup, invocation }: Put,
  name: string,
  dirId: number,
): Promise<Opened[]> {
  return versionsCalled(szafa, name, await lookup.byName(dirId), invocation.signal);
}

/** What is there under this name; files that came from another place are told. */
async function meet(
  put: Put,
  source: FileSource,
  file: Planned,
  dirId: number,
  versions: Opened[],
): Promise<Existing> {
  const { invocation, lookup, names, origins, szafa } = put;
  const { flags, signal } = invocation;
  const { name, tree } = file;
  const origin = file.origin!;
  const entries = await lookup.list(dirId);
  const own = (other: string) => names.has(keyOf({ ...file, name: other }));
  if (tree) await origins.look(tree, entries, own, signal);
  const wanted = { name, origin, mtime: source.mtime };
  const options = { checksum: flags.checksum ?? false, signal };
  const existing = await findExisting(szafa, versions, wanted, source, options);
  if (existing.from !== undefined) origins.tell(name, tree, existing.from, origin);
  return existing;
}

function skip(put: Put, source: FileSource, file: Planned, same: NonNullable<Existing['same']>): void {
  const { out } = put.invocation;
  const { path, name } = file;
  put.progress.start(name, source.size).end(true);
  put.tally.skipped++;
  out.done(
    'skipped',
    { path, name, file_id: same.entry.fileId, reason: 'already there', by: same.by },
    `${oneLine(name)} is already there`,
  );
  const { mode } = same.metadata;
  if (mode === undefined || source.mode === undefined || mode === source.mode) return;
  const octal = (bits: number) => bits.toString(8).padStart(4, '0');
  const message = `${oneLine(name)} has mode ${octal(mode)} on the server and ${octal(source.mode)} here; --force uploads it again`;
  out.note('mode', message, { path, name, mode: source.mode, kept_mode: mode });
}

/**
 * All files. What another szafa is uploading to the same place at this moment waits until that one has ended; then it
 * is already there, or is resumed. What is there is listed after the claims, so nothing comes in between.
 */
async function sendAll(put: Put, files: Planned[], batch: Batch, parallel: number): Promise<void> {
  const { invocation, szafa, journal } = put;
  const { out, signal } = invocation;
  const { claims } = journal;
  const claimOf = (file: Planned) =>
    createHash('sha256')
      .update(JSON.stringify(['upload', szafa.api.server, szafa.username, file.folder ?? null, file.name]))
      .digest('hex');
  let pending = files.map((file) => ({ file, claim: claimOf(file) }));
  let told = false;
  while (pending.length > 0) {
    signal.throwIfAborted();
    if (batch.stopped) {
      batch.left += pending.length;
      return;
    }
    const taken = await claims.take(pending.map(({ claim }) => claim));
    const now = pending.filter(({ claim }) => taken.has(claim));
    pending = pending.filter(({ claim }) => !taken.has(claim));
    if (pending.length > 0 && !told) {
      told = true;
      const message = `waiting for another szafa that is uploading ${plural(pending.length, 'file')} of these`;
      out.note('waiting', message, { files: pending.length });
    }
    if (now.length === 0) {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
      continue;
    }
    put.lookup = new Lookup(szafa, signal);
    const over: string[] = [];
    let timer: NodeJS.Timeout | undefined;
    const releaseOver = () => {
      timer = undefined;
      const some = over.splice(0);
      // Where it fails it is done once more, at the end.
      const forget = () => {
        for (const claim of some) taken.delete(claim);
      };
      claims.release(some).then(forget, () => {});
    };
    try {
      const options = { out, signal, parallel, about: ({ file }: { file: Planned }) => file.path };
      await batch.run(now, options, async ({ file, claim }) => {
        try {
          await sendFile(put, file);
        } finally {
          over.push(claim);
          timer ??= setTimeout(releaseOver, RELEASE_EVERY_MS);
        }
      });
    } finally {
      clearTimeout(timer);
      await claims.release(taken);
    }
  }
}

async function sendStdin(put: Put): Promise<void> {
  const { flags } = put.invocation;
  const { dir } = flags;
  const file: Planned = { path: STDIN, name: flags.name!, size: 0 };
  put.progress.expect(1, 0);
  const dirId = await dirIdOf(put, dir === undefined || dir === ROOT ? undefined : dir);
  const [newest] = await versionsOf(put, file.name, dirId);
  await send(put, standardInput(), file, { mtime: Date.now(), dirId, newest });
}

export const command: Command = async (invocation) => {
  const { args, out, signal } = invocation;
  checkUsage(invocation);
  const pull = pullPlan(invocation.flags);
  const began = performance.now();
  const batch = new Batch(out);
  const fromStdin = args[0] === STDIN;
  const files = fromStdin ? [] : await collect(invocation, batch);
  if (!fromStdin && files.length === 0 && batch.failed > 0) return batch.finish();
  const lanes = lanesFor(invocation, files);
  const transfers = pull?.oneAtATime ? 1 : lanes.files;
  await using connection = await connect(invocation, { keys: 'needed', transfers });
  const { szafa } = connection;
  const progress = new Progress(out);
  const put: Put = {
    invocation,
    szafa,
    journal: fileJournal(join(invocation.settings.config, 'journal')),
    lookup: new Lookup(szafa, signal),
    names: new Set(files.map(keyOf)),
    origins: new Origins(szafa, out),
    progress,
    parallel: lanes.volumes,
    pull,
    dirs: new Map(),
    tally: { files: 0, bytes: 0, skipped: 0 },
  };
  try {
    if (fromStdin) {
      const options = { out, signal, parallel: 1, about: () => 'standard input' };
      await batch.run([STDIN], options, () => sendStdin(put));
    } else {
      progress.expect(
        files.length,
        files.reduce((sum, { size }) => sum + size, 0),
      );
      await sendAll(put, files, batch, transfers);
    }
  } finally {
    progress.close();
  }
  summarize(out, 'put', put.tally, began);
  batch.finish();
};
