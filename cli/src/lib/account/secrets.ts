import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { type Proof, readIfPresent, type Szafa, writeAtomic } from '@szafa/client/node';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import type { Invocation } from '../../command.ts';
import { CliError, exits, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { oneLine } from '../print/text.ts';
import type { SecretSource } from './settings.ts';

export function canAsk(): boolean {
  return process.stdin.isTTY === true;
}

/** Asks on the terminal and reads one line. A secret is not echoed. */
export function ask(question: string, signal: AbortSignal, secret = false): Promise<string> {
  return new Promise((resolve, reject) => {
    const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
    const output = secret ? silent : process.stderr;
    const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 });
    // Ask only now that the echo is off, so that a pasted secret never shows.
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
    // In raw mode Ctrl-C does not raise a signal by itself.
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

/** Returns a function that reads a two-factor code from SZ_CODE or the terminal. */
export function codeAsker({ settings, signal }: Pick<Invocation, 'settings' | 'signal'>) {
  return async (): Promise<string> => {
    if (settings.code !== undefined) return settings.code;
    if (canAsk()) return ask('two-factor code: ', signal);
    const hint = 'set SZ_CODE to the code in the authenticator app';
    throw new CliError('code-needed', 'a two-factor code is needed', hint, { exit: exits.wrongPassword });
  };
}

interface SecretQuestion {
  source: SecretSource;
  /** Name of the secret in questions and errors, such as "password". */
  what: string;
  /** Asks twice, for a new secret that a typing error would make unusable. */
  twice?: boolean;
  signal: AbortSignal;
}

/** Reads a secret from the environment, a file or the terminal; never from the command line, which other users can see. */
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
    throw new CliError('secret-file', message, 'check the path', { cause });
  }
}

/** Throws if a new password or passphrase is too weak. The web app has the same rule. */
export async function checkNewSecret(secret: string, what: string, username: string): Promise<void> {
  const weakness = await weaknessOf(secret, [username]);
  if (weakness === undefined) return;
  const { min, max } = SECRET_CHARS;
  const rule = `the ${what} must have ${min} to ${max} characters`;
  const message = weakness === 'guessable' ? `this ${what} is too easy to guess` : rule;
  const hint = 'use a few unrelated words, or a dozen random characters; nobody can recover it for you';
  throw new CliError('weak-secret', message, hint, { exit: exits.usage });
}

/**
 * Opens the key bag, so that a wrong secret fails now and not after files were sealed with it. In an account without keys, `unchecked`
 * becomes the secret of a new key bag, so it must be strong enough.
 */
export async function checkKeys(
  szafa: Szafa,
  unchecked: string | undefined,
  { flags, signal }: Invocation,
): Promise<void> {
  if (!szafa.keys.unlocked) return;
  const beforeFirst = async () => {
    if (unchecked !== undefined) await checkNewSecret(unchecked, 'passphrase', szafa.username);
  };
  await szafa.checkKeys({ signal, filesOnly: flags.yes, beforeFirst });
}

/** Ends a session that is no longer needed. Gives up after two seconds: the token expires anyway. */
export async function endSession(szafa: Szafa, signal: AbortSignal): Promise<void> {
  await szafa.logout({ signal: AbortSignal.any([AbortSignal.timeout(2000), signal]) }).catch(() => {});
}

/** Whether a login sends a secret derived from the password, or the password itself. */
type Mode = 'derived' | 'raw';

export type PasswordMode = ReturnType<typeof passwordMode>;

/**
 * Remembers how this machine logs in to an account. A hostile server could refuse the derived secret to make the user send the password
 * itself, so an account that has used a derived secret never goes back. The file holds no secret, and logout keeps it.
 */
export function passwordMode(folder: string, server: string, username: string) {
  const id = createHash('sha256').update(JSON.stringify([server, username.toLowerCase()]));
  const path = join(folder, `account-${id.digest('hex').slice(0, 32)}.json`);
  const load = async (): Promise<Mode | undefined> => {
    const text = (await readIfPresent(path))?.toString();
    if (text === undefined) return undefined;
    // Treat a damaged file as derived: it must not allow sending the password.
    return /"password":"raw"/.test(text) ? 'raw' : 'derived';
  };
  return {
    path,
    load,
    async check(wanted: Mode): Promise<void> {
      if (wanted === 'derived' || (await load()) !== 'derived') return;
      const message = `the password of ${username} at ${oneLine(server)} has never left this machine, and will not be sent now`;
      const hint = `omit --raw-password. If this is really a different account now, delete ${path}`;
      throw new CliError('raw-refused', message, hint, { exit: exits.usage });
    },
    async save(mode: Mode): Promise<void> {
      const known = await load();
      if (known === mode || known === 'derived') return;
      await writeAtomic(path, `${JSON.stringify({ server, username, password: mode })}\n`);
    },
  };
}

/** Returns the proof that the server needs to change an account. Reads the password unless `given`. */
export async function proveAccount(
  { flags, settings, signal, szafa: { api, username } }: Invocation & { szafa: Szafa },
  given?: string,
): Promise<Proof> {
  const password = given ?? (await readSecret({ source: settings.password, what: 'password', signal }));
  const raw = flags['raw-password'] ?? false;
  // Use the username known to this machine: one from the server could bypass the check.
  await passwordMode(settings.config, api.server, username).check(raw ? 'raw' : 'derived');
  return { password, raw };
}
