import { oneLine } from './lib/print/text.ts';

/** Exit codes. Scripts depend on them, and docs/cli.md documents them. */
export const exits = {
  done: 0,
  failed: 1,
  usage: 2,
  someFailed: 3,
  wrongPassword: 12,
  interrupted: 130,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];

/** An error for the user: what happened, and what to do next. */
export class CliError extends Error {
  override name = 'CliError';
  readonly code: string;
  readonly hint: string;
  readonly exit: Exit;

  constructor(code: string, message: string, hint: string, more: { exit?: Exit; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.code = code;
    this.hint = hint;
    this.exit = more.exit ?? exits.failed;
  }
}

export class UsageError extends CliError {
  override name = 'UsageError';

  constructor(message: string, hint: string) {
    super('usage', message, hint, { exit: exits.usage });
  }
}

/** The error for an unknown subcommand, as in `szafa token foo`. */
export function unknownSubcommand(command: string, words: string): UsageError {
  return new UsageError(`there is no "${command} ${oneLine(words)}"`, `see szafa ${command} --help`);
}

/** The abort reason when Ctrl-C or a signal ends the command. */
export class Interrupted extends CliError {
  override name = 'Interrupted';

  constructor() {
    super('interrupted', 'interrupted', 'run the same command again to resume', { exit: exits.interrupted });
  }
}

/** Carries only an exit code: the failures were already reported one by one. */
export class Reported extends CliError {
  override name = 'Reported';

  constructor(exit: Exit) {
    super('reported', 'failed', '', { exit });
  }
}
