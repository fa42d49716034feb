import { readFileSync } from 'node:fs';
import ignore, { type Ignore } from 'ignore';
import { CliError, exits } from '../../errors.ts';
import { explain } from '../../explain.ts';
import type { Flags } from '../../options.ts';

/** In any folder of an upload: patterns for everything below it. */
export const IGNORE_FILE = '.szafaignore';

/** Patterns, and the folder that they are for: `''`, or a path that ends in `/`. */
interface Rules {
  below: string;
  patterns: Ignore;
}

/** As git reads such patterns, but letter case always matters. */
function parseRules(below: string, text: string): Rules {
  return { below, patterns: ignore({ ignorecase: false }).add(text) };
}

/**
 * Paths that an upload leaves out. They are relative to the uploaded folder; those of folders end in `/`. --exclude overrides the ignore
 * files, and an ignore file those above it; within one, the last matching pattern wins. An excluded folder is never read.
 */
export interface Exclusions {
  has(path: string): boolean;
  /** Adds the ignore file of a folder. */
  within(below: string, text: string): Exclusions;
}

/** `files`: the rules of ignore files, those of the deepest folder first. */
function createExclusions(given: readonly Rules[], files: readonly Rules[]): Exclusions {
  const rules = [...given, ...files];
  return {
    has(path) {
      for (const { below, patterns } of rules) {
        const { ignored, unignored } = patterns.test(path.slice(below.length));
        if (ignored || unignored) return ignored;
      }
      return false;
    },
    within: (below, text) => createExclusions(given, [parseRules(below, text), ...files]),
  };
}

export function exclusionsFrom({ exclude = [], 'exclude-from': files = [] }: Flags): Exclusions {
  const patterns = [...files.map(readPatterns), ...exclude];
  return createExclusions(patterns.length > 0 ? [parseRules('', patterns.join('\n'))] : [], []);
}

function readPatterns(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (cause) {
    const message = `--exclude-from ${path}: ${explain(cause).message}`;
    throw new CliError('exclude-file', message, 'check the path', { exit: exits.usage, cause });
  }
}
