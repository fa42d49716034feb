import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A small bug that somebody could make, and the tests that would tell. */
export interface Mutant {
  /** What the bug is, in plain words. */
  name: string;
  /** Path from the root. */
  file: string;
  /** Text that occurs once in the file. */
  find: string;
  replace: string;
  /** Test files, the cheapest first: the first that fails ends the run. */
  tests: string[];
  /** Only the tests whose names fit this pattern, where all of them would take long. */
  only?: string;
  /** The pair of stores for the files in `tests/blackbox/`; without it SQLite and a folder. */
  pair?: 'PostgreSQL and S3' | 'PostgreSQL and a folder' | 'SQLite and S3';
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** The lists in `tests/mutants/`, each of which exports `mutants`. */
export async function allMutants(): Promise<Mutant[]> {
  const lists = globSync('tests/mutants/*.ts', { cwd: root }).sort();
  const loaded = await Promise.all(lists.map((list) => import(new URL(`../${list}`, import.meta.url).href)));
  return (loaded as { mutants: Mutant[] }[]).flatMap(({ mutants }) => mutants);
}

/** The file's text with the bug in it. */
export function mutated({ find, replace }: Mutant, text: string): string {
  const [before, after, ...more] = text.split(find);
  if (before === undefined || after === undefined || more.length > 0) {
    const times = text.split(find).length - 1;
    throw new Error(`its text occurs ${times} times in the file, not once`);
  }
  return `${before}${replace}${after}`;
}

const texts = new Map<string, string>();

/** The text of a test file, and of what it imports from beside it: a contract of several stores has its tests there. */
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

/** What keeps a mutant from being tried, or from being caught: code that has changed since, files that are gone. */
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
