import type { Mutant } from '../../scripts/mutants.ts';

const RANGES = 'protocol/test/range.test.ts';

export const mutants: Mutant[] = [
  {
    name: 'a range from 0 to 9 has nine bytes',
    file: 'protocol/src/range.ts',
    find: 'Math.min(size, Number(to) + 1)',
    replace: 'Math.min(size, Number(to))',
    tests: [RANGES],
  },
  {
    name: 'a range that begins right behind the end is satisfiable',
    file: 'protocol/src/range.ts',
    find: 'if (start >= size)',
    replace: 'if (start > size)',
    tests: [RANGES],
  },
];
