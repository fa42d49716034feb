import type { Entry, FileNode, Folder, Metadata, RemoteFile, Tree } from '@szafa/client/node';
import {
  isAhead,
  isWithin,
  joinPath,
  lastOf,
  parentOf,
  plainNameOf,
  recordsOf,
  safeSegments,
} from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError } from '../../errors.ts';
import { isFatal } from '../../explain.ts';
import type { AccountInvocation } from '../account/connection.ts';
import type { Output } from '../print/output.ts';
import { oneLine, shownName, typedPath } from '../print/text.ts';
import { fixedPart, isPattern, matches } from './glob.ts';

type Account = Pick<AccountInvocation, 'szafa' | 'signal'>;

/** The server makes up IDs: one that reads like a path must not be taken for that path. */
export const ID = /^[0-9a-f]{32}$/;

/** A file, by its path or by the ID of one of its versions, or a folder. */
export type Target = { file: FileNode; version?: Entry } | { folder: Folder };

export const targetPath = (target: Target) => ('file' in target ? target.file.path : target.folder.path);

export interface Match {
  targets: Target[];
  /** The folder that they are named in: their paths below it are kept. */
  base: string;
  kind: 'file' | 'folder' | 'pattern';
}

/** Finds the targets of a path, an ID or a pattern. A file of exactly this name comes before a pattern. */
export function findTargets(tree: Tree, text: string, out: Output): Match {
  const path = typedPath(text);
  const file = text.endsWith('/') ? undefined : tree.file(path);
  const version = file?.verified || !ID.test(text) ? undefined : findVersion(tree, text);
  const folder = tree.folder(path);
  // A file that has the name of a folder by the server's word alone does not hide the folder.
  const own = file && (file.verified || !folder) ? { file } : undefined;
  const exact: Target | undefined = version ?? own ?? (folder && { folder });
  if (exact) {
    noteUnproven([exact], out);
    return { targets: [exact], base: parentOf(path), kind: 'file' in exact ? 'file' : 'folder' };
  }
  if (!isPattern(path)) throw notFound(tree, path);
  const targets = [...matches(tree.top, path)];
  if (targets.length === 0) {
    const hint = '* and ? stand for letters of a name, ** for folders; szafa ls -R shows all paths';
    throw new CliError('no-file', `nothing on the server matches ${shownName(text)}`, hint);
  }
  noteUnproven(targets, out);
  return { targets, base: fixedPart(path), kind: 'pattern' };
}

function findVersion(tree: Tree, id: string): Target | undefined {
  for (const file of tree.files()) {
    const version = recordsOf(file).find(({ fileId }) => fileId === id);
    if (version) return { file, version };
  }
  return undefined;
}

/** Reports files that have a path by the server's word alone, beside one that proves it. */
function noteUnproven(targets: readonly Target[], out: Output): void {
  for (const { path, unproven } of targets.flatMap((target) => ('file' in target ? target.file : []))) {
    for (const { fileId } of unproven) {
      const message = `ignoring a file that claims the path ${shownName(path)} without proof (${oneLine(fileId)})`;
      out.note('not-verified', message, { path, file_id: fileId });
    }
  }
}

