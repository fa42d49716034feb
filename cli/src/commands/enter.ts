import { Szafa, toBase64Url } from '@szafa/client/node';
import { SECRET_CHARS, weaknessOf } from '@szafa/client/strength';
import { checkPassword, cleanUsername } from '@szafa/protocol';
import { AccountMode } from '../account-mode.ts';
import type { Command, Invocation } from '../command.ts';
import { clientOptions, explainLogin, sameServer } from '../connection.ts';
import { CliError, exits, UsageError } from '../errors.ts';
import { ask, canAsk, readSecret } from '../question.ts';
import { SessionStore } from '../session-store.ts';
import { oneLine } from '../text.ts';

const GOODBYE_MS = 2000;

async function userOf({ args, settings, signal }: Invocation, kept: string | undefined): Promise<string> {
  const given = args[0] ?? settings.user ?? kept;
  if (given !== undefined) return given;
  if (!canAsk()) throw new UsageError('no username', 'give it after the command, or set SZ_USER');
  return ask('username: ', signal);
}

/** Before the service hears of it; the page has the same rule. */
async function checkNew(secret: string, what: string, username: string): Promise<void> {
  const weakness = await weaknessOf(secret, [username]);
  if (weakness === undefined) return;
  const { min, max } = SECRET_CHARS;
  const rule = `the ${what} must have ${min} to ${max} characters`;
  const message = weakness === 'guessable' ? `this ${what} is too easy to guess` : rule;
  const hint = 'take a few unrelated words, or a dozen random characters; nobody can bring it back for you';
  throw new CliError('weak-secret', message, hint, exits.usage);
}

/** A wrong passphrase shows here, not when files and directories are already under it; a new one has to be strong. */
async function checkKeys(
  szafa: Szafa,
  passphrase: string | undefined,
  { flags, signal }: Invocation,
): Promise<void> {
  if (!szafa.keyring.unlocked) return;
  try {
    const known = await szafa.checkKeys({ signal, filesOnly: flags.yes });
    if (!known && passphrase !== undefined) await checkNew(passphrase, 'passphrase', szafa.username);
  } catch (error) {
    await szafa.logout({ signal: AbortSignal.timeout(GOODBYE_MS) }).catch(() => {}); // it ends by itself, later
    throw error;
  }
}

async function enter(how: 'register' | 'login', invocation: Invocation): Promise<void> {
  const { settings, flags, out, signal } = invocation;
  const store = new SessionStore(settings.config, out);
  const kept = await store.load();
  const given = settings.server ?? kept?.server;
  if (given === undefined) throw new UsageError('no service is known', 'give its address: --server URL');
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
  if (how === 'register') {
    await checkNew(password, 'password', username);
    if (passphrase !== undefined) await checkNew(passphrase, 'passphrase', username);
  }
  const { options, close } = clientOptions(invocation, server);
  try {
    const secrets = { username, password, passphrase, raw };
    const szafa = await Szafa[how](options, secrets).catch((error) => explainLogin(error, mode));
    if (how === 'login') await checkKeys(szafa, passphrase, invocation);
    await mode.remember(raw ? 'raw' : 'derived');
    const kek = szafa.keyring.unlocked ? { kek: toBase64Url(szafa.keyring.kek) } : {};
    await store.save({ server, username, token: szafa.token!, ...kek });
  } finally {
    await close();
  }
  const verb = how === 'register' ? 'registered and logged in' : 'logged in';
  out.done('session', { server, username }, `${verb} as ${username} at ${oneLine(server)}`);
  if (raw && passphrase === undefined) {
    out.note(
      'locked',
      'the service knows a raw password, so no file can be sealed with it: log in with --passphrase',
    );
  }
}

export const register: Command = (invocation) => enter('register', invocation);
export const login: Command = (invocation) => enter('login', invocation);
