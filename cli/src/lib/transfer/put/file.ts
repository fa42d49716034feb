import { lstatSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AttributesChange, FileSource, Tree } from '@szafa/client/node';
import {
  ApiError,
  ConflictError,
  diskPath,
  exactTime,
  fileSource,
  isSameTime,
  numberedPath,
  SzafaError,
} from '@szafa/client/node';
import { CliError } from '../../../errors.ts';
import { oneLine } from '../../print/text.ts';
import { type ExistingFile, findExisting, type ReadableVersion, versionsAt } from '../../select/existing.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { Put } from './context.ts';
import { removeDuplicatesOf } from './duplicates.ts';
import { NO_BYTES, planUpload, send } from './send.ts';

/** Uploads a file, a link or the attributes of a folder, unless the server already has it. */
export async function putOne(put: Put, file: PlannedFile): Promise<void> {
  const tree = await put.lookup.near(file.to);
  if (file.kind === 'folder') return putFolder(put, file, tree);
  if (file.kind === 'link') return putLink(put, file, file.target, tree);
  let planned = file.size;
  return put.hardlinks.inOrder(file.inode, () =>
    whileChanging(file.path, put.run.invocation.signal, async (source) => {
      put.run.progress.resize(source.size - planned);
      // A failed attempt has already subtracted its size from the total.
      planned = 0;
      await putFile(put, source, { ...file, size: source.size }, tree);
    }),
  );
}

