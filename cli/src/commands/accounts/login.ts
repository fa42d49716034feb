import { Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import { checkPassword, cleanUsername } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, exits, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { AccountMode } from '../../lib/account/account-mode.ts';
import { clientOptions, explainLogin, sameServer } from '../../lib/account/connection.ts';
import { ask, canAsk, codeAsker, readSecret } from '../../lib/account/questions.ts';
import { type PreparedKey, prepareKey, withKey } from '../../lib/account/recovery.ts';
import { checkKeys, checkNew, endSession } from '../../lib/account/secrets.ts';
import { SessionStore } from '../../lib/account/session-store.ts';
import { oneLine } from '../../lib/print/text.ts';

export async function userOf(
  { args, settings, signal }: Invocation,
  kept: string | undefined,
): Promise<string> {
  const given = args[0] ?? settings.user ?? kept;
  if (given !== undefined) return given;
  if (!canAsk()) throw new UsageError('no username', 'give it after the command, or set SZ_USER');
  return ask('username: ', signal);
}

function explainTaken(error: unknown, username: string): void {
  // In words of our own: the service's could ask for anything.
  if (explain(error).code !== 'conflict') return;
  const hint = `choose another, or log in if it is yours: szafa login ${oneLine(username)}`;
  throw new CliError('username-taken', `the username ${oneLine(username)} is taken`, hint, exits.failed, {
    cause: error,
  });
}

/** Whether it is closed or wants an invitation, the service says; not what was wrong with one that was given. */
function explainRefused(error: unknown, invited: boolean): void {
  if (explain(error).code !== 'forbidden') return;
  const isClosed = error instanceof Error && error.message === 'registration is closed';
  const message = isClosed
    ? 'the server takes no new accounts'
    : invited
      ? 'the invitation is wrong, used or expired'
      : 'the server takes new accounts only with an invitation';
  const hint = isClosed
    ? 'ask its operator'
    : 'ask its operator for an invitation, then: szafa register --invite';
  throw new CliError('registration-refused', message, hint, exits.failed, { cause: error });
}

async function enter(how: 'register' | 'login', invocation: Invocation): Promise<void> {
  const { settings, flags, out, signal } = invocation;
  const store = new SessionStore(settings.config, out);
  const kept = await store.load();
  const given = settings.server ?? kept?.server;
  if (given === undefined) throw new UsageError('no server is known', 'give its address: --server URL');
  const server = sameServer(given);
  const username = cleanUsername(await userOf(invocation, how === 'login' ? kept?.username : undefined));
  const raw = flags['raw-password'] ?? false;
  const mode = new AccountMode(settings.config, server, username);
  await mode.check(raw ? 'raw' : 'derived');
  const twice = how === 'register';
  const password = await readSecret({ source: settings.password, what: 'password', twice, signal });
  if (raw) checkPassword(password);
  const wanted = flags.passphrase || settings.passphrase.text || settings.passphrase.file;
  const passphrase = wanted
    ? await readSecret({ source: settings.passphrase, what: 'passphrase', twice, signal })
    : undefined;
  const invited = flags.invite || settings.invite.text || settings.invite.file;
  const invite =
    how === 'register' && invited
      ? (await readSecret({ source: settings.invite, what: 'invitation', signal })).trim()
      : undefined;
  if (how === 'register') {
    await checkNew(password, 'password', username);
    if (passphrase !== undefined) await checkNew(passphrase, 'passphrase', username);
  }
  const { options, close } = clientOptions(invocation, server);
  let prepared: PreparedKey | undefined;
  try {
    // A raw password alone opens no files, and so there are no keys to recover.
    if (how === 'register' && !(raw && passphrase === undefined)) {
      prepared = await prepareKey(invocation, options.engine!, { server, username }, true);
    }
    const { device } = settings;
    const askCode = codeAsker(invocation);
    const secrets = {
      ...{ username, password, passphrase, raw, invite, device, askCode },
      recoveryKey: prepared?.key,
    };
    const szafa = await withKey(prepared, () =>
      Szafa[how](options, secrets).catch((error) => {
        if (how === 'register') {
          explainTaken(error, username);
          explainRefused(error, invite !== undefined);
        }
        return explainLogin(error, mode);
      }),
    );
    await mode.remember(raw ? 'raw' : 'derived');
    try {
      await checkKeys(szafa, how === 'login' ? passphrase : undefined, invocation);
    } catch (error) {
      await endSession(szafa, signal);
      throw error;
    }
    const kek = szafa.keys.unlocked ? { kek: toBase64Url(szafa.keys.kek) } : {};
    await store.save({ server, username, token: szafa.token!, ...kek });
  } finally {
    await close();
  }
  const verb = how === 'register' ? 'registered and logged in' : 'logged in';
  const where = prepared?.path === undefined ? '' : `; the recovery key is in ${oneLine(prepared.path)}`;
  const file = prepared?.path === undefined ? {} : { recovery_file: prepared.path };
  out.done('session', { server, username, ...file }, `${verb} as ${username} at ${oneLine(server)}${where}`);
  if (raw && passphrase === undefined) {
    out.note(
      'locked',
      'the server knows a raw password, so files cannot be encrypted with it: log in with --passphrase',
    );
  }
}

export const register: Command = (invocation) => enter('register', invocation);
export const login: Command = (invocation) => enter('login', invocation);
