import { lstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  ApiError,
  type AttributesChange,
  ConflictError,
  diskPath,
  exactTime,
  type FileSource,
  fileSource,
  isSameTime,
  numberedPath,
  type Source,
  SzafaError,
  type Tree,
} from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';
import { type Existing, findExisting, type Opened, versionsAt } from '../../select/existing.ts';
import type { Planned } from '../../select/plan.ts';
import type { Put } from './context.ts';
import { removeDuplicatesOf } from './duplicates.ts';
import { NOTHING, send } from './send.ts';

/** Uploads a file, a link or what is kept of a folder, unless that is there already. */
export async function putOne(put: Put, file: Planned): Promise<void> {
  const tree = await put.lookup.near(file.to);
  if (file.kind === 'folder') return putFolder(put, file, tree);
  if (file.kind === 'link') return putLink(put, file, file.target, tree);
  return put.hardlinks.inOrder(file.inode, () => openAndPut(put, file, tree));
}

async function openAndPut(put: Put, file: Planned, tree: Tree): Promise<void> {
  let planned = file.size;
  await whileChanging(file.path, put.invocation.signal, async (source) => {
    put.progress.resize(source.size - planned);
    // An attempt that failed has left the sum.
    planned = 0;
    await putFile(put, source, { ...file, size: source.size }, tree);
  });
}

