/** What a run of the mutants has found. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutants.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `late`: by a time limit alone, which a busy machine can reach, too. */
export type Verdict = { how: 'caught' | 'late' | 'missed'; by: string };

/** What was found of each bug, a line of JSON each, written as soon as it is known: a run can be cut anywhere. */
export class Findings {
  readonly #file = join(root, 'artefacts/mutants.jsonl');

  /** Of each bug all that decides whether it is caught, as it is before the copies are made, but for what is imported. */
  readonly #states: Map<Mutant, string>;

  constructor(mutants: Mutant[]) {
    const read = (file: string) => readFileSync(join(root, file), 'utf8');
    this.#states = new Map(
      mutants.map((mutant) => {
        const all = JSON.stringify([mutant, [mutant.file, ...mutant.tests].map(read)]);
        return [mutant, createHash('sha256').update(all).digest('base64url')];
      }),
    );
  }

  add(mutant: Mutant, { how, by }: Verdict, seconds: number): void {
    const { name, file } = mutant;
    const line = {
      at: new Date().toISOString(),
      name,
      file,
      how,
      by,
      seconds,
      state: this.#states.get(mutant),
    };
    mkdirSync(dirname(this.#file), { recursive: true });
    appendFileSync(this.#file, `${JSON.stringify(line)}\n`);
  }

  caught(): Mutant[] {
    const lines = existsSync(this.#file) ? readFileSync(this.#file, 'utf8').split('\n') : [];
    const found = new Map(lines.flatMap(verdictIn).map(({ state, how }) => [state, how]));
    return [...this.#states].filter(([, state]) => found.get(state) === 'caught').map(([mutant]) => mutant);
  }
}

/** None in a line that a run tore when it was cut. */
function verdictIn(line: string): { state: string; how: string }[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
