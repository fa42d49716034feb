/** Patterns for paths on the server: `*` and `?` match within a name, `**` any number of folders. A leading dot is not special. */
import type { FileNode, Folder } from '@szafa/client/node';

const WILD = /[*?]/;

export const isPattern = (text: string) => WILD.test(text);

/** Compiles the pattern of one name. */
export function namePattern(text: string): RegExp {
  const source = text
    .replace(/[\\^$.|+()[\]{}]/g, '\\$&')
    .replace(/\*+/g, '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${source}$`, 'su');
}

/** Returns the folders before the first wildcard. */
export function fixedPart(pattern: string): string {
  const segments = pattern.split('/');
  const first = segments.findIndex(isPattern);
  return segments.slice(0, first).join('/');
}

/**
 * Returns a function that tells whether a pattern matches a path itself, a folder above it, or neither. Tracks the set of possible
 * pattern positions instead of backtracking: a hostile path with thousands of slashes must not take exponential time.
 */
export function pathMatcher(pattern: string): (path: string) => 'itself' | 'above' | undefined {
  // A final `**` needs to match only the first level: deeper paths then match by a folder above them.
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

/** Yields all files and folders that match. */
export function* matches(top: Folder, pattern: string): Generator<{ file: FileNode } | { folder: Folder }> {
  const match = pathMatcher(pattern);
  function* look({ folders, files }: Folder): ReturnType<typeof matches> {
    for (const folder of folders) if (match(folder.path) === 'itself') yield { folder };
    for (const file of files) if (match(file.path) === 'itself') yield { file };
    for (const folder of folders) yield* look(folder);
  }
  yield* look(top);
}
