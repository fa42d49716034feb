import type { Folder } from '@szafa/client/node';

const MOST = 1000;

/** The paths that begin as was typed, down to the next slash; those of folders end in one. */
export function endingsOf(
  tree: { folder(path: string): Folder | undefined },
  typed: string,
  foldersOnly: boolean,
): string[] {
  const slash = typed.lastIndexOf('/') + 1;
  const before = typed.slice(0, slash);
  const begun = typed.slice(slash);
  const folder = tree.folder(before.replace(/^\/+|\/+$/g, ''));
  if (!folder) return [];
  const names = [
    ...folder.folders.map(({ name }) => `${name}/`),
    ...(foldersOnly ? [] : folder.files.map(({ name }) => name)),
  ];
  return names
    .filter((name) => name.startsWith(begun))
    .slice(0, MOST)
    .map((name) => before + name);
}
