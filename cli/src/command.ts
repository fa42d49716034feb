import type { Settings } from './lib/account/settings.ts';
import type { Output } from './lib/print/output.ts';
import type { Batch } from './lib/transfer/batch.ts';
import { type CommonName, commonOptions, type Flags, type Option, type OwnName, options } from './options.ts';

/** Everything that a command works with. */
export interface Invocation {
  args: string[];
  flags: Flags;
  settings: Settings;
  out: Output;
  /** Failures of single items. They decide the exit code once the command is done. */
  batch: Batch;
  /** When it began, by performance.now(). */
  began: number;
  /** Aborted with an Interrupted by Ctrl-C or a signal. */
  signal: AbortSignal;
}

/** Reports its results itself, and throws its errors. */
export type Command = (invocation: Invocation) => Promise<void>;

/** The one source of the parser, the help, the completion scripts, the man page and the reference in docs/cli.md. */
export interface CommandEntry {
  /** The arguments after the command's name; their number follows from it. */
  usage?: string;
  summary: string;
  /** A paragraph, or several, below the summary. */
  details?: string | string[];
  options?: OwnName[];
  /** Other letters for options, as in `ls -R`. */
  shorts?: Partial<Record<OwnName, string>>;
  /** Each may end in a remark: `  # text`. */
  examples: string[];
  /** Completion of arguments: local files, paths or folders on the server, or these words. */
  completes?: 'file' | 'path' | 'path-folder' | string[];
  /** Neither in the help nor in the completion. */
  hidden?: true;
  /** Whether it works without the configuration folder. */
  needsNoConfig?: true;
  load: () => Promise<Command>;
}

export type CommandTable = Record<string, CommandEntry>;

/** The number of arguments that a usage allows: one or more for `PATH…`, none or one for `[ID]`; ` | ` separates alternatives. */
export function countArguments(usage: string): [least: number, most: number] {
  const count = (text: string) => text.split(' ').filter((word) => /^\[?\w/.test(word)).length;
  const required = usage
    .replace(/\[.*\]/, '')
    .split(' | ')
    .map(count);
  const allowed = usage.split(' | ').map(count);
  return [Math.min(...required), usage.includes('…') ? Number.POSITIVE_INFINITY : Math.max(...allowed)];
}

/** Its own options, then those of every command. */
export function optionsOf({ options: own = [], shorts }: CommandEntry): [OwnName | CommonName, Option][] {
  const common = Object.entries(commonOptions) as [CommonName, Option][];
  const withShort = (name: OwnName): [OwnName, Option] => {
    const short = shorts?.[name];
    return [name, { ...options[name], ...(short && { short }) }];
  };
  return [...own.map(withShort), ...common];
}
