/** What the account shares by links. */
import {
  displayName,
  type Folder,
  parentOf,
  qr,
  type ShareItem,
  type Szafa,
  SzafaError,
  type Tree,
} from '@szafa/client';
import type { LinkWishes, ListedLink, MadeLink, Progress } from '../bridge.ts';

/** What a person has seen, and means when they point at it. */
interface Listed {
  tree: Tree;
}

/** The files of a folder under its own name, and what stands for the folders in it that are empty. */
function* itemsOf({ tree }: Listed, folder: Folder): Generator<ShareItem> {
  const above = parentOf(folder.path);
  const below = (path: string) => (above === '' ? path : path.slice(above.length + 1));
  for (const { path, folders, files, markers } of tree.foldersWithin(folder)) {
    for (const file of files) yield { entry: file.entry, name: below(file.path) };
    const [marker] = markers;
    if (marker && folders.length + files.length === 0) yield { entry: marker, name: `${below(path)}/` };
  }
}

/** What visitors get of these paths: by the whole path where two would have the same name. */
export function shareItems({ tree }: Listed, paths: readonly string[]): ShareItem[] {
  const found = paths.flatMap((path): ShareItem[] => {
    const folder = path.endsWith('/') ? tree.folder(path.slice(0, -1)) : undefined;
    if (folder) return [...itemsOf({ tree }, folder)];
    const file = tree.file(path);
    if (!file) throw new SzafaError('gone', 'this file is not in the list any more');
    return [{ entry: file.entry, name: file.name }];
  });
  // A file may have been chosen together with its folder.
  const seen = new Set<string>();
  const items = found.filter(({ entry: { fileId } }) => !seen.has(fileId) && seen.add(fileId));
  if (new Set(items.map(({ name }) => name)).size === items.length) return items;
  return items.map(({ entry }) => ({ entry, name: entry.path }));
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
  return { link, picture: qr(link) };
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
