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

/** The form of a file ID. The server chooses IDs, and one that looks like a path or a shell command must not be used as one. */
export const ID = /^[0-9a-f]{32}$/;

/** A file or a folder. `version` is set if the file was given by the ID of a version. */
export type Target = { file: FileNode; version?: Entry } | { folder: Folder };

export const targetPath = (target: Target) => ('file' in target ? target.file.path : target.folder.path);

export interface Match {
  targets: Target[];
  /** The folder that the argument refers to: downloads keep the paths below it. */
  base: string;
  kind: 'file' | 'folder' | 'pattern';
}

/** Finds the targets of a path, an ID or a pattern. A file or folder with exactly this name wins over a pattern. */
export function findTargets(tree: Tree, text: string, out: Output): Match {
  const path = typedPath(text);
  const file = text.endsWith('/') ? undefined : tree.file(path);
  const version = file?.verified || !ID.test(text) ? undefined : findVersion(tree, text);
  const folder = tree.folder(path);
  // An unverified file must not hide a folder of the same name: the server may have made the file up.
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

/** Notes unverified files that claim the same path as a verified one. */
function noteUnproven(targets: readonly Target[], out: Output): void {
  for (const { path, unproven } of targets.flatMap((target) => ('file' in target ? target.file : []))) {
    for (const { fileId } of unproven) {
      const message = `ignoring a file that claims the path ${shownName(path)} without proof (${oneLine(fileId)})`;
      out.note('not-verified', message, { path, file_id: fileId });
    }
  }
}

function notFound(tree: Tree, path: string): Error {
  // With a wrong passphrase no name can be read, so "not found" would be misleading.
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

/** Finds the targets of all arguments. An argument without a match is reported and does not stop the others. */
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

/** Makes a command without arguments work on everything. */
export function orEverything(invocation: Invocation): Invocation {
  return invocation.args.length > 0 ? invocation : { ...invocation, args: ['/'] };
}

/** A file to read. */
export interface SelectedFile {
  path: string;
  entry: Entry;
  /** Candidates for the newest version: `entry` is only the newest as listed by the server, see `findNewest`. */
  among: readonly Entry[];
  /** The folder that the argument refers to, and the path below it. */
  base: string;
  below: string;
  /** Path below `base` of the selected folder that contains the file. A link from a visitor must not lead out of it. */
  top: string;
  /** The file was given by ID, so its folder is not kept. */
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
  /** Exactly one file was given, and not by a pattern. */
  single: boolean;
  /** Folders without files or subfolders, which must be created explicitly. */
  emptyFolders: SelectedFolder[];
  /** Folders with stored attributes, empty or not. */
  recorded: SelectedFolder[];
}

/** Selects the files of all arguments, including everything in folders: the newest version of each file, or all versions. */
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

/** Whether the file came from a file request. A visitor chose its name, so the name is not trusted. */
export const isDelivered = ({ source = '' }: Metadata) => source.startsWith('request/');

/** Returns the path below `base`, taken from the sealed path: the server stores only part of a plain name. Cleans untrusted names. */
export function sealedBelow({ entry, base, below }: SelectedFile, metadata: Metadata): string {
  const { name } = metadata;
  const isOwnPath = entry.verified || isWithin(name, base);
  if (!isOwnPath) return safeSegments(below).join('/');
  const path = entry.verified ? below : belowBase(name, base);
  return isDelivered(metadata) ? joinPath(parentOf(path), safeSegments(lastOf(path))[0]!) : path;
}

/** Whether a file is listed in the folder of its sealed path. The server could list a file with a plain name anywhere. */
function isInSealedFolder({ verified, path }: Entry, { name }: Metadata): boolean {
  const topOf = (one: string) => (one.includes('/') ? plainNameOf(one.split('/')[0]!) : undefined);
  return verified || topOf(path) === topOf(name) || path === plainNameOf(name);
}

function misplaced({ fileId, path }: Entry, { name }: Metadata): CliError {
  const message = `the server shows ${shownName(path)}, but the file is sealed as ${shownName(name)}`;
  // A malformed ID must not reach a shell.
  const next = ID.test(fileId) ? `szafa get ${fileId} downloads it` : 'szafa ls shows what is there';
  const hint = `it was moved in the meantime, or the server has it in a wrong folder; ${next}`;
  return new CliError('misplaced', message, hint);
}

/** Finds the newest version. With a plain name the listed order is not trusted, so the headers decide. */
export async function findNewest({ szafa, signal }: Account, versions: readonly Entry[]): Promise<Entry> {
  const [first] = versions as [Entry];
  if (first.verified || versions.length === 1) return first;
  const opened = await szafa.versions(versions, { signal });
  // A version that does not open could be the newest.
  const wrong = opened.find(({ problem }) => problem)?.problem;
  if (wrong) throw wrong;
  return opened[0]?.entry ?? first;
}

/** Opens the newest version of a file. Fails if the server lists it in a folder other than the sealed one. */
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
    // Only note it in the root folder: the files of a removed folder end up there.
    out.note(wrong.code, wrong.message, { path: entry.path, file_id: fileId });
  }
  if (isAhead(metadata)) {
    const message = `${oneLine(metadata.name)} has a time more than a day in the future: is a clock wrong?`;
    out.note('ahead', message, { path: metadata.name, file_id: fileId, added: metadata.added });
  }
  return remote;
}

/** Finds files that must not be changed by path, because the path is outdated or not the one sealed into the file. */
export async function findUnproven({ szafa, signal }: Account, entries: readonly Entry[]) {
  const replayed = entries.flatMap((entry) =>
    entry.verified && entry.problem ? [{ entry, problem: entry.problem }] : [],
  );
  const doubtful = entries.filter(({ verified }) => !verified);
  // Without keys no path can be proven.
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