function notFound(tree: Tree, path: string): Error {
  // With a wrong passphrase no name can be read, and "not found" would be misleading.
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

/** Finds the targets of all arguments; an argument without any is a failure of its own. */
export function findAllTargets(tree: Tree, { args, out, batch, signal }: Invocation): Match[] {
  const all: Match[] = [];
  for (const arg of new Set(args)) {
    try {
      all.push(findTargets(tree, arg, out));
    } catch (error) {
      if (signal.aborted || isFatal(error)) throw error;
      batch.fail(error, arg);
    }
  }
  return all;
}

/** Without arguments, everything. */
export function orEverything(invocation: Invocation): Invocation {
  return invocation.args.length > 0 ? invocation : { ...invocation, args: ['/'] };
}

/** A file to read. */
export interface SelectedFile {
  path: string;
  entry: Entry;
  /** The versions that it is the newest of, as far as the list tells. */
  among: readonly Entry[];
  /** The folder that it was named in, and its path below that. */
  base: string;
  below: string;
  /** The named folder above it, below `base`: a link may not lead out of it. */
  top: string;
  /** Named by its ID, and so in no folder. */
  byId: boolean;
}

export interface SelectedFolder {
  path: string;
  base: string;
  below: string;
  markers: Entry[];
}

export interface Selection {
  files: SelectedFile[];
  /** One file was named, and not by a pattern. */
  single: boolean;
  /** Folders that no file brings along. */
  emptyFolders: SelectedFolder[];
  /** Folders with stored attributes, empty or not. */
  recorded: SelectedFolder[];
}

/** Selects the files of all arguments, those of folders at any depth: of each the newest version, or all of them. */
export function selectFiles(
  tree: Tree,
  invocation: Invocation,
  versions: 'newest' | 'all' = 'newest',
): Selection {
  const files = new Map<string, SelectedFile>();
  const emptyFolders = new Map<string, SelectedFolder>();
  const recorded = new Map<string, SelectedFolder>();
  const isAll = versions === 'all';
  const all = findAllTargets(tree, invocation);
  for (const { targets, base } of all) {
    const below = (path: string) => belowBase(path, base);
    const add = (file: FileNode, top: string, some: Entry[], byId = false) => {
      const { path } = file;
      for (const entry of some) {
        const among = isAll || byId ? [entry] : file.versions;
        const selected = { path, entry, among, base, below: below(path), top, byId };
        if (!files.has(entry.fileId)) files.set(entry.fileId, selected);
      }
    };
    for (const target of targets) {
      if ('file' in target) {
        const { file, version = file.entry } = target;
        const byId = target.version !== undefined;
        add(file, '', isAll && !byId ? file.versions : [version], byId);
        continue;
      }
      const { folder } = target;
      const top = folder === tree.top ? '' : below(folder.path);
      for (const file of tree.within(folder)) add(file, top, isAll ? recordsOf(file) : [file.entry]);
      for (const inner of tree.foldersWithin(folder)) {
        const { path, markers } = inner;
        if (path === base) continue;
        const selected = { path, base, below: below(path), markers };
        if (inner.folders.length === 0 && inner.files.length === 0) emptyFolders.set(path, selected);
        if (markers.length > 0) recorded.set(path, selected);
      }
    }
  }
  return {
    files: [...files.values()],
    single: invocation.args.length === 1 && all[0]?.kind === 'file',
    emptyFolders: [...emptyFolders.values()],
    recorded: [...recorded.values()],
  };
}

const belowBase = (path: string, base: string) => (base === '' ? path : path.slice(base.length + 1));

/** It came by a file request: a visitor named it, so its name is not the owner's word. */
export const isDelivered = ({ source = '' }: Metadata) => source.startsWith('request/');

/** The path below the base, by the path sealed into the file: of a plain name the server keeps only a part. Cleans names that the owner did not give. */
export function sealedBelow({ entry, base, below }: SelectedFile, metadata: Metadata): string {
  const { name } = metadata;
  const isOwnPath = entry.verified || isWithin(name, base);
  if (!isOwnPath) return safeSegments(below).join('/');
  const path = entry.verified ? below : belowBase(name, base);
  return isDelivered(metadata) ? joinPath(parentOf(path), safeSegments(lastOf(path))[0]!) : path;
}

/** Whether a file with a plain name is in the folder that its sealed path begins with: the list is the server's word alone. */
function isInSealedFolder({ verified, path }: Entry, { name }: Metadata): boolean {
  const topOf = (one: string) => (one.includes('/') ? plainNameOf(one.split('/')[0]!) : undefined);
  return verified || topOf(path) === topOf(name) || path === plainNameOf(name);
}

function misplaced({ fileId, path }: Entry, { name }: Metadata): CliError {
  const message = `the server shows ${shownName(path)}, but the file is sealed as ${shownName(name)}`;
  // An ID that is none must not get into a shell.
  const next = ID.test(fileId) ? `szafa get ${fileId} downloads it` : 'szafa ls shows what is there';
  const hint = `it was moved in the meantime, or the server has it in a wrong folder; ${next}`;
  return new CliError('misplaced', message, hint);
}

/** Finds the newest of several versions. With a plain name their headers tell, not the list. */
export async function findNewest({ szafa, signal }: Account, versions: readonly Entry[]): Promise<Entry> {
  const [first] = versions as [Entry];
  if (first.verified || versions.length === 1) return first;
  const opened = await szafa.versions(versions, { signal });
  // One that does not open may be the newest.
  const wrong = opened.find(({ problem }) => problem)?.problem;
  if (wrong) throw wrong;
  return opened[0]?.entry ?? first;
}

/** Opens the newest version of a file. A listed name that belongs to another file is as bad as a wrong volume. */
export async function openSelected(account: AccountInvocation, file: SelectedFile): Promise<RemoteFile> {
  const { szafa, out, signal } = account;
  file.entry = await findNewest(account, file.among);
  const { entry, base, top } = file;
  const { fileId, record, problem } = entry;
  if (problem) throw problem;
  const remote = await szafa.openFile(fileId, { record, signal });
  const { metadata } = remote;
  if (!isInSealedFolder(entry, metadata)) {
    const wrong = misplaced(entry, metadata);
    if (base !== '' || top !== '') throw wrong;
    // The files of a removed folder are in the root folder.
    out.note(wrong.code, wrong.message, { path: entry.path, file_id: fileId });
  }
  if (isAhead(metadata)) {
    const message = `${oneLine(metadata.name)} has a time more than a day in the future: is a clock wrong?`;
    out.note('ahead', message, { path: metadata.name, file_id: fileId, added: metadata.added });
  }
  return remote;
}

/** Finds files that must not be changed by their paths: the path is outdated, or not the one sealed into the file. */
export async function findUnproven({ szafa, signal }: Account, entries: readonly Entry[]) {
  const replayed = entries.flatMap((entry) =>
    entry.verified && entry.problem ? [{ entry, problem: entry.problem }] : [],
  );
  const doubtful = entries.filter(({ verified }) => !verified);
  // Without keys nothing can be proved, and nothing could be read either.
  if (doubtful.length === 0 || !szafa.keys.unlocked) return replayed;
  const versions = await szafa.versions(doubtful, { signal });
  const unproven = versions.flatMap(({ entry, metadata, problem }) => {
    const isMisplaced = metadata && entry.dirId && !isInSealedFolder(entry, metadata);
    const wrong = problem ?? (isMisplaced ? misplaced(entry, metadata) : undefined);
    return wrong ? [{ entry, problem: wrong }] : [];
  });
  return [...replayed, ...unproven];
}

export async function requireProven(account: Account, entries: readonly Entry[]): Promise<void> {
  const [first] = await findUnproven(account, entries);
  if (first) throw first.problem;
}
