import {
  type Entry,
  type FileNode,
  type Folder,
  isAhead,
  isWithin,
  joinPath,
  lastOf,
  type Metadata,
  parentOf,
  plainNameOf,
  type RemoteFile,
  recordsOf,
  type Szafa,
  type SzafaError,
  safeSegments,
  type Tree,
} from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { isFatal } from '../../explain.ts';
import type { Output } from '../print/output.ts';
import { oneLine } from '../print/text.ts';
import type { Batch } from '../transfer/batch.ts';
import { fixedPart, isPattern, matches } from './glob.ts';
import { shownName, typedPath } from './paths.ts';

/** The service gives ids out: one that reads like a path must not be taken for that path. */
export const ID = /^[0-9a-f]{32}$/;

/** What an argument names: a file, by its path or one of its versions by the ID, or a folder. */
export type Target = { file: FileNode; version?: Entry } | { folder: Folder };

export interface Named {
  targets: Target[];
  /** The folder that they are named in: below it their paths are their own. */
  base: string;
  kind: 'file' | 'folder' | 'pattern';
}

/** What somebody means by a path, a pattern or an ID; an error where that is nothing. What is there under its very name comes first. */
export function named(tree: Tree, text: string, out: Output): Named {
  const path = typedPath(text);
  const file = text.endsWith('/') ? undefined : tree.file(path);
  const version = file?.verified || !ID.test(text) ? undefined : versionOf(tree, text);
  const folder = tree.folder(path);
  // What has the name of a folder by the service's word alone does not stand in its way.
  const own = file && (file.verified || !folder) ? { file } : undefined;
  const exact: Target | undefined = version ?? own ?? (folder && { folder });
  const base = parentOf(path);
  if (exact) {
    if ('file' in exact) tellUnproven(exact.file, out);
    return { targets: [exact], base, kind: 'file' in exact ? 'file' : 'folder' };
  }
  if (!isPattern(path)) throw missing(tree, path);
  const targets = [...matches<FileNode, Folder>(tree.top, path)];
  if (targets.length === 0) {
    const hint = '* and ? stand for letters of a name, ** for folders; szafa ls -R shows all paths';
    throw new CliError('no-file', `nothing on the server fits ${shownName(text)}`, hint);
  }
  for (const target of targets) if ('file' in target) tellUnproven(target.file, out);
  return { targets, base: fixedPart(path), kind: 'pattern' };
}

function versionOf(tree: Tree, id: string): Target | undefined {
  for (const file of tree.files()) {
    const version = recordsOf(file).find(({ fileId }) => fileId === id);
    if (version) return { file, version };
  }
  return undefined;
}

/** What has a path by the service's word alone never stands in for what proves it. */
function tellUnproven({ path, unproven }: FileNode, out: Output): void {
  for (const { fileId } of unproven) {
    const message = `ignoring a file that claims the path ${shownName(path)} without proof (${oneLine(fileId)})`;
    out.note('not-verified', message, { path, file_id: fileId });
  }
}

function missing(tree: Tree, path: string): Error {
  // With a wrong passphrase no name can be read, and "not there" would be misleading.
  const files = tree.files();
  const locked = files.find(({ problem }) => problem?.code === 'wrong-password');
  if (locked) return locked.problem!;
  const alike = files.filter(({ name }) => name === path).slice(0, 3);
  const hint =
    alike.length > 0
      ? `write the whole path: ${alike.map((file) => oneLine(file.path)).join(' or ')}`
      : 'szafa ls shows what is there, szafa find looks for a name';
  return new CliError('no-file', `there is no file or folder ${shownName(path)}`, hint);
}

/** All targets of all arguments; what is not there is a failure of its own. */
export function namedAll(tree: Tree, { args, out, signal }: Invocation, batch: Batch): Named[] {
  const all: Named[] = [];
  for (const arg of new Set(args)) {
    try {
      all.push(named(tree, arg, out));
    } catch (error) {
      if (signal.aborted || isFatal(error)) throw error;
      batch.fail(error, arg);
    }
  }
  return all;
}

