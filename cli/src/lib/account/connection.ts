import {
  batching,
  type ConnectOptions,
  fileContacts,
  fileHeaders,
  filePins,
  fileRevs,
  type Kept,
  nodeEngine,
  nodeTransport,
  rateLimit,
  Szafa,
  type SzafaError,
  type TransportRequest,
} from '@szafa/client/node';
import { cleanUsername } from '@szafa/protocol';
import type { Invocation } from '../../command.ts';
import { CliError, exits, UsageError } from '../../errors.ts';
import { explain } from '../../explain.ts';
import { parseRate } from '../print/quantities.ts';
import { oneLine } from '../print/text.ts';
import { AccountMode } from './account-mode.ts';
import { codeAsker, givenSecret, readSecret } from './questions.ts';
import { checkKeys, endSession } from './secrets.ts';
import { type KeptSession, SessionStore } from './session-store.ts';

/** Set by the packing script: the source of the SDK's worker, which has no file of its own there. */
declare const SZAFA_WORKER: string | undefined;

const TRANSFER_RETRY_S = 120;
const RETRY_S = 10;
/** Between two lines about the same trouble. */
const TELL_MS = 15_000;

export interface ConnectionNeeds {
  /** `needed`: asks for the password where no key is kept; `useful`: goes on without. */
  keys: 'needed' | 'useful' | 'none';
  /** How many files at once; a command that transfers waits longer for a service that is away. */
  transfers?: number;
}

/** A session with the service, and what has to be closed after it. */
export class Connection {
  readonly szafa: Szafa;
  readonly #close: () => Promise<void>;

