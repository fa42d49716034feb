import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A plausible small bug, and the tests that should catch it. */
export interface Mutant {
  /** Description of the bug. */
  name: string;
  /** Path relative to the repository root. */
  file: string;
  /** Text to replace. Must occur exactly once in the file. */
  find: string;
  replace: string;
  /** Test files, cheapest first: the run ends at the first failure. */
  tests: string[];
  /** Pattern of test names to run, if running all of them would take too long. */
  only?: string;
  /** The stores for files in `tests/blackbox/`; SQLite and a folder by default. */
  pair?: 'PostgreSQL and S3' | 'PostgreSQL and a folder' | 'SQLite and S3';
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Loads all mutants from the lists in `tests/mutants/`. */
export async function allMutants(): Promise<Mutant[]> {
  const lists = globSync('tests/mutants/*.ts', { cwd: root }).sort();
  const loaded = await Promise.all(lists.map((list) => import(new URL(`../${list}`, import.meta.url).href)));
  return (loaded as { mutants: Mutant[] }[]).flatMap(({ mutants }) => mutants);
}

/** Returns the file's text with the bug in it. */
export function mutated({ find, replace }: Mutant, text: string): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    const times = text.split(find).length - 1;
    throw new Error(`its text occurs ${times} times in the file, not once`);
  }
  return `${before}${replace}${after}`;
}

const texts = new Map<string, string>();

/** Returns the text of a test file and of its imports from the same folder: tests shared by several stores are in such files. */
function textOf(path: string): string {
  const known = texts.get(path);
  if (known !== undefined) return known;
  texts.set(path, '');
  const text = readFileSync(join(root, path), 'utf8');
  const beside = text.matchAll(/from '(\.\/[^']+)'/g).map(([, name]) => textOf(join(dirname(path), name!)));
  const whole = [text, ...beside].join('\n');
  texts.set(path, whole);
  return whole;
}

/** Lists problems that keep a mutant from being tried or caught, such as changed code or missing files. */
export function mutantFaults(all: Mutant[]): string[] {
  const names = new Set<string>();
  return all.flatMap((mutant) => {
    const { name, file, find, replace, tests, only = '' } = mutant;
    const faults = tests.flatMap((test) => {
      if (!existsSync(join(root, test))) return [`${test} is gone`];
      return new RegExp(only).test(textOf(test)) ? [] : [`no test in ${test} fits "${only}"`];
    });
    if (tests.length === 0) faults.push('no test file is named');
    if (names.has(name)) faults.push('the name occurs twice');
    if (find === replace) faults.push('nothing is replaced');
    names.add(name);
    try {
      mutated(mutant, readFileSync(join(root, file), 'utf8'));
    } catch (error) {
      faults.push((error as Error).message);
    }
    return faults.map((fault) => `mutant "${name}" (${file}): ${fault}`);
  });
}
