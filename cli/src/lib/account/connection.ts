import type { ConnectOptions, SavedSession, SzafaError, TransportRequest } from '@szafa/client/node';
import {
  batching,
  fileContacts,
  fileHeaders,
  filePins,
  fileRevs,
  nodeEngine,
  nodeTransport,
  rateLimit,
  Szafa,
} from '@szafa/client/node';
import { cleanUsername } from '@szafa/protocol';
import type { Command, Invocation } from '../../command.ts';
import { CliError, exits, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import type { Output } from '../print/output.ts';
import { parseRate } from '../print/quantities.ts';
import { oneLine } from '../print/text.ts';
import { createLookup, type Lookup } from '../select/lookup.ts';
import {
  checkKeys,
  codeAsker,
  configuredSecret,
  endSession,
  isConfigured,
  type PasswordMode,
  passwordMode,
  readSecret,
} from './secrets.ts';
import { type StoredSession, sessionStore } from './session-store.ts';
import type { Settings } from './settings.ts';

/** Source of the SDK's worker, set by the packing script: the packed command is one file. */
declare const SZAFA_WORKER: string | undefined;

const TRANSFER_RETRY_S = 120;
const RETRY_S = 10;
/** Least time between two retry notes. */
const RETRY_NOTE_MS = 15_000;

/** `needed` asks for the password if no key is stored; `useful` continues without keys then. */
export type Keys = 'needed' | 'useful' | 'none';

/** An invocation with a connection to the account. */
export interface AccountInvocation extends Invocation {
  szafa: Szafa;
  lookup: Lookup;
}

/** A session with the server that closes itself, for `await using`. */
export type Connection = Szafa & AsyncDisposable;

const disposable = (szafa: Szafa, close: () => Promise<void>): Connection =>
  Object.assign(szafa, { [Symbol.asyncDispose]: close });

interface AccountNeeds {
  keys: Keys | ((invocation: Invocation) => Keys);
  /** Checks the usage before any question or request. */
  check?: (invocation: Invocation) => unknown;
  /** Files at once, see `connect`. */
  transfers?: (invocation: Invocation) => number;
}

/** Returns a command that connects to the account and then runs `work`. */
export function withAccount(
  needs: Keys | AccountNeeds,
  work: (account: AccountInvocation) => Promise<void>,
): Command {
  const { keys, check, transfers }: AccountNeeds = typeof needs === 'string' ? { keys: needs } : needs;
  return async (invocation) => {
    check?.(invocation);
    const wanted = typeof keys === 'string' ? keys : keys(invocation);
    await using szafa = await connect(invocation, wanted, transfers?.(invocation));
    await work({ ...invocation, szafa, lookup: createLookup(szafa, invocation.signal) });
  };
}

/** Notes that requests are being retried, and that the server answers again. */
function retryNotes(out: Output, seconds: number) {
  let failingSince = 0;
  let lastNote = 0;
  return {
    onRetry(error: Error): void {
      failingSince ||= Date.now();
      // Several transfers can fail at the same time: one note is enough.
      if (Date.now() - lastNote < RETRY_NOTE_MS) return;
      lastNote = Date.now();
      const left = Math.max(1, seconds - Math.round((Date.now() - failingSince) / 1000));
      const why = oneLine(error.message).replace(/; try again later$/, '');
      out.note('retry', `${why}; trying again for up to ${left} s`, { seconds_left: left });
    },
    onResponse(status: number): void {
      if (failingSince === 0 || status >= 500 || status === 429) return;
      failingSince = 0;
      lastNote = 0;
      out.note('answers', 'the server answers again');
    },
  };
}

/** Creates the engine, transport and retry rules of one command, for `await using`. */
export function clientOptions(invocation: Invocation, server: string, transfers?: number) {
  const { flags, settings, out, signal } = invocation;
  const worker =
    typeof SZAFA_WORKER === 'undefined'
      ? undefined
      : new URL(`data:text/javascript;base64,${Buffer.from(SZAFA_WORKER).toString('base64')}`);
  const engine = nodeEngine({ worker });
  const throttle = flags.bwlimit === undefined ? undefined : rateLimit(parseRate('bwlimit', flags.bwlimit));
  const sending = batching(nodeTransport({ connections: Math.max(16, (transfers ?? 1) * 4), throttle }));
  const seconds = settings.retrySeconds ?? (transfers === undefined ? RETRY_S : TRANSFER_RETRY_S);
  const { onRetry, onResponse } = retryNotes(out, seconds);
  const watching = async (request: TransportRequest) => {
    const response = await sending(request);
    onResponse(response.status);
    return response;
  };
  const transport = Object.assign(watching, { close: () => sending.close() });
  const headers = fileHeaders(settings.config, server);
  const options: ConnectOptions = {
    ...{ server, engine, transport, headers, onRetry, signal },
    retry: { forMs: seconds * 1000 },
    revs: fileRevs(settings.config, server),
    contacts: fileContacts(settings.config),
    pins: filePins(settings.config, server, (path) => {
      const message = `${oneLine(path)} is damaged. It holds the server and the keys of another account than this one. Do not delete it before you know why`;
      out.note('pins-damaged', message, { path });
    }),
    onKnownElsewhere: (addresses) => {
      const others = addresses.map(oneLine).join(', ');
      const message = `this server claims to be the one at ${others}. If it has not moved here, stop now and change your password there`;
      out.note('known-elsewhere', message, { server, known_as: addresses });
    },
  };
  const close = async () => {
    headers.close();
    transport.close();
    await engine.close();
  };
  return { options, close, [Symbol.asyncDispose]: close };
}

/** Normalizes an address, because stored data is keyed by it. */
export function normalizeServer(server: string): string {
  try {
    const { origin, pathname, protocol } = new URL(server);
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(protocol);
    return `${origin}${pathname.replace(/\/+$/, '')}`;
  } catch {
    throw new UsageError(`"${oneLine(server)}" is not an address`, 'give one like https://szafa.example');
  }
}

/** Returns the server for a command that starts a session. */
export function serverFor({ server }: Settings, stored: StoredSession | undefined): string {
  const given = server ?? stored?.server;
  if (given === undefined) throw new UsageError('no server given', 'give its address: --server URL');
  return normalizeServer(given);
}

/**
 * Connects with SZ_TOKEN, the stored session, or a login for this command alone. `transfers` is the number of files at once; if it is
 * given, failed requests are retried for longer.
 */
export async function connect(invocation: Invocation, keys: Keys, transfers?: number): Promise<Connection> {
  const { settings, out } = invocation;
  const stored = await sessionStore({ settings, out }).load();
  const server = settings.server ?? stored?.server;
  if (server === undefined) throw new UsageError('not logged in', 'log in first: szafa login --server URL');
  const address = normalizeServer(server);
  const here = stored && normalizeServer(stored.server) === address ? stored : undefined;
  const own = here && (settings.user ?? here.username) === here.username ? here : undefined;
  const { options, close } = clientOptions(invocation, address, transfers);
  try {
    const token = await configuredSecret(settings.token, 'token');
    if (token !== undefined) {
      return disposable(await openToken(invocation, keys, options, token, here), close);
    }
    if (own) return disposable(await Szafa.open(options, keptSession(own)), close);
    return await loginOnce(invocation, keys, options, close, stored);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without a key (an account with only a raw password) the session cannot open files. */
function keptSession({ username, token, kek }: StoredSession): SavedSession {
  if (kek === undefined) return { username, token };
  return { username, token, kek: new Uint8Array(Buffer.from(kek, 'base64url')) };
}

/** Asks the server who owns the token, so that nothing is sealed with the keys of another account. */
async function openToken(
  invocation: Invocation,
  keys: Keys,
  options: ConnectOptions,
  token: string,
  here: StoredSession | undefined,
): Promise<Szafa> {
  const { settings, signal } = invocation;
  const bare = await Szafa.open(options, { username: settings.user ?? '', token });
  if (keys === 'none') return bare;
  const { username } = await bare.api.call('me', { signal });
  if (settings.user !== undefined && settings.user !== username) {
    const message = `the token belongs to ${oneLine(username)}, not to ${oneLine(settings.user)}`;
    throw new UsageError(message, 'set SZ_USER to the same account, or unset it');
  }
  if (here?.username === username && here.kek !== undefined) {
    return Szafa.open(options, keptSession({ ...here, token }));
  }
  const isPassword = !isConfigured(settings.passphrase);
  const source = isPassword ? settings.password : settings.passphrase;
  const secret =
    keys === 'useful'
      ? await configuredSecret(source, 'password')
      : await readSecret({ source, what: 'password', signal });
  const szafa = await Szafa.open(options, { username, token, secret, isPassword });
  if (keys === 'needed') await checkKeys(szafa, secret, invocation);
  return szafa;
}

function noSession(user: string | undefined, server: string, stored: StoredSession | undefined): string {
  if (!stored) return 'not logged in';
  const wanted = user === undefined ? '' : ` for ${oneLine(user)}`;
  const other = `${oneLine(stored.username)} at ${oneLine(stored.server)}`;
  return `no session${wanted} at ${oneLine(server)} (the stored session is for ${other})`;
}

/** Logs in for this command alone and out at its end, for scripts that set SZ_SERVER, SZ_USER and SZ_PASSWORD. Stores no session. */
async function loginOnce(
  invocation: Invocation,
  keys: Keys,
  options: ConnectOptions,
  close: () => Promise<void>,
  stored: StoredSession | undefined,
): Promise<Connection> {
  const { settings, signal } = invocation;
  const { user: username, device, config } = settings;
  const password = await configuredSecret(settings.password, 'password');
  if (password === undefined || username === undefined) {
    const message = noSession(username, options.server, stored);
    throw new CliError('not-logged-in', message, 'log in first: szafa login');
  }
  const passphrase = keys === 'none' ? undefined : await configuredSecret(settings.passphrase, 'passphrase');
  const secrets = { username, password, passphrase, device, askCode: codeAsker(invocation) };
  const mode = passwordMode(config, options.server, cleanUsername(username));
  const szafa = await Szafa.login(options, secrets).catch((error) => explainLogin(error, mode));
  const leave = async () => {
    await endSession(szafa, signal);
    await close();
  };
  await mode.save('derived').catch(() => {}); // the folder may be read-only
  try {
    if (keys === 'needed') await checkKeys(szafa, passphrase, invocation);
  } catch (error) {
    await leave();
    throw error;
  }
  return disposable(szafa, leave);
}

/**
 * Turns a refused login into `wrong-password`. A hostile server could tell users which secret to send, so its message is left out of a
 * refusal and quoted as the server's elsewhere.
 */
export async function explainLogin(error: unknown, mode: PasswordMode): Promise<never> {
  if ((error as Partial<SzafaError>).code !== 'api') throw error;
  const { code, message, hint, exit } = explain(error);
  if (code !== 'unauthorized') {
    throw new CliError(code, `the server says: ${message}`, hint, { exit, cause: error });
  }
  const raw = (await mode.load()) === 'raw' ? '; this machine has used it with --raw-password so far' : '';
  const advice = `check username and password${raw}`;
  const refused = 'the login was refused';
  throw new CliError('wrong-password', refused, advice, { exit: exits.wrongPassword, cause: error });
}
