import { randomInt } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import type { Bytes, Engine, NetworkError } from '@szafa/client/node';
import {
  newRecoveryKey,
  parseRecoveryText,
  plainRecoveryText,
  RECOVERY_GROUPS,
  recoveryKeyIn,
  recoverySheet,
  recoveryText,
} from '@szafa/client/node';
import type { Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { checkExclusive } from '../../options.ts';
import { oneLine } from '../print/text.ts';
import { ask, canAsk, configuredSecret } from './secrets.ts';

const TRIES = 3;
const ROW = RECOVERY_GROUPS / 2;

/** A new recovery key that the user already has, on paper or in a file, but that is not valid yet. */
export interface PreparedKey {
  key: Bytes;
  /** The file with the key; undefined if the key was shown. */
  path: string | undefined;
  /** Deletes the file of a key that will never be valid. */
  discard(): Promise<void>;
  /** Tells the user to keep a key that may or may not be valid. */
  warnUncertain(): void;
}

interface Account {
  server: string;
  username: string;
}

/** Writes the key to a new file. Syncs it, because the server accepts the key next; never overwrites a file. */
async function write(path: string, text: string): Promise<void> {
  const handle = await open(path, 'wx', 0o600).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'EEXIST') throw cause;
    const hint = 'it may hold the key of another account: choose another path with --recovery-file';
    throw new CliError('exists', `${oneLine(path)} already exists`, hint, { cause });
  });
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Shows the key, and returns once the user has typed two of its groups. */
async function show(text: string, { server, username }: Account, signal: AbortSignal): Promise<void> {
  const groups = text.split('-');
  const lines = [
    '',
    `recovery key of ${oneLine(username)} at ${oneLine(server)}:`,
    '',
    `    ${groups.slice(0, ROW).join('-')}`,
    `    ${groups.slice(ROW).join('-')}`,
    '',
    'Write it down, or print it, and keep it apart from the password: it opens the account if the',
    'password is lost. It is shown only now.',
    '',
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  const asked = [randomInt(0, ROW), randomInt(ROW, RECOVERY_GROUPS)];
  const wanted = asked.map((at) => groups[at]!).join('');
  const question = `type groups ${asked[0]! + 1} and ${asked[1]! + 1} of it, as you wrote them down: `;
  for (let tried = 0; tried < TRIES; tried++) {
    if (plainRecoveryText(await ask(question, signal)) === wanted) return;
    process.stderr.write('those groups do not match the key above; count groups from the left\n');
  }
  const hint = 'nothing was changed; run the command again, and write the new key down';
  throw new CliError('not-confirmed', 'the recovery key was not confirmed', hint);
}

/** Creates a key and gives it to the user. Returns undefined with --no-recovery, or if it is `optional` and there is no terminal. */
export async function prepareKey(
  { flags, out, signal }: Invocation,
  engine: Engine,
  account: Account,
  optional: boolean,
): Promise<PreparedKey | undefined> {
  const path = flags['recovery-file'];
  checkExclusive(flags, 'recovery-file', 'no-recovery');
  if (flags['no-recovery']) return undefined;
  if (path === undefined && !canAsk()) {
    if (!optional) {
      const message = 'no terminal to show the recovery key on';
      throw new UsageError(message, 'write it to a file with --recovery-file PATH');
    }
    const message =
      'no recovery key: if you lose your password, your files are gone. Create one with "szafa recovery"';
    out.note('no-recovery', message);
    return undefined;
  }
  const key = newRecoveryKey(engine);
  const text = await recoveryText(engine, key);
  if (path === undefined) await show(text, account, signal);
  else await write(path, recoverySheet(text, account));
  return {
    key,
    path,
    async discard() {
      if (path !== undefined) await rm(path, { force: true });
    },
    warnUncertain() {
      const which = path === undefined ? 'that was shown' : `in ${oneLine(path)}`;
      const message = `the recovery key ${which} may or may not be valid: keep it, and create another one later: szafa recovery`;
      out.note('recovery-key-doubtful', message, { file: path });
    },
  };
}

/** Error codes that prove the key is not valid: the server refused it, or nothing was sent. */
const REFUSED = new Set([
  ...['unchanged', 'wrong-password', 'username-taken', 'registration-refused', 'recovery-needed'],
  ...['known-account', 'same-secret', 'usage', 'rule', 'raw-refused', 'weak-secret'],
  ...['bad-request', 'unauthorized', 'forbidden', 'not-found', 'conflict', 'too-large', 'rate-limited'],
]);

/** Runs the work that makes the key valid. On failure deletes the key only if it is certainly not valid: it may be the only copy. */
export async function withKey<T>(prepared: PreparedKey | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const unsent = (error as Partial<NetworkError>).sent === false;
    if (unsent || REFUSED.has(explain(error).code)) await prepared?.discard();
    else prepared?.warnUncertain();
    throw error;
  }
}

/** Reads a recovery key from the environment, a file or the terminal. Typing is visible, because the key is too long to type blindly. */
export async function readKey({ settings, signal }: Invocation, engine: Engine): Promise<Bytes> {
  const source = settings.recoveryKey;
  const given = await configuredSecret(source, 'recovery key');
  if (given !== undefined) return recoveryKeyIn(engine, given);
  if (!canAsk()) {
    const message = 'no recovery key, and no terminal to ask for it';
    throw new UsageError(message, `set ${source.names}, or --key-file`);
  }
  for (let tried = 1; ; tried++) {
    try {
      return await parseRecoveryText(engine, await ask('recovery key: ', signal));
    } catch (error) {
      const { code, message } = explain(error);
      if (code !== 'recovery-key' || tried === TRIES) throw error;
      process.stderr.write(`${message}\n`);
    }
  }
}
