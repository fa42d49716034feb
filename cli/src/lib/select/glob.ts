/** Patterns for paths on the server: `*` and `?` within a name, `**` for any number of folders. A leading dot is like any other character. */
import type { FileNode, Folder } from '@szafa/client/node';

const WILD = /[*?]/;

export const isPattern = (text: string) => WILD.test(text);

/** Matches one name. */
export function namePattern(text: string): RegExp {
  const source = text
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 'su');
}

/** The folders before the first wildcard. */
export function fixedPart(pattern: string): string {
  const segments = pattern.split('/');
  const first = segments.findIndex(isPattern);
  return segments.slice(0, first).join('/');
}

/**
 * Tells how a path matches a pattern: itself, by a folder above it, or not at all. Keeps all positions in the pattern that the names
 * so far lead to: names may come from others, and one with thousands of slashes must not take exponential time.
 */
export function pathMatcher(pattern: string): (path: string) => 'itself' | 'above' | undefined {
  // What is in a folder that matches a final `**` is matched by that folder.
  const tests = pattern
    .replace(/(^|\/)(?:\*\*\/)*\*\*$/, '$1*')
    .split('/')
    .map((segment) => (segment === '**' ? undefined : namePattern(segment)));
  const withEmpty = (positions: Set<number>) => {
    for (const at of positions) if (at < tests.length && !tests[at]) positions.add(at + 1);
    return positions;
  };
  return (path) => {
    const names = path.split('/');
    let positions = withEmpty(new Set([0]));
    let isBelow = false;
    for (const name of names) {
      isBelow ||= positions.has(tests.length);
      const next = new Set<number>();
      for (const at of positions) {
        const test = tests[at];
        if (test?.test(name)) next.add(at + 1);
        else if (!test && at < tests.length) next.add(at);
      }
      positions = withEmpty(next);
    }
    if (positions.has(tests.length)) return 'itself';
    return isBelow ? 'above' : undefined;
  };
}

/** All files and folders that match. */
export function* matches(top: Folder, pattern: string): Generator<{ file: FileNode } | { folder: Folder }> {
  const match = pathMatcher(pattern);
  function* look({ folders, files }: Folder): ReturnType<typeof matches> {
    for (const folder of folders) if (match(folder.path) === 'itself') yield { folder };
    for (const file of files) if (match(file.path) === 'itself') yield { file };
    for (const folder of folders) yield* look(folder);
  }
  yield* look(top);
}
