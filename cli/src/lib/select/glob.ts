/** Patterns for paths on the server: `*` and `?` within a name, `**` for any number of folders. A leading dot is like any other character. */

/** The part of a tree that patterns need. */
export interface GlobFolder<File extends { name: string; path: string }> {
  path: string;
  name: string;
  folders: readonly GlobFolder<File>[];
  files: readonly File[];
}

const WILD = /[*?]/;

export const isPattern = (text: string) => WILD.test(text);

/** Matches one name. */
export function namePattern(text: string, flags = ''): RegExp {
  const source = text
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, `su${flags}`);
}

/** The folders before the first wildcard. */
export function fixedPart(pattern: string): string {
  const segments = pattern.split('/');
  const first = segments.findIndex(isPattern);
  return segments.slice(0, first).join('/');
}

/** All matching files and folders, each once; not the content of a matching folder. */
export function* matches<File extends { name: string; path: string }, Folder extends GlobFolder<File>>(
  top: Folder,
  pattern: string,
): Generator<{ file: File } | { folder: Folder }> {
  const segments = pattern
    .split('/')
    .filter((segment, at, all) => segment !== '**' || all[at - 1] !== '**')
    .map((segment) => (segment === '**' ? undefined : namePattern(segment)));
  const seen = new Set<string>();
  const found = new Set<string>();
  const once = (path: string) => !found.has(path) && found.add(path) !== undefined;
  function* look(folder: Folder, at: number): Generator<{ file: File } | { folder: Folder }> {
    // Several `**` reach a folder in many ways.
    const key = `${at} ${folder.path}`;
    if (seen.has(key)) return;
    seen.add(key);
    const segment = segments[at];
    const isLast = at === segments.length - 1;
    const folders = folder.folders as readonly Folder[];
    if (!segment && !isLast) {
      yield* look(folder, at + 1);
      for (const inner of folders) yield* look(inner, at);
      return;
    }
    for (const inner of folders) {
      if (segment && !segment.test(inner.name)) continue;
      if (!isLast) yield* look(inner, at + 1);
      else if (once(inner.path)) yield { folder: inner };
    }
    if (!isLast) return;
    for (const file of folder.files) {
      if ((!segment || segment.test(file.name)) && once(file.path)) yield { file };
    }
  }
  yield* look(top, 0);
}