/** A file that is read. */
export interface Chosen {
  path: string;
  entry: Entry;
  /** The files that it is the newest of, as far as the list tells. */
  among: readonly Entry[];
  /** The folder that it was named in, and its path below that. */
  base: string;
  below: string;
  /** As much of that as was named: a link may not lead out of it. */
  top: string;
  /** It was named by its ID, and so in no folder. */
  byId: boolean;
}

export interface Choice {
  files: Chosen[];
  /** One file was named, and not by a pattern. */
  single: boolean;
  /** Those that would otherwise be lost. */
  emptyFolders: ChosenFolder[];
  /** Those that something is kept of, empty or not. */
  recorded: ChosenFolder[];
}

export interface ChosenFolder {
  path: string;
  /** As of the files. */
  base: string;
  below: string;
  markers: Entry[];
}

/** The files behind the arguments, those of folders at any depth: of each the newest version, or all of them. */
export function chooseFiles(
  tree: Tree,
  invocation: Invocation,
  batch: Batch,
  versions: 'newest' | 'all' = 'newest',
): Choice {
  const files = new Map<string, Chosen>();
  const emptyFolders = new Map<string, ChosenFolder>();
  const recorded = new Map<string, ChosenFolder>();
  const all = namedAll(tree, invocation, batch);
  for (const { targets, base } of all) {
    const below = (path: string) => belowBase(path, base);
    const add = (file: FileNode, top: string, some: Entry[], byId = false) => {
      const { path } = file;
      for (const entry of some) {
        const among = versions === 'all' || byId ? [entry] : file.versions;
        if (!files.has(entry.fileId))
          files.set(entry.fileId, { path, entry, among, base, below: below(path), top, byId });
      }
    };
    for (const target of targets) {
      if ('file' in target) {
        const { file, version = file.entry } = target;
        const byId = target.version !== undefined;
        add(file, '', versions === 'all' && !byId ? file.versions : [version], byId);
      } else {
        const top = target.folder === tree.top ? '' : below(target.folder.path);
        for (const file of tree.within(target.folder)) {
          add(file, top, versions === 'all' ? recordsOf(file) : [file.entry]);
        }
        for (const { path, markers } of emptyWithin(target.folder)) {
          if (path !== base) emptyFolders.set(path, { path, base, below: below(path), markers });
        }
        for (const { path, markers } of tree.foldersWithin(target.folder)) {
          if (path !== base && markers.length > 0)
            recorded.set(path, { path, base, below: below(path), markers });
        }
      }
    }
  }
  const { args } = invocation;
  const single = args.length === 1 && all[0]?.kind === 'file';
  return {
    files: [...files.values()],
    single,
    emptyFolders: [...emptyFolders.values()],
    recorded: [...recorded.values()],
  };
}

const belowBase = (path: string, base: string) => (base === '' ? path : path.slice(base.length + 1));

/** It came by a request: a visitor named it, and nothing of it is taken for the owner's word. */
export const isDelivered = ({ source = '' }: Metadata) => source.startsWith('request/');

/** The same by the path that is sealed into the file: of a plain name the service keeps only a part. What the owner did not name is cleaned. */
export function sealedBelow({ entry, base, below }: Chosen, metadata: Metadata): string {
  const { name } = metadata;
  const isOwnPath = entry.verified || isWithin(name, base);
  if (!isOwnPath) return safeSegments(below).join('/');
  const path = entry.verified ? below : belowBase(name, base);
  return isDelivered(metadata) ? joinPath(parentOf(path), safeSegments(lastOf(path))[0]!) : path;
}

/** Folders with nothing in them, which would otherwise be lost. */
export function* emptyWithin(folder: Folder): Generator<Folder> {
  if (folder.folders.length === 0 && folder.files.length === 0) yield folder;
  for (const inner of folder.folders) yield* emptyWithin(inner);
}

