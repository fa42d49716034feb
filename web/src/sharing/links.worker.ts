/** Shares files of the account, by a link or with another account. */
import {
  type Folder,
  freePath,
  lastOf,
  type ShareItem,
  type Szafa,
  SzafaError,
  type Tree,
} from '@szafa/client';
import { cleanUsername } from '@szafa/protocol';
import type { ContactRow, LinkOptions, NewLink } from '../core/bridge/calls.ts';
import { drawQr } from '../core/qr-picture.worker.ts';
import { contactRow } from './received.worker.ts';

/** Yields the files of a folder, and markers for its empty folders, with paths below `name`. */
function* itemsIn(tree: Tree, folder: Folder, name: string): Generator<ShareItem> {
  const below = (path: string) => name + path.slice(folder.path.length);
  for (const { path, folders, files, markers } of tree.foldersWithin(folder)) {
    for (const file of files) yield { entry: file.entry, name: below(file.path) };
    const [marker] = markers;
    if (marker && folders.length + files.length === 0) yield { entry: marker, name: `${below(path)}/` };
  }
}

/** Returns the files at these paths, named without the folders above, which stay private. Equal names get numbers. */
export function shareItems({ tree }: { tree: Tree }, paths: readonly string[]): ShareItem[] {
  // A file may be selected together with its folder.
  const isInside = (path: string) =>
    paths.some((one) => one.endsWith('/') && one !== path && path.startsWith(one));
  const names = new Set<string>();
  const named = (name: string) => {
    const free = freePath(names, name);
    names.add(free);
    return free;
  };
  return [...new Set(paths)].flatMap((path): ShareItem[] => {
    const isFolder = path.endsWith('/');
    const folder = isFolder ? tree.folder(path.slice(0, -1)) : undefined;
    const file = isFolder ? undefined : tree.file(path);
    if (!folder && !file) throw new SzafaError('gone', 'this file is not in the list any more');
    if (isInside(path)) return [];
    if (file) return [{ entry: file.entry, name: named(file.name) }];
    return [...itemsIn(tree, folder!, named(lastOf(folder!.path)))];
  });
}

export interface ShareTask {
  signal: AbortSignal;
  onProgress(done: number, total: number): void;
}

const withExpiry = ({ expiresAt, ...options }: LinkOptions, task: ShareTask) => ({
  ...options,
  ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
  ...task,
});

export async function makeLink(
  szafa: Szafa,
  items: readonly ShareItem[],
  options: LinkOptions,
  task: ShareTask,
): Promise<NewLink> {
  const { link } = await szafa.shareLink(items, withExpiry(options, task));
  return { link, qrCode: await drawQr(link) };
}

export async function shareWith(
  szafa: Szafa,
  typedName: string,
  items: readonly ShareItem[],
  options: LinkOptions,
  task: ShareTask,
): Promise<ContactRow> {
  const username = cleanUsername(typedName);
  await szafa.shareWith(username, items, withExpiry(options, task));
  return contactRow((await szafa.rememberedContact(username))!);
}