/** Opens a file that was listed earlier but may be gone by now. */
async function openFile(path: string): Promise<FileSource> {
  try {
    return await fileSource(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    const message = 'the file was removed before it could be read';
    throw new CliError('file-removed', message, 'nothing of it was stored');
  }
}

/** Pauses before reading a file again that changed while it was read. */
const PAUSES_MS = [200, 1000];

/** Opens a file and runs `work`; tries again a few times if the file changes while it is read. */
export async function whileChanging(
  path: string,
  signal: AbortSignal,
  work: (source: FileSource) => Promise<void>,
): Promise<void> {
  for (const pause of [...PAUSES_MS, undefined]) {
    const source = await openFile(path);
    try {
      return await work(source);
    } catch (error) {
      const isChanged = error instanceof SzafaError && error.code === 'file-changed';
      if (!isChanged || pause === undefined) throw error;
      await sleep(pause, undefined, { signal });
    } finally {
      await source.close();
    }
  }
}

async function putFile(put: Put, source: FileSource, file: PlannedFile, tree: Tree): Promise<void> {
  const { flags } = put.run.invocation;
  const versions = await versionsOf(put, file.to, tree);
  const existing =
    flags.force || versions.length === 0 ? {} : await findOnServer(put, source, file, versions);
  if (existing.from !== undefined) put.origins.report(file.to, file.from, existing.from, file.origin!);
  if (existing.same) {
    // An earlier put may have been interrupted before it removed duplicates.
    await removeDuplicatesOf(put, file, versions);
    return skipSame(put, source, file, existing.same);
  }
  if (flags['skip-existing'] && tree.file(file.to)) return skip(put, file, source.size, { by: 'path' });
  if (!flags.both || !tree.file(file.to)) {
    return send(put, source, file, { ...attributesOf(put, source), after: versions[0]?.metadata.gen });
  }
  const { to, same } = await findFreePath(put, source, file, tree);
  if (same) await skipSame(put, source, { ...file, to }, same);
  else await send(put, source, { ...file, to }, attributesOf(put, source));
}

function attributesOf({ hardlinks }: Put, source: FileSource, kept?: string) {
  const { mtime, nanos, mode, sparse } = source;
  return { mtime, nanos, mode, ...(sparse && { sparse }), hardlink: hardlinks.idOf(source, kept) };
}

/** Finds a numbered path that is free, or that already holds the same file. */
async function findFreePath(
  put: Put,
  source: FileSource,
  file: PlannedFile,
  tree: Tree,
): Promise<{ to: string; same?: ExistingFile['same'] }> {
  for (let number = 2; ; number++) {
    const to = numberedPath(file.to, number);
    const { same } = await findOnServer(put, source, { ...file, to }, await versionsOf(put, to, tree));
    if (same) return { to: same.metadata.name, same };
    if (!tree.has(to) && !put.paths.has(to)) {
      put.paths.add(to);
      return { to };
    }
  }
}

function versionsOf({ szafa, run }: Put, path: string, tree: Tree): Promise<ReadableVersion[]> {
  return versionsAt(szafa, path, tree, run.invocation.signal);
}

function findOnServer(put: Put, source: FileSource, file: PlannedFile, versions: ReadableVersion[]) {
  const { flags, signal } = put.run.invocation;
  const options = { origin: file.origin!, checksum: flags.checksum ?? false };
  return findExisting({ szafa: put.szafa, signal }, versions, source, options);
}

/** Skips a file whose content is on the server. Updates changed attributes if the file was uploaded from this local path. */
async function skipSame(
  put: Put,
  source: FileSource,
  file: PlannedFile,
  { entry, metadata, by }: NonNullable<ExistingFile['same']>,
): Promise<void> {
  const { out, flags } = put.run.invocation;
  const { path, to, origin } = file;
  skip(put, file, source.size, { file_id: entry.fileId, by });
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
  const end = isChanged ? 'only the mode is changed' : '--force uploads it again';
  const message = `${oneLine(to)} has mode ${octal(kept)} on the server and ${octal(mode)} here; ${end}`;
  out.note('mode', message, { path, to, mode, kept_mode: kept });
}

/** Returns false if the token may only add files, or if another device has just changed the file. */
async function setAttributes(
  { szafa, run }: Put,
  file: Parameters<typeof szafa.setAttributes>[0],
  change: AttributesChange,
): Promise<boolean> {
  try {
    await szafa.setAttributes(file, change, { signal: run.invocation.signal });
    return true;
  } catch (error) {
    if (error instanceof ConflictError || (error instanceof ApiError && error.kind === 'out-of-scope'))
      return false;
    throw error;
  }
}

function skip({ run }: Put, { path, to }: PlannedFile, size: number, more: Record<string, unknown>): void {
  run.progress.start(to, size).end(true);
  run.totals.skipped++;
  const fields = { path, to, reason: 'already there', ...more };
  run.invocation.out.done('skipped', fields, `${oneLine(to)} is already there`);
}

async function putLink(put: Put, file: PlannedFile, target: string, tree: Tree): Promise<void> {
  const versions = await versionsOf(put, file.to, tree);
  const [newest] = versions;
  const { flags } = put.run.invocation;
  const isSame = newest?.metadata.link === target && !flags.force;
  if (isSame) await removeDuplicatesOf(put, file, versions);
  const time = exactTime(lstatSync(diskPath(file.path), { bigint: true }).mtimeNs);
  if (isSame || (newest && flags['skip-existing'])) {
    skip(put, file, 0, { file_id: newest.entry.fileId, by: isSame ? 'content' : 'path' });
    const isOwn = isSame && newest.metadata.source === file.origin && !flags['dry-run'];
    if (!isOwn || isSameTime(newest.metadata, time)) return;
    await setAttributes(put, { entry: newest.entry, path: file.to }, { nanos: 0, ...time });
    return;
  }
  await send(put, NO_BYTES, file, { ...time, after: newest?.metadata.gen });
}

/** Stores the mode and time of a folder. Reports only empty folders: the others exist through their files. */
async function putFolder(put: Put, file: PlannedFile & { kind: 'folder' }, tree: Tree): Promise<void> {
  const { run, szafa } = put;
  const { flags, out, signal } = run.invocation;
  const { path, to, isEmpty, attributes } = file;
  const folder = to.slice(0, -1);
  const exists = tree.folder(folder) !== undefined;
  if (!flags['dry-run'] && !(exists && flags['skip-existing'])) {
    await szafa.recordFolder(folder, { tree, ...attributes, plain: flags['plain-names'], signal });
  }
  if (!isEmpty) return;
  if (exists) return skip(put, file, 0, { by: 'path' });
  if (flags['dry-run']) return planUpload(run, { path, to, size: 0 });
  out.done('folder', { path, to }, `put ${oneLine(to)}`);
  run.progress.start(to, 0).end(true);
  run.count(0);
}
