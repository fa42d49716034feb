import type { Settings } from './lib/account/settings.ts';
import type { Output } from './lib/print/output.ts';
import { type CommonName, commonOptions, type Flags, type Option, type OwnName, options } from './options.ts';

/** Everything that a command works with. */
export interface Invocation {
  args: string[];
  flags: Flags;
  settings: Settings;
  out: Output;
  /** Aborted with an Interrupted by Ctrl-C or a signal. */
  signal: AbortSignal;
}

/** Reports its results itself, and throws its errors. */
export type Command = (invocation: Invocation) => Promise<void>;

/** The one source of the parser, the help, the completion scripts, the man page and the reference in docs/cli.md. */
export interface CommandEntry {
  /** The arguments after the command's name. */
  usage?: string;
  summary: string;
  /** Paragraphs below the summary. */
  details?: string[];
  options?: OwnName[];
  /** Other letters for options, as in `ls -R`. */
  shorts?: Partial<Record<OwnName, string>>;
  /** Number of arguments: at least, at most. None if it is absent. */
  args?: [least: number, most: number];
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

/** Its own options, then those of every command. */
export function optionsOf({
  options: own = [],
  shorts = {},
}: CommandEntry): [OwnName | CommonName, Option][] {
  return [
    ...own.map((name): [OwnName, Option] => {
      const short = shorts[name];
      return [name, short === undefined ? options[name] : { ...options[name], short }];
    }),
    ...(Object.entries(commonOptions) as [CommonName, Option][]),
  ];
}
