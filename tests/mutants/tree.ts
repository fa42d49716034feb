import type { Mutant } from '../../scripts/mutants.ts';

const TREE = 'client/test/tree.test.ts';
const OPERATIONS = 'client/test/tree-operations.test.ts';
const ATTACKS = 'client/test/tree-attacks.test.ts';

/** The tree of files, and what changes it. */
export const mutants: Mutant[] = [
  {
    name: 'what has a path by the word of the service alone stands in for what proves it',
    file: 'client/src/files/tree.ts',
    find: 'same.filter((entry) => entry.verified).sort(byAge)',
    replace: 'same.sort(byAge)',
    tests: [TREE],
  },
  {
    name: 'the newest version is the one that the service lists first',
    file: 'client/src/files/tree.ts',
    find: '(a && b ? newestFirst(a, b) : 0)',
    replace: '(a && b ? 0 : 0)',
    tests: [TREE],
  },
  {
    name: 'an earlier name that the service keeps in its list is told as a conflict',
    file: 'client/src/transfers/download/record-name.ts',
    find: 'if (name !== record.file_name) return new ConflictError([metadata.name]);',
    replace: 'return new ConflictError([metadata.name]);',
    tests: ['client/test/tree-attacks.test.ts'],
  },
  {
    name: 'each file that was renamed meanwhile reads a list of its own',
    file: 'client/src/transfers/download/record-name.ts',
    find: 'if (known && known.began >= since) return known.byId;',
    replace: 'if (known && known.began > 1e15) return known.byId;',
    tests: ['client/test/tree-attacks.test.ts'],
  },
  {
    name: 'a list that is older than the record, or than its new name, is believed',
    file: 'client/src/transfers/download/record-name.ts',
    find: 'if (known && known.began >= since) return known.byId;',
    replace: 'if (known) return known.byId;',
    tests: ['client/test/tree-attacks.test.ts'],
  },
  {
    name: 'a path of thousands of parts makes as many folders',
    file: 'client/src/files/tree.ts',
    find: 'if (path.length <= 2 * limits.pathParts) return path;',
    replace: 'return path;',
    tests: [TREE],
  },
  {
    name: 'a copy that failed is tried again and again',
    file: 'client/src/files/moves.ts',
    find: 'error instanceof ApiError && error.exists',
    replace: 'error instanceof ApiError && error.status === 409',
    tests: [OPERATIONS],
  },
  {
    name: 'prune takes the newest version, too',
    file: 'client/src/files/trash.ts',
    find: 'sound.slice(Math.max(1, keep))',
    replace: 'sound.slice(keep - 1)',
    tests: [TREE],
  },
  {
    name: 'prune takes young versions',
    file: 'client/src/files/trash.ts',
    find: 'age!.added < olderThan',
    replace: 'age!.added <= Number.MAX_VALUE',
    tests: [TREE],
  },
  {
    name: 'prune takes versions whose age nobody has proved',
    file: 'client/src/files/trash.ts',
    find: '.filter(({ age }) => age !== undefined)',
    replace: '',
    tests: [TREE],
  },
  {
    name: 'a file that stays where it is makes room for another one',
    file: 'client/src/files/plan.ts',
    find: 'const leaving = new Set(real.map(',
    replace: 'const leaving = new Set(moves.map(',
    tests: [OPERATIONS],
  },
  {
    name: 'a file that moves onto another one becomes the older version',
    file: 'client/src/files/plan.ts',
    find: 'let over = leaving.has(path) ? 0 : tree.genOf(path);',
    replace: 'let over = 0;',
    tests: [OPERATIONS],
  },
  {
    name: 'a name that the owner replaced is taken again',
    file: 'client/src/files/seen-revs.ts',
    find: 'if (rev >= highest) return undefined;',
    replace: 'if (rev >= 1) return undefined;',
    tests: [ATTACKS],
  },
  {
    name: 'an upload that is stopped while its thumbnail is sent fails',
    file: 'client/src/files/thumbnails.ts',
    find: '  } catch {\n    // The file is whole without it.',
    replace: '  } catch (error) {\n    signal?.throwIfAborted();\n    void error;',
    tests: ['client/test/network.test.ts'],
  },
  {
    name: 'the thumbnail of another upload is shown',
    file: 'client/src/files/thumbnails.ts',
    find: 'const isOwn = bytes && (await engine.sha256(bytes)).toHex() === thumbnail;',
    replace: 'const isOwn = bytes !== undefined;',
    tests: [OPERATIONS, ATTACKS],
  },
  {
    name: 'a file can be copied into a folder once only',
    file: 'server/src/files/file-changes-table.ts',
    find: 'dir_id = ?, cloned_from = NULL, rev',
    replace: 'dir_id = ?, rev',
    tests: [OPERATIONS],
  },
];
