import { readFileSync } from 'node:fs';
import ignore, { type Ignore } from 'ignore';
import { CliError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import type { Flags } from '../../options.ts';

/** In any folder of an upload: patterns for what is below it. */
export const IGNORE_FILE = '.szafaignore';

/** Patterns, and the folder that they are for: `''`, or a path that ends in `/`. */
interface Rules {
  below: string;
  patterns: Ignore;
}

/** As git reads such patterns, but letter case always counts. */
function rulesOf(below: string, text: string): Rules {
  return { below, patterns: ignore({ ignorecase: false }).add(text) };
}

/**
 * What an upload leaves out. Paths are below the folder that is uploaded; those of folders end in `/`. --exclude comes before the files
 * in the folders, a file in a folder before those above it; of one, the last pattern that fits counts. What is in a folder that is left
 * out is never looked at.
 */
export class Exclusions {
  readonly #given: readonly Rules[];
  /** Of the deepest folder first. */
  readonly #files: readonly Rules[];

  private constructor(given: readonly Rules[], files: readonly Rules[]) {
    this.#given = given;
    this.#files = files;
  }

  static of({ exclude = [], 'exclude-from': files = [] }: Flags): Exclusions {
    const patterns = [...files.map(textOf), ...exclude];
    return new Exclusions(patterns.length > 0 ? [rulesOf('', patterns.join('\n'))] : [], []);
  }

  /** With what the ignore file of a folder says. */
  within(below: string, text: string): Exclusions {
    return new Exclusions(this.#given, [rulesOf(below, text), ...this.#files]);
  }

  has(path: string): boolean {
    for (const { below, patterns } of [...this.#given, ...this.#files]) {
      const { ignored, unignored } = patterns.test(path.slice(below.length));
      if (ignored || unignored) return ignored;
    }
    return false;
  }
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const { message } = explain(cause);
    throw new CliError('exclude-file', `--exclude-from ${path}: ${message}`, 'check the path', 2, { cause });
  }
}
