import type { Mutant } from '../../scripts/mutants.ts';

const RANGES = 'server/test/ranges.test.ts';

export const mutants: Mutant[] = [
  {
    name: 'a range from 0 to 9 has nine bytes',
    file: 'server/src/http/ranges.ts',
    find: 'Math.min(size, Number(to) + 1)',
    replace: 'Math.min(size, Number(to))',
    tests: [RANGES],
  },
  {
    name: 'a range that begins right behind the end is satisfiable',
    file: 'server/src/http/ranges.ts',
    find: 'if (start >= size)',
    replace: 'if (start > size)',
    tests: [RANGES],
  },
];