  constructor(szafa: Szafa, close: () => Promise<void>) {
    this.szafa = szafa;
    this.#close = close;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** Engine, transport and retries for one command. */
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
  let since = 0;
  let told = 0;
  const onRetry = (error: Error) => {
    since ||= Date.now();
    // Several transfers meet the same trouble at once.
    if (Date.now() - told < TELL_MS) return;
    told = Date.now();
    const left = Math.max(1, seconds - Math.round((Date.now() - since) / 1000));
    const why = oneLine(error.message).replace(/; try again later$/, '');
    out.note('retry', `${why}; trying again for up to ${left} s`, { seconds_left: left });
  };
  const watching = async (request: TransportRequest) => {
    const response = await sending(request);
    if (since > 0 && response.status < 500 && response.status !== 429) {
      since = 0;
      told = 0;
      out.note('answers', 'the server answers again');
    }
    return response;
  };
  const transport = Object.assign(watching, { close: () => sending.close() });
  const headers = fileHeaders(settings.config, server);
  const options: ConnectOptions = {
    server,
    engine,
    transport,
    retry: { forMs: seconds * 1000 },
    onRetry,
    revs: fileRevs(settings.config, server),
    contacts: fileContacts(settings.config),
    pins: filePins(settings.config, server, (path) => {
      const message = `${oneLine(path)} is damaged. It remembers a server and the keys that it gave, of another account than this. Do not delete it before you know why`;
      out.note('pins-damaged', message, { path });
    }),
    headers,
    onKnownElsewhere: (addresses) => {
      const others = addresses.map(oneLine).join(', ');
      const message = `this server says that it is the one at ${others}. If it has not moved here, stop now and change your password there`;
      out.note('known-elsewhere', message, { server, known_as: addresses });
    },
    signal,
  };
  const close = async () => {
    headers.close();
    transport.close();
    await engine.close();
  };
  return { options, close };
}

/** The same address in one way of writing. */
export function sameServer(server: string): string {
  try {
    const { origin, pathname, protocol } = new URL(server);
    if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError(protocol);
    return `${origin}${pathname.replace(/\/+$/, '')}`;
  } catch {
    throw new UsageError(`"${oneLine(server)}" is not an address`, 'give one like https://szafa.example');
  }
}

/** The session of this command: SZ_TOKEN, the kept one, or a login for this command alone. */
export async function connect(invocation: Invocation, needs: ConnectionNeeds): Promise<Connection> {
  const { settings, out } = invocation;
  const kept = await new SessionStore(settings.config, out).load();
  const server = settings.server ?? kept?.server;
  if (server === undefined) {
    throw new UsageError('not logged in', 'log in first: szafa login --server URL');
  }
  const address = sameServer(server);
  const here = kept && sameServer(kept.server) === address ? kept : undefined;
  const own = here && (settings.user ?? here.username) === here.username ? here : undefined;
  const { options, close } = clientOptions(invocation, address, needs.transfers);
  try {
    const token = await givenSecret(settings.token, 'token');
    if (token !== undefined) {
      return new Connection(await openToken(invocation, needs, options, token, here), close);
    }
    if (own) return new Connection(await Szafa.open(options, keptSession(own)), close);
    return await enterOnce(invocation, needs, options, close, kept);
  } catch (error) {
    await close();
    throw error;
  }
}

/** Without a key for a session that has none: a raw password opens no files, as was said at the login. */
function keptSession({ username, token, kek }: KeptSession): Kept {
  if (kek === undefined) return { username, token };
  return { username, token, kek: new Uint8Array(Buffer.from(kek, 'base64url')) };
}

/** The service says whose token it is: keys of another account must not seal anything in this one. */
async function openToken(
  invocation: Invocation,
  { keys }: ConnectionNeeds,
  options: ConnectOptions,
  token: string,
  here: KeptSession | undefined,
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
  const { passphrase, password } = settings;
  const isPassword = passphrase.text === undefined && passphrase.file === undefined;
  const source = isPassword ? password : passphrase;
  const secret =
    keys === 'useful'
      ? await givenSecret(source, 'password')
      : await readSecret({ source, what: 'password', signal });
  const szafa = await Szafa.open(options, { username, token, secret, isPassword });
  if (keys === 'needed') await checkKeys(szafa, secret, invocation);
  return szafa;
}

function noSession(user: string | undefined, server: string, kept: KeptSession | undefined): string {
  if (!kept) return 'not logged in';
  const wanted = user === undefined ? '' : ` for ${oneLine(user)}`;
  const other = `${oneLine(kept.username)} at ${oneLine(kept.server)}`;
  return `no session${wanted} at ${oneLine(server)} (the stored session is for ${other})`;
}

/** A login for one command, ended with it: scripts set SZ_SERVER, SZ_USER and SZ_PASSWORD, and nothing is kept. */
async function enterOnce(
  invocation: Invocation,
  { keys }: ConnectionNeeds,
  options: ConnectOptions,
  close: () => Promise<void>,
  kept: KeptSession | undefined,
): Promise<Connection> {
  const { settings, signal } = invocation;
  const password = await givenSecret(settings.password, 'password');
  if (password === undefined || settings.user === undefined) {
    const message = noSession(settings.user, options.server, kept);
    throw new CliError('not-logged-in', message, 'log in first: szafa login');
  }
  const passphrase = keys === 'none' ? undefined : await givenSecret(settings.passphrase, 'passphrase');
  const { user: username, device } = settings;
  const secrets = { username, password, passphrase, device, askCode: codeAsker(invocation) };
  const mode = new AccountMode(settings.config, options.server, cleanUsername(settings.user));
  const szafa = await Szafa.login(options, secrets).catch((error) => explainLogin(error, mode));
  const leave = async () => {
    await endSession(szafa, signal);
    await close();
  };
  await mode.remember('derived').catch(() => {}); // a folder that cannot be written to keeps nothing else either
  try {
    if (keys === 'needed') await checkKeys(szafa, passphrase, invocation);
  } catch (error) {
    await leave();
    throw error;
  }
  return new Connection(szafa, leave);
}

/**
 * A refused login is a wrong password, and has its own exit code. What to send is never the service's to say: its words are
 * left out of a refusal, and marked as its words elsewhere.
 */
export async function explainLogin(error: unknown, mode: AccountMode): Promise<never> {
  const { code, message, hint, exit } = explain(error);
  if ((error as Partial<SzafaError>).code !== 'api') throw error;
  if (code !== 'unauthorized') {
    throw new CliError(code, `the server says: ${message}`, hint, exit, { cause: error });
  }
  const raw =
    (await mode.known()) === 'raw' ? '; on this machine it was used with --raw-password so far' : '';
  const advice = `check username and password${raw}`;
  throw new CliError('wrong-password', 'the login was refused', advice, exits.wrongPassword, {
    cause: error,
  });
}
