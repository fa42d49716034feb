import { oneLine } from './lib/print/text.ts';

/** Documented in docs/cli.md; scripts depend on them. */
export const exits = {
  done: 0,
  failed: 1,
  usage: 2,
  someFailed: 3,
  wrongPassword: 12,
  interrupted: 130,
} as const;

export type Exit = (typeof exits)[keyof typeof exits];

/** An error for the person at the terminal: what happened, and what to do next. */
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

/** For words after a command that it does not know. */
export function unknownSubcommand(command: string, words: string): UsageError {
  return new UsageError(`there is no "${command} ${oneLine(words)}"`, `see szafa ${command} --help`);
}

/** The abort reason of every running call when Ctrl-C or a signal ends the command. */
export class Interrupted extends CliError {
  override name = 'Interrupted';

  constructor() {
    super('interrupted', 'interrupted', 'run the same command again to resume', { exit: exits.interrupted });
  }
}

/** Failures that were reported one by one: only the exit code is left. */
export class Reported extends CliError {
  override name = 'Reported';

  constructor(exit: Exit) {
    super('reported', 'failed', '', { exit });
  }
}
