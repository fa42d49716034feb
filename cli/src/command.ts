import type { Settings } from './lib/account/settings.ts';
import type { Output } from './lib/print/output.ts';
import type { Batch } from './lib/transfer/batch.ts';
import { type CommonName, commonOptions, type Flags, type Option, type OwnName, options } from './options.ts';

/** The arguments, settings and output of one run of a command. */
export interface Invocation {
  args: string[];
  flags: Flags;
  settings: Settings;
  out: Output;
  /** Collects failures of single items; they decide the exit code when the command ends. */
  batch: Batch;
  /** Start time, from performance.now(). */
  began: number;
  /** Aborted by Ctrl-C, SIGTERM or SIGHUP, with an `Interrupted` as the reason. */
  signal: AbortSignal;
}

/** Prints its own results and throws on failure. */
export type Command = (invocation: Invocation) => Promise<void>;

/** The parser, the help, the completion scripts, the man page and the reference in docs/cli.md are all generated from this. */
export interface CommandEntry {
  /** The arguments after the command's name. `countArguments` derives their allowed number from this text. */
  usage?: string;
  summary: string;
  /** One or more paragraphs below the summary. */
  details?: string | string[];
  options?: OwnName[];
  /** Short options that differ from the default, as in `ls -R`. */
  shorts?: Partial<Record<OwnName, string>>;
  /** Command lines, each with an optional remark at the end: `  # text`. */
  examples: string[];
  /** How arguments are completed: as local files, paths or folders on the server, or one of these words. */
  completes?: 'file' | 'path' | 'path-folder' | string[];
  /** Left out of the help and of the completion scripts. */
  hidden?: true;
  /** The command runs even if the configuration folder cannot be used. */
  needsNoConfig?: true;
  load: () => Promise<Command>;
}

export type CommandTable = Record<string, CommandEntry>;

/** Counts the arguments that a usage text allows: `PATH…` is one or more, `[ID]` at most one, and ` | ` separates alternatives. */
export function countArguments(usage: string): [least: number, most: number] {
  const count = (text: string) => text.split(' ').filter((word) => /^\[?\w/.test(word)).length;
  const required = usage
    .replace(/\[.*\]/, '')
    .split(' | ')
    .map(count);
  const allowed = usage.split(' | ').map(count);
  return [Math.min(...required), usage.includes('…') ? Number.POSITIVE_INFINITY : Math.max(...allowed)];
}

/** Lists the command's own options, then the common ones. */
export function optionsOf({ options: own = [], shorts }: CommandEntry): [OwnName | CommonName, Option][] {
  const common = Object.entries(commonOptions) as [CommonName, Option][];
  const withShort = (name: OwnName): [OwnName, Option] => {
    const short = shorts?.[name];
    return [name, { ...options[name], ...(short && { short }) }];
  };
  return [...own.map(withShort), ...common];
}
