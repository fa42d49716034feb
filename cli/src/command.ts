import type { Flags, OwnName } from './options.ts';
import type { Output } from './output.ts';
import type { Settings } from './settings.ts';

/** Everything a command works with. */
export interface Invocation {
  args: string[];
  flags: Flags;
  settings: Settings;
  out: Output;
  /** Aborted with an Interrupted by Ctrl-C and its like. */
  signal: AbortSignal;
}

/** Throws what went wrong; says itself what went right. */
export type Command = (invocation: Invocation) => Promise<void>;

export interface CommandEntry {
  /** What follows the command's name. */
  usage: string;
  summary: string;
  /** Paragraphs below the summary. */
  details?: string[];
  options: OwnName[];
  /** Positional arguments: at least, at most. */
  args: [least: number, most: number];
  examples: [line: string, what: string][];
  /** What a shell completes arguments with; names on the service are not asked for. */
  completes?: 'file' | string[];
  /** False where the configuration folder is not needed. */
  keeps?: false;
  load: () => Promise<{ command: Command }>;
}

export type CommandTable = Record<string, CommandEntry>;
