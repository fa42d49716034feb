import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import type { Invocation } from '../../command.ts';
import { CliError, exits, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import type { SecretSource } from './settings.ts';

export function canAsk(): boolean {
  return process.stdin.isTTY === true;
}

/** Reads a line from the terminal, without an echo for a secret. */
export function ask(question: string, signal: AbortSignal, secret = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = secret ? silent : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
    // Only now is the echo off, also for text that is pasted at once.
    process.stderr.write(question);
    const end = () => {
      signal.removeEventListener('abort', abort);
      lines.close();
      process.stdin.pause();
      if (secret) process.stderr.write('\n');
    };
    const abort = () => {
      end();
      reject(signal.reason as Error);
    };
    let answered = false;
    lines.once('line', (line) => {
      answered = true;
      end();
      resolve(line);
    });
    // In raw mode Ctrl-C is a key like any other.
    lines.once('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    lines.once('close', () => {
      if (answered || signal.aborted) return;
      end();
      const hint = 'run the command again and answer the question';
      reject(new CliError('no-answer', 'no answer was given', hint));
    });
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  return /^y(es)?$/i.test((await ask(`${question} [y/N] `, signal)).trim());
}

/** Reads a two-factor code from SZ_CODE or the terminal. */
export function codeAsker({ settings, signal }: Pick<Invocation, 'settings' | 'signal'>) {
  return async (): Promise<string> => {
    if (settings.code !== undefined) return settings.code;
    if (canAsk()) return ask('two-factor code: ', signal);
    const hint = 'set SZ_CODE to the code in the authenticator app';
    throw new CliError('code-needed', 'a two-factor code is needed', hint, exits.wrongPassword);
  };
}

export interface SecretQuestion {
  source: SecretSource;
  /** As in "password: ". */
  what: string;
  /** Asks twice, where a typing error would be stored. */
  twice?: boolean;
  signal: AbortSignal;
}

/** Reads a secret from the environment, a file or the terminal; never from the command line, which others can see. */
export async function readSecret({ source, what, twice, signal }: SecretQuestion): Promise<string> {
  const given = await configuredSecret(source, what);
  if (given !== undefined) return given;
  if (!canAsk()) throw new UsageError(`no ${what}, and no terminal to ask for it`, `set ${source.names}`);
  const secret = await ask(`${what}: `, signal, true);
  if (twice && secret !== (await ask(`${what} again: `, signal, true))) {
    throw new UsageError(`the two ${what}s differ`, 'run the command again');
  }
  return secret;
}

export const isConfigured = ({ text, file }: SecretSource) => text !== undefined || file !== undefined;

export async function configuredSecret(source: SecretSource, what: string): Promise<string | undefined> {
  if (source.text !== undefined) return source.text;
  if (source.file === undefined) return undefined;
  try {
    return (await readFile(source.file, 'utf8')).replace(/\r?\n$/, '');
  } catch (cause) {
    const message = `${what} file ${source.file}: ${explain(cause).message}`;
    throw new CliError('secret-file', message, 'check the path', exits.failed, { cause });
  }
}
