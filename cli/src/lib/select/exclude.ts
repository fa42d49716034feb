import { readFileSync } from 'node:fs';
import ignore, { type Ignore } from 'ignore';
import { CliError, exits } from '../../errors.ts';
import { explain } from '../../explain.ts';
import type { Flags } from '../../options.ts';

/** File with patterns for everything in its folder. Can be in any uploaded folder. */
export const IGNORE_FILE = '.szafaignore';

/** Patterns of one folder. `below` is its path, which is `''` or ends in `/`. */
interface Rules {
  below: string;
  patterns: Ignore;
}

/** Parses patterns as git does, except that letter case always matters. */
function parseRules(below: string, text: string): Rules {
  return { below, patterns: ignore({ ignorecase: false }).add(text) };
}

/**
 * Paths that an upload leaves out, relative to the uploaded folder; a folder's path ends in `/`. --exclude overrides ignore files, and
 * a deeper ignore file overrides one above it. In one file the last matching pattern wins. An excluded folder is never read.
 */
export interface Exclusions {
  has(path: string): boolean;
  /** Returns exclusions with the ignore file of a subfolder added. */
  within(below: string, text: string): Exclusions;
}

/** `files`: the rules of ignore files, deepest folder first. */
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
