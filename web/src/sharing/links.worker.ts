/** What the account shares by links. */
import {
  displayName,
  type Folder,
  freePath,
  lastOf,
  type ShareItem,
  type Szafa,
  SzafaError,
  type Tree,
} from '@szafa/client';
import type { LinkWishes, ListedLink, MadeLink, Progress } from '../core/bridge/calls.ts';
import { drawQr } from '../core/qr-picture.worker.ts';

/** What a person has seen, and means when they point at it. */
interface Listed {
  tree: Tree;
}

/** The files of a folder under this name, and what stands for the folders in it that are empty. */
function* itemsOf({ tree }: Listed, folder: Folder, name: string): Generator<ShareItem> {
  const below = (path: string) => name + path.slice(folder.path.length);
  for (const { path, folders, files, markers } of tree.foldersWithin(folder)) {
    for (const file of files) yield { entry: file.entry, name: below(file.path) };
    const [marker] = markers;
    if (marker && folders.length + files.length === 0) yield { entry: marker, name: `${below(path)}/` };
  }
}

/** What visitors get of these paths: by their names, with a number where two have the same; where they are is the owner's alone. */
export function shareItems({ tree }: Listed, paths: readonly string[]): ShareItem[] {
  // A file may have been chosen together with its folder.
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
    return [...itemsOf({ tree }, folder!, named(lastOf(folder!.path)))];
  });
}

export async function makeLink(
  szafa: Szafa,
  items: readonly ShareItem[],
  { expiresAt, ...wishes }: LinkWishes,
  { signal, tell }: { signal: AbortSignal; tell: (progress: Omit<Progress, 'id'>) => void },
): Promise<MadeLink> {
  const { link } = await szafa.shareLink(items, {
    ...wishes,
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt) }),
    signal,
    onProgress: (done, total) => tell({ done, total }),
  });
  return { link, picture: await drawQr(link) };
}

export async function listLinks(szafa: Szafa): Promise<ListedLink[]> {
  return (await szafa.links()).map(({ createdAt, expiresAt, title, problem, ...link }) => ({
    ...link,
    title: displayName(title),
    createdAt: Date.parse(createdAt),
    expiresAt: expiresAt === null ? null : Date.parse(expiresAt),
    ...(problem && { problem: problem.code }),
  }));
}
