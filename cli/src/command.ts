import type { Settings } from './lib/account/settings.ts';
import type { Output } from './lib/print/output.ts';
import { type CommonName, commonOptions, type Flags, type Option, type OwnName, options } from './options.ts';

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
  /** A letter for an option that is another one here: as `ls -R` has it, and `rm -r`. */
  shorts?: Partial<Record<OwnName, string>>;
  /** Positional arguments: at least, at most. */
  args: [least: number, most: number];
  examples: [line: string, what: string][];
  /** What a shell completes arguments with: files here, paths or folders on the server, or these words. */
  completes?: 'file' | 'path' | 'path-folder' | string[];
  /** Not for people: neither in the help nor among what a shell offers. */
  hidden?: true;
  /** False where the configuration folder is not needed. */
  keeps?: false;
  load: () => Promise<{ command: Command }>;
}

export type CommandTable = Record<string, CommandEntry>;

/** Its own options, then those of every command. */
export function optionsOf({ options: own, shorts = {} }: CommandEntry): [OwnName | CommonName, Option][] {
  return [
    ...own.map((name): [OwnName, Option] => {
      const short = shorts[name];
      return [name, short === undefined ? options[name] : { ...options[name], short }];
    }),
    ...Object.entries(commonOptions).map(([name, option]): [CommonName, Option] => [
      name as CommonName,
      option,
    ]),
  ];
}
