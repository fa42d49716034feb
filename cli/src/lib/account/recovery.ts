import { randomInt } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import {
  type Bytes,
  type Engine,
  type NetworkError,
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
import { oneLine } from '../print/text.ts';
import { ask, canAsk, givenSecret } from './questions.ts';

const TRIES = 3;
const ROW = RECOVERY_GROUPS / 2;

/** A new recovery key that somebody has by now: it was written down, or is in a file. */
export interface PreparedKey {
  key: Bytes;
  /** Where it is, if it was not shown. */
  path: string | undefined;
  /** It will never count. */
  discard(): Promise<void>;
  /** It may count. */
  doubt(): void;
}

interface About {
  server: string;
  username: string;
}

function rows(text: string): string[] {
  const groups = text.split('-');
  return [groups.slice(0, ROW), groups.slice(ROW)].map((row) => row.join('-'));
}

/** Durable before the service hears of the key, and never over another file. */
async function write(path: string, text: string): Promise<void> {
  let handle: Awaited<ReturnType<typeof open>>;
  try {
    handle = await open(path, 'wx', 0o600);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
    const hint = 'it may be the key of another account: choose another path with --recovery-file';
    throw new CliError('exists', `${oneLine(path)} already exists`, hint, 1, { cause });
  }
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Shows it once, and goes on when a part of it comes back. */
async function show(text: string, { server, username }: About, signal: AbortSignal): Promise<void> {
  const lines = [
    '',
    `recovery key of ${oneLine(username)} at ${oneLine(server)}:`,
    '',
    ...rows(text).map((row) => `    ${row}`),
    '',
    'Write it down, or print it, and keep it apart from the password: it opens the account if the',
    'password is lost. It is shown only now.',
    '',
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
  const groups = text.split('-');
  const asked = [randomInt(0, ROW), randomInt(ROW, RECOVERY_GROUPS)];
  const wanted = asked.map((at) => groups[at]!).join('');
  const question = `type groups ${asked[0]! + 1} and ${asked[1]! + 1} of it, as you wrote them down: `;
  for (let tried = 0; tried < TRIES; tried++) {
    if (plainRecoveryText(await ask(question, signal)) === wanted) return;
    process.stderr.write('that is not what is shown above; groups are counted from the left\n');
  }
  const hint = 'nothing was changed; run the command again, and write the new key down';
  throw new CliError('not-confirmed', 'the recovery key was not confirmed', hint);
}

/** A new key for the account, in somebody's hands; undefined where none is wanted, or where `optional` and nobody is there. */
export async function prepareKey(
  { flags, out, signal }: Invocation,
  engine: Engine,
  about: About,
  optional: boolean,
): Promise<PreparedKey | undefined> {
  const path = flags['recovery-file'];
  if (path !== undefined && flags['no-recovery']) {
    throw new UsageError('--recovery-file and --no-recovery exclude each other', 'omit one of them');
  }
  if (flags['no-recovery']) return undefined;
  if (path === undefined && !canAsk()) {
    if (!optional) {
      throw new UsageError(
        'no terminal to show the recovery key on',
        'have it written with --recovery-file PATH',
      );
    }
    out.note(
      'no-recovery',
      'without a recovery key, who loses the password loses the files: szafa recovery makes one',
    );
    return undefined;
  }
  const key = newRecoveryKey(engine);
  const text = await recoveryText(engine, key);
  if (path === undefined) await show(text, about, signal);
  else await write(path, recoverySheet(text, about));
  return {
    key,
    path,
    async discard() {
      if (path !== undefined) await rm(path, { force: true });
    },
    doubt() {
      const which = path === undefined ? 'that was shown' : `in ${oneLine(path)}`;
      const message = `it is not certain that the recovery key ${which} counts: keep it, and make another one afterwards: szafa recovery`;
      out.note('recovery-key-doubtful', message, { file: path });
    },
  };
}

/** The service said no, and did nothing; or nothing was sent. */
const REFUSED = new Set([
  ...['unchanged', 'wrong-password', 'username-taken', 'registration-refused', 'recovery-needed'],
  ...['known-account', 'same-secret', 'usage', 'rule', 'raw-refused', 'weak-secret'],
  ...['bad-request', 'unauthorized', 'forbidden', 'not-found', 'conflict', 'too-large', 'rate-limited'],
]);

/** Runs what makes the key count. Only a key that certainly does not is taken away again: no other copy of it may be there. */
export async function withKey<T>(prepared: PreparedKey | undefined, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const unsent = (error as Partial<NetworkError>).sent === false;
    if (unsent || REFUSED.has(explain(error).code)) await prepared?.discard();
    else prepared?.doubt();
    throw error;
  }
}

/** From the environment, a file, or the terminal, where it is shown: nobody types so much blindly. */
export async function readKey({ settings, signal }: Invocation, engine: Engine): Promise<Bytes> {
  const source = settings.recoveryKey;
  const given = await givenSecret(source, 'recovery key');
  if (given !== undefined) return recoveryKeyIn(engine, given);
  if (!canAsk()) {
    throw new UsageError(
      'no recovery key, and no terminal to ask for it',
      `set ${source.names}, or --key-file`,
    );
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
