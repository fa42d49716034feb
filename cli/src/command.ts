import type { Flags } from './options.ts';
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