/** Opens a file that was there when the folder was read. */
async function openFound(path: string): Promise<FileSource> {
  try {
    return await fileSource(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new CliError(
      'file-removed',
      'the file was removed before it could be read',
      'nothing of it was stored',
    );
  }
}

/** How often a file is read that changes while it is read, and the pauses between. */
const PAUSES_MS = [200, 1000];

/** Opens a file and works on it; one that changes meanwhile is opened again, a few times. */
export async function whileChanging(
  path: string,
  signal: AbortSignal,
  work: (source: FileSource) => Promise<void>,
): Promise<void> {
  for (const pause of [...PAUSES_MS, undefined]) {
    const source = await openFound(path);
    try {
      return await work(source);
    } catch (error) {
      const changed = error instanceof SzafaError && error.code === 'file-changed';
      if (!changed || pause === undefined) throw error;
      await sleep(pause, undefined, { signal });
    } finally {
      await source.close();
    }
  }
}

async function putFile(put: Put, source: FileSource, file: Planned, tree: Tree): Promise<void> {
  const { flags } = put.invocation;
  const versions = await versionsOf(put, file.to, tree);
  const there = flags.force || versions.length === 0 ? {} : await meet(put, source, file, versions);
  if (there.same) {
    // Of an earlier put that was stopped before it could look.
    await removeDuplicatesOf(put, file, versions);
    return skip(put, source, file, there.same);
  }
  if (flags['skip-existing'] && tree.file(file.to)) return pass(put, source, file);
  if (!flags.both || !tree.file(file.to)) {
    return send(put, source, file, { ...attributesOf(put, source), after: versions[0]?.metadata.gen });
  }
  const beside = await freePlace(put, source, file, tree);
  if ('same' in beside) await skip(put, source, { ...file, to: beside.same.metadata.name }, beside.same);
  else await send(put, source, { ...file, to: beside.to }, attributesOf(put, source));
}

function attributesOf({ hardlinks }: Put, source: FileSource, kept?: string) {
  const { mtime, nanos, mode, sparse } = source;
  return { mtime, nanos, mode, ...(sparse && { sparse }), hardlink: hardlinks.idOf(source, kept) };
}

/** A name beside the one that is taken; or that the same is there under such a name, from an earlier time. */
async function freePlace(
  put: Put,
  source: FileSource,
  file: Planned,
  tree: Tree,
): Promise<{ to: string } | { same: NonNullable<Existing['same']> }> {
  for (let number = 2; ; number++) {
    const to = numberedPath(file.to, number);
    const versions = await versionsOf(put, to, tree);
    const { mtime, nanos } = source;
    const wanted = { to, origin: file.origin!, mtime, nanos };
    const options = { checksum: put.invocation.flags.checksum ?? false, signal: put.invocation.signal };
    const { same } = await findExisting(put.szafa, versions, wanted, source, options);
    if (same) return { same };
    if (!tree.has(to) && !put.paths.has(to)) {
      put.paths.add(to);
      return { to };
    }
  }
}

function versionsOf({ szafa, invocation }: Put, path: string, tree: Tree): Promise<Opened[]> {
  return versionsAt(szafa, path, tree, invocation.signal);
}

/** What is there under this path; files that came from another place are told. */
async function meet(put: Put, source: FileSource, file: Planned, versions: Opened[]): Promise<Existing> {
  const { invocation, szafa, origins } = put;
  const { flags, signal } = invocation;
  const { to, from } = file;
  const origin = file.origin!;
  const { mtime, nanos } = source;
  const wanted = { to, origin, mtime, nanos };
  const existing = await findExisting(szafa, versions, wanted, source, {
    checksum: flags.checksum ?? false,
    signal,
  });
  if (existing.from !== undefined) origins.tell(to, from, existing.from, origin);
  return existing;
}

/** The bytes are there. What else has changed is sealed again, if it is this file's own. */
async function skip(
  put: Put,
  source: FileSource,
  file: Planned,
  { entry, metadata, by }: NonNullable<Existing['same']>,
): Promise<void> {
  const { out, flags } = put.invocation;
  const { path, to, origin } = file;
  passed(put, file, source.size, { file_id: entry.fileId, by });
  if (metadata.source !== origin) return;
  const { mode, hardlink, mtime, nanos = 0 } = attributesOf(put, source, metadata.hardlink);
  const kept = metadata.mode;
  const isOtherMode = kept !== undefined && mode !== undefined && kept !== mode;
  const change: AttributesChange = {
    ...(isOtherMode && { mode }),
    ...(hardlink !== metadata.hardlink && { hardlink }),
    ...(!isSameTime(metadata, { mtime, nanos }) && { mtime, nanos }),
  };
  if (Object.keys(change).length === 0) return;
  const isChanged = flags['dry-run'] || (await setAttributes(put, { entry, path: to }, change));
  if (!isOtherMode) return;
  const octal = (bits: number) => bits.toString(8).padStart(4, '0');
  const end = isChanged ? 'only that is changed' : '--force uploads it again';
  const message = `${oneLine(to)} has mode ${octal(kept)} on the server and ${octal(mode)} here; ${end}`;
  out.note('mode', message, { path, to, mode, kept_mode: kept });
}

/** False where this token may only add files, or another device has changed the file in this moment. */
async function setAttributes(
  { szafa, invocation: { signal } }: Put,
  file: Parameters<typeof szafa.setAttributes>[0],
  change: AttributesChange,
): Promise<boolean> {
  try {
    await szafa.setAttributes(file, change, { signal });
    return true;
  } catch (error) {
    if (error instanceof ConflictError || (error instanceof ApiError && error.kind === 'out-of-scope'))
      return false;
    throw error;
  }
}

/** With --skip-existing: something is there, whatever it is. */
function pass(put: Put, { size }: Source, file: Planned): void {
  passed(put, file, size, { by: 'path' });
}

function passed(put: Put, { path, to }: Planned, size: number, more: Record<string, unknown>): void {
  put.progress.start(to, size).end(true);
  put.tally.skipped++;
  const fields = { path, to, reason: 'already there', ...more };
  put.invocation.out.done('skipped', fields, `${oneLine(to)} is already there`);
}

/** A link is what it points to. */
async function putLink(put: Put, file: Planned, target: string, tree: Tree): Promise<void> {
  const versions = await versionsOf(put, file.to, tree);
  const [newest] = versions;
  const { flags } = put.invocation;
  const isSame = newest?.metadata.link === target && !flags.force;
  if (isSame) await removeDuplicatesOf(put, file, versions);
  const time = exactTime(lstatSync(diskPath(file.path), { bigint: true }).mtimeNs);
  if (isSame || (newest && flags['skip-existing'])) {
    passed(put, file, 0, { file_id: newest.entry.fileId, by: isSame ? 'content' : 'path' });
    const isOwn = isSame && newest.metadata.source === file.origin && !flags['dry-run'];
    if (!isOwn || isSameTime(newest.metadata, time)) return;
    await setAttributes(put, { entry: newest.entry, path: file.to }, { nanos: 0, ...time });
    return;
  }
  await send(put, NOTHING, file, { ...time, after: newest?.metadata.gen });
}

/** One that is not empty is there with its files: of that only mode and times are kept, which is nothing to tell. */
async function putFolder(put: Put, file: Planned & { kind: 'folder' }, tree: Tree): Promise<void> {
  const { flags, out, signal } = put.invocation;
  const { path, to, isEmpty, attributes } = file;
  const folder = to.slice(0, -1);
  const isThere = tree.folder(folder) !== undefined;
  if (!flags['dry-run'] && !(isThere && flags['skip-existing'])) {
    await put.szafa.recordFolder(folder, { tree, ...attributes, plain: flags['plain-names'], signal });
  }
  if (!isEmpty) return;
  if (isThere) return passed(put, file, 0, { by: 'path' });
  if (flags['dry-run'])
    out.done('planned', { action: 'upload', path, to, size: 0 }, `would put ${oneLine(to)}`);
  else out.done('folder', { path, to }, `put ${oneLine(to)}`);
  put.progress.start(to, 0).end(true);
  put.tally.files++;
}
