/** Stores the results of mutation tests. */
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Mutant } from './mutants.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** `late`: only a time limit failed, which can also happen on a busy machine. */
export type Verdict = { how: 'caught' | 'late' | 'missed'; by: string };

/** The verdicts, one line of JSON per bug. Each is written as soon as it is known, because a run can be interrupted at any time. */
export class Findings {
  readonly #file = join(root, 'artefacts/mutants.jsonl');

  /** Digest of each bug with its source file and tests. An unchanged digest means that an earlier verdict is still valid. Ignores imports. */
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

/** Returns nothing for an incomplete line, which an interrupted run leaves behind. */
function verdictIn(line: string): { state: string; how: string }[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}
