import { Szafa } from '@szafa/client/node';
import { toBase64Url } from '@szafa/format';
import { checkPassword, cleanUsername } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { clientOptions, connect, explainLogin, serverFor } from '../../lib/account/connection.ts';
import { type PreparedKey, prepareKey, withKey } from '../../lib/account/recovery.ts';
import {
  ask,
  canAsk,
  checkKeys,
  checkNewSecret,
  codeAsker,
  endSession,
  isConfigured,
  passwordMode,
  readSecret,
} from '../../lib/account/secrets.ts';
import { type StoredSession, sessionStore } from '../../lib/account/session-store.ts';
import { oneLine } from '../../lib/print/text.ts';

/** Returns the account name for a command that starts a session, and asks for it if none is given. */
export async function readUsername(
  { args, settings, signal }: Invocation,
  stored: string | undefined,
): Promise<string> {
  const given = args[0] ?? settings.user ?? stored;
  if (given !== undefined) return cleanUsername(given);
  if (!canAsk()) throw new UsageError('no username', 'give it after the command, or set SZ_USER');
  return cleanUsername(await ask('username: ', signal));
}

/** Explains a refused registration in our own words: a hostile server could use its message to ask the user for secrets. */
function explainRegistration(error: unknown, username: string, isInvited: boolean): void {
  const { code } = explain(error);
  if (code === 'conflict') {
    const message = `the username ${oneLine(username)} is taken`;
    const hint = `choose another, or log in if it is yours: szafa login ${oneLine(username)}`;
    throw new CliError('username-taken', message, hint, { cause: error });
  }
  if (code !== 'forbidden') return;
  const isClosed = error instanceof Error && error.message === 'registration is closed';
  const rule = isInvited
    ? 'the invitation is wrong, used or expired'
    : 'this server needs an invitation for a new account';
  const [message, hint] = isClosed
    ? ['sign-ups are closed on this server', 'ask its operator']
    : [rule, 'ask its operator for an invitation, then: szafa register --invite'];
  throw new CliError('registration-refused', message, hint, { cause: error });
}

async function startSession(how: 'register' | 'login', invocation: Invocation): Promise<void> {
  const { settings, flags, out, signal } = invocation;
  const isNew = how === 'register';
  const store = sessionStore({ settings, out });
  const stored = await store.load();
  const server = serverFor(settings, stored);
  const username = await readUsername(invocation, isNew ? undefined : stored?.username);
  const raw = flags['raw-password'] ?? false;
  const mode = passwordMode(settings.config, server, username);
  await mode.check(raw ? 'raw' : 'derived');
  const read = async (source: typeof settings.password, what: string) => {
    const secret = await readSecret({ source, what, twice: isNew, signal });
    if (raw && what === 'password') checkPassword(secret);
    return secret;
  };
  const password = await read(settings.password, 'password');
  const hasPassphrase = flags.passphrase || isConfigured(settings.passphrase);
  const passphrase = hasPassphrase ? await read(settings.passphrase, 'passphrase') : undefined;
  const isInvited = isNew && (flags.invite || isConfigured(settings.invite));
  const invite = isInvited
    ? (await readSecret({ source: settings.invite, what: 'invitation', signal })).trim()
    : undefined;
  if (isNew) {
    await checkNewSecret(password, 'password', username);
    if (passphrase !== undefined) await checkNewSecret(passphrase, 'passphrase', username);
  }
  await using client = clientOptions(invocation, server);
  const { options } = client;
  let prepared: PreparedKey | undefined;
  // With only a raw password the account opens no files, so there are no keys to recover.
  const opensFiles = !raw || passphrase !== undefined;
  if (isNew && opensFiles) {
    prepared = await prepareKey(invocation, options.engine!, { server, username }, true);
  }
  const secrets = {
    ...{ username, password, passphrase, raw, invite, device: settings.device },
    ...{ askCode: codeAsker(invocation), recoveryKey: prepared?.key },
  };
  const szafa = await withKey(prepared, () =>
    Szafa[how](options, secrets).catch((error) => {
      if (isNew) explainRegistration(error, username, invite !== undefined);
      return explainLogin(error, mode);
    }),
  );
  await mode.save(raw ? 'raw' : 'derived');
  try {
    await checkKeys(szafa, isNew ? undefined : passphrase, invocation);
  } catch (error) {
    await endSession(szafa, signal);
    throw error;
  }
  const kek = szafa.keys.unlocked ? { kek: toBase64Url(szafa.keys.kek) } : {};
  await store.save({ server, username, token: szafa.token!, ...kek });
  const path = prepared?.path;
  const where = path === undefined ? '' : `; the recovery key is in ${oneLine(path)}`;
  const text = `${isNew ? 'registered and logged in' : 'logged in'} as ${username} at ${oneLine(server)}${where}`;
  out.done('session', { server, username, ...(path !== undefined && { recovery_file: path }) }, text);
  if (opensFiles) return;
  const message =
    'the server knows a raw password, so files cannot be encrypted with it: log in with --passphrase';
  out.note('locked', message);
}

export const register: Command = (invocation) => startSession('register', invocation);
export const login: Command = (invocation) => startSession('login', invocation);

/** Deletes the keys from this machine even if the server cannot be reached. */
export const logout: Command = async (invocation) => {
  const { settings, out, signal } = invocation;
  const store = sessionStore({ settings, out });
  const stored = await store.load();
  if (!stored && !isConfigured(settings.token)) {
    throw new CliError('not-logged-in', 'not logged in', 'there is no session to end');
  }
  let failure: unknown;
  try {
    await using szafa = await connect(stored ? useStored(stored, invocation) : invocation, 'none');
    await szafa.logout({ signal });
  } catch (error) {
    failure = error;
  }
  await store.remove();
  if (failure !== undefined) {
    signal.throwIfAborted();
    const { code, message } = explain(failure);
    // The server rejects the token: the session has already ended.
    if (code !== 'unauthorized') {
      const hint = 'the keys are deleted from this machine; the token expires by itself after some weeks';
      const what = `the session could not be ended on the server: ${message}`;
      throw new CliError(code, what, hint, { cause: failure });
    }
  }
  out.done('logout', { server: stored?.server, username: stored?.username }, 'logged out');
};

const NONE = { text: undefined, file: undefined, names: '' };

/** Makes logout end the stored session, even if the environment names another account or token. */
function useStored({ server, username }: StoredSession, invocation: Invocation): Invocation {
  return { ...invocation, settings: { ...invocation.settings, server, user: username, token: NONE } };
}