/** Whether a file with a plain name is shown in the folder that the path sealed into it begins with: that is the service's word alone. */
function isInPlace({ verified, path }: Entry, { name }: Metadata): boolean {
  const topOf = (one: string) => (one.includes('/') ? plainNameOf(one.split('/')[0]!) : undefined);
  return verified || topOf(path) === topOf(name) || path === plainNameOf(name);
}

function elsewhere({ fileId, path }: Entry, { name }: Metadata): CliError {
  const message = `what the server shows as ${shownName(path)} is ${shownName(name)}, by what is sealed into it`;
  // What is no ID is not for a shell.
  const next = ID.test(fileId)
    ? `szafa get ${fileId} gets it wherever it is`
    : 'szafa ls shows what is there';
  return new CliError(
    'misplaced',
    message,
    `it was moved meanwhile, or the server has it in a wrong folder; ${next}`,
  );
}

/** Of several files with one plain name the list does not tell which is the newest: their headers do. */
export async function newestOf(
  szafa: Szafa,
  versions: readonly Entry[],
  signal: AbortSignal,
): Promise<Entry> {
  const [first] = versions as [Entry];
  if (first.verified || versions.length === 1) return first;
  const opened = await szafa.versions(versions, { signal });
  // One that does not open may be the newest.
  const wrong = opened.find(({ problem }) => problem)?.problem;
  if (wrong) throw wrong;
  return opened[0]?.entry ?? first;
}

/** Opens a chosen file, which is known as the newest then. A name in the list that belongs to another file is as bad as a wrong volume. */
export async function openChosen(
  szafa: Szafa,
  file: Chosen,
  { out, signal }: Invocation,
): Promise<RemoteFile> {
  file.entry = await newestOf(szafa, file.among, signal);
  const { entry, base, top } = file;
  const { fileId, record, problem } = entry;
  if (problem) throw problem;
  const remote = await szafa.openFile(fileId, { record, signal });
  const { metadata } = remote;
  if (!isInPlace(entry, metadata)) {
    const wrong = elsewhere(entry, metadata);
    if (base !== '' || top !== '') throw wrong;
    // The files of a removed folder are at the top.
    out.note(wrong.code, wrong.message, { path: entry.path, file_id: fileId });
  }
  if (isAhead(metadata)) {
    const message = `${oneLine(metadata.name)} has a time more than a day in the future: is a clock wrong?`;
    out.note('ahead', message, { path: metadata.name, file_id: fileId, added: metadata.added });
  }
  return remote;
}

/** A file that does not prove its path, and why. */
export interface Unproven {
  entry: Entry;
  problem: SzafaError | CliError;
}

/** Before files are changed by their paths: none is a path of an earlier time, and where one is not proved the file itself must say that it is its own. */
export async function unprovenOf(
  szafa: Szafa,
  entries: readonly Entry[],
  signal: AbortSignal,
): Promise<Unproven[]> {
  const replayed = entries.flatMap((entry) =>
    entry.verified && entry.problem ? [{ entry, problem: entry.problem }] : [],
  );
  const doubtful = entries.filter(({ verified }) => !verified);
  // Without keys there is nothing to prove it by, and nothing that could be read either.
  if (doubtful.length === 0 || !szafa.keys.unlocked) return replayed;
  const versions = await szafa.versions(doubtful, { signal });
  const unproven = versions.flatMap(({ entry, metadata, problem }) => {
    const wrong =
      problem ?? (metadata && entry.dirId && !isInPlace(entry, metadata) && elsewhere(entry, metadata));
    return wrong ? [{ entry, problem: wrong }] : [];
  });
  return [...replayed, ...unproven];
}

export async function prove(szafa: Szafa, entries: readonly Entry[], signal: AbortSignal): Promise<void> {
  const [first] = await unprovenOf(szafa, entries, signal);
  if (first) throw first.problem;
}
