import { join } from 'node:path';
import { fileJournal, fileSource, layoutOf, type Source, type Szafa, spool } from '@szafa/client/node';
import { cleanDirName } from '@szafa/protocol';
import { Batch } from '../batch.ts';
import type { Command, Invocation } from '../command.ts';
import { connect } from '../connection.ts';
import { CliError, UsageError } from '../errors.ts';
import { findSame } from '../existing.ts';
import { explain } from '../explain.ts';
import { Lookup, ROOT } from '../lookup.ts';
import { Progress } from '../progress/progress.ts';
import { hostFor, type PullPlan, pullPlan } from '../pull.ts';
import { parseSize } from '../quantities.ts';
import { formatBytes, oneLine } from '../text.ts';
import { lanesFor, summarize, type Tally } from '../transfers.ts';
import { type Found, walk } from '../walk.ts';

const STDIN = '-';

/** Everything that is the same for all files of one command. */
interface Put {
  invocation: Invocation;
  szafa: Szafa;
  lookup: Lookup;
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
      throw new UsageError('standard input (-) stands alone', 'upload the files with a second command');
    if (flags.name === undefined) throw new UsageError('standard input needs a name', 'give it with --name');
  }
  if (flags.name !== undefined && several) {
    throw new UsageError('--name is for one file', 'upload the files one by one, or leave --name out');
  }
  if (flags.name === '') throw new UsageError('--name is empty', 'give a name');
  // Refuses what no file could be cut into.
  if (flags['volume-size'] !== undefined) layoutOf(0, parseSize('volume-size', flags['volume-size']));
  if (flags.dir !== undefined && flags.dir !== ROOT) cleanDirName(flags.dir);
}

/** All files behind the arguments. What cannot be read is a failure of its own. */
async function collect({ args, flags, out, signal }: Invocation, batch: Batch): Promise<Found[]> {
  const found: Found[] = [];
  const names = new Map<string, string>();
  const handlers = {
    fail: (error: unknown, path: string) => batch.fail(error, path),
    skip: (path: string, what: string) =>
      out.note('skipped', `${oneLine(path)} is left out: it is ${what}`, { path }),
  };
  for (const arg of new Set(args)) {
    try {
      for await (const file of walk(arg, handlers)) {
        signal.throwIfAborted();
        if (flags.name !== undefined && file.folder !== undefined) {
          throw new UsageError('--name is for one file, not a folder', 'leave --name out');
        }
        const { name, folder } = placeOf(file, flags.dir, flags.name);
        const key = `${folder ?? ''}/${name}`;
        const other = names.get(key);
        if (other !== undefined) {
          const message = `would have the same name as ${oneLine(other)}`;
          batch.fail(new CliError('same-name', message, 'upload it with another --dir'), file.path);
          continue;
        }
        names.set(key, file.path);
        found.push({ path: file.path, size: file.size, name, ...(folder !== undefined && { folder }) });
      }
    } catch (error) {
      if (error instanceof UsageError || signal.aborted) throw error;
      batch.fail(error, arg);
    }
  }
  return found;
}

/** A folder is a directory of its name; with --dir its name goes before those of its files, as `cp -r` does. */
function placeOf(file: Found, dir: string | undefined, name: string | undefined) {
  if (dir === undefined) return { name: name ?? file.name, folder: file.folder };
  const below = file.folder === undefined ? file.name : `${file.folder}/${file.name}`;
  return { name: name ?? below, folder: dir === ROOT ? undefined : cleanDirName(dir) };
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

async function send(put: Put, source: Source, file: Found, mtime: number, dirId: number): Promise<void> {
  const { invocation, szafa, progress, parallel } = put;
  const { flags, settings, out, signal } = invocation;
  const { name, path } = file;
  const track = progress.start(name, source.size);
  let succeeded = false;
  try {
    const result = await szafa.upload(source, {
      name,
      dirId: dirId || null,
      mtime,
      volumeSize:
        flags['volume-size'] === undefined ? undefined : parseSize('volume-size', flags['volume-size']),
      plainName: flags['plain-names'],
      parallel,
      journal: fileJournal(join(settings.config, 'journal')),
      pull: put.pull && hostFor(put.pull, szafa.api.server),
      signal,
      onProgress: ({ phase, done, total }) => track.update(phase, done, total),
    });
    succeeded = true;
    put.tally.files++;
    put.tally.bytes += source.size;
    const { fileId, storedSize, volumes, resumed } = result;
    const again = resumed > 0 ? `, ${resumed} of ${volumes} volumes were there` : '';
    out.done(
      'uploaded',
      {
        path,
        name,
        file_id: fileId,
        dir_id: dirId || null,
        size: source.size,
        stored_size: storedSize,
        volumes,
        resumed,
      },
      `put ${oneLine(name)}  ${formatBytes(source.size)}  ${fileId}${again}`,
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
  const hint = 'without --pull the same command sends what is missing from here';
  return new CliError('pull', message, hint, 1, { cause: error });
}

async function sendFile(put: Put, file: Found): Promise<void> {
  const { invocation, lookup, szafa, progress } = put;
  const { out, signal } = invocation;
  const source = await fileSource(file.path);
  try {
    progress.resize(source.size - file.size);
    const dirId = await dirIdOf(put, file.folder);
    const there = await findSame(
      szafa,
      await lookup.list(dirId),
      { ...file, size: source.size, mtime: source.mtime },
      signal,
    );
    if (there) {
      const track = progress.start(file.name, source.size);
      track.end(true);
      put.tally.skipped++;
      const { path, name } = file;
      out.done(
        'skipped',
        { path, name, file_id: there.fileId, reason: 'already there' },
        `${oneLine(name)} is already there`,
      );
      return;
    }
    await send(put, source, file, source.mtime, dirId);
  } finally {
    await source.close();
  }
}

async function sendStdin(put: Put): Promise<void> {
  const { invocation, progress } = put;
  const { flags, signal } = invocation;
  const { dir } = flags;
  const source = await spool(process.stdin, { signal });
  try {
    const file = { path: STDIN, name: flags.name!, size: source.size };
    progress.expect(1, source.size);
    const dirId = await dirIdOf(put, dir === undefined || dir === ROOT ? undefined : dir);
    await send(put, source, file, Date.now(), dirId);
  } finally {
    await source.close?.();
  }
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
    lookup: new Lookup(szafa, signal),
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
      const options = { out, signal, parallel: transfers, about: ({ path }: Found) => path };
      await batch.run(files, options, (file) => sendFile(put, file));
    }
  } finally {
    progress.close();
  }
  summarize(out, 'put', put.tally, began);
  batch.finish();
};
