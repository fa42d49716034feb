/** How a session begins: which server and account it is, and what a login or registration sends. */
import {
  type AccountName,
  type Bytes,
  deriveAccountKeys,
  deriveRecoveryKeys,
  type Engine,
  identityOfBag,
  makeBag,
  PROFILE,
  type ProfiledAccount,
  parseBag,
  profileOf,
  toBase64Url,
} from '@szafa/format';
import { cleanUsername, type PasskeyAnswer } from '@szafa/protocol';
import { Api, type ApiOptions } from '../call.ts';
import { KnownAccountError, SameSecretError, TamperedError } from '../errors.ts';
import type { RevStores } from '../files/seen-revs.ts';
import type { ContactStores } from '../sharing/contacts.ts';
import type { HeaderCaches } from '../transfers/download/header-cache.ts';
import { webEngine } from '../web/engine.ts';
import { readProfile, readServerInfo } from './calls.ts';
import { logIn } from './factors.ts';
import type { KeysOptions, PinStore } from './keys.ts';

/** Where the server is, and what a session works with. @public */
export interface ConnectOptions extends Omit<ApiOptions, 'token'> {
  /** Web Crypto unless told otherwise; `client/node` has a faster one. */
  engine?: Engine | undefined;
  /** What is remembered of services and key bags between sessions. */
  pins?: Pins | undefined;
  /** Where headers of files are kept between sessions. */
  headers?: HeaderCaches | undefined;
  /** What is remembered of renamed files between sessions, so that a service cannot bring an earlier name back. */
  revs?: RevStores | undefined;
  /** What is remembered of the keys of other accounts, so that a service cannot exchange them. */
  contacts?: ContactStores | undefined;
  /** The service names itself as one that is known from these other addresses; called before it gets anything. */
  onKnownElsewhere?: ((addresses: string[]) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What a client remembers, so that a service cannot pass for another one, or give an older key bag than before. @public */
export interface Pins {
  of(username: string): PinStore;
  /** The addresses of services and the ids that they had there, of all accounts. */
  services(): Promise<{ server: string; serviceId: string }[]>;
}

/** What a person enters. @public */
export interface Secrets {
  username: string;
  password: string;
  /** Files under another passphrase than the account's password. */
  passphrase?: string | undefined;
  /**
   * Send the password as it is, for accounts made by other clients. The service then knows it, so it opens
   * no files: those need a passphrase.
   */
  raw?: boolean | undefined;
  /** With `register`: an invitation, where the service wants one. */
  invite?: string | undefined;
  /** With `login`: of the second factor, where it is known already that the account has one. */
  code?: string | undefined;
  /** With `login`: what a passkey answered that the service asked for as second factor, in a FactorError. */
  passkey?: PasskeyAnswer | undefined;
  /** With `login`: called if the service takes a code. Without it, or where it takes none, that is a FactorError. */
  askCode?: (() => Promise<string>) | undefined;
  /** What the session is listed as. */
  device?: string | undefined;
  /** With `register`: another way to the keys, of 32 bytes, as `newRecoveryKey` makes them. Needs a password or passphrase that opens files. */
  recoveryKey?: Bytes | undefined;
}

/** A session kept from before: its token, and either a KEK kept with it or a secret to derive it from. @public */
export interface SavedSession {
  username: string;
  token: string;
  kek?: Bytes | undefined;
  /** The id of the passkey that the KEK is of. */
  passkey?: string | undefined;
  /** The password, unless the files are under a passphrase: then that. */
  secret?: string | undefined;
  /** The secret is the password, and the service does not know it: it also logs in. */
  isPassword?: boolean | undefined;
}

/** The account at this address; refuses a server that was a different one before. */
export async function accountAt(
  api: Api,
  username: string,
  { pins, onKnownElsewhere, signal }: ConnectOptions,
): Promise<AccountName> {
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  // One that cannot be read is told before anything is sent that it would have forbidden.
  await pins?.of(username).load();
  const known = (await pins?.services()) ?? [];
  const here = known.filter(({ server }) => server === api.server);
  if (here.length > 0 && here.every((one) => one.serviceId !== serviceId)) {
    throw new TamperedError('service', 'a different server now answers at this address');
  }
  const elsewhere = known.filter((one) => one.serviceId === serviceId && one.server !== api.server);
  if (here.length === 0 && elsewhere.length > 0) {
    onKnownElsewhere?.([...new Set(elsewhere.map(({ server }) => server))]);
  }
  return { serviceId, username };
}

/**
 * With the KDF profile that the service names: a number, never parameters. One that is not known is unsupported; one that is lower than
 * that of the newest key bag here would have this client send a secret that is easier to guess.
 */
export async function profiledAccount(
  api: Api,
  username: string,
  options: ConnectOptions,
): Promise<ProfiledAccount> {
  const account = await accountAt(api, username, options);
  const profile = await readProfile(api, username, options);
  profileOf(profile);
  if (profile < ((await options.pins?.of(username).load())?.profile ?? 0)) {
    throw new TamperedError('profile', 'the server names an older KDF profile for this account than before');
  }
  return { ...account, profile };
}

/** Logs in, or registers and logs in. Returns what a session is made with. */
export async function enter(
  how: 'register' | 'login',
  options: ConnectOptions,
  secrets: Secrets,
): Promise<Omit<KeysOptions, 'pin'>> {
  const { password, passphrase, raw, code, passkey, askCode, invite, device, recoveryKey } = secrets;
  const username = cleanUsername(secrets.username);
  const engine = options.engine ?? webEngine();
  const api = new Api(options);
  if (raw && passphrase?.normalize('NFC') === password.normalize('NFC')) throw new SameSecretError();
  const account =
    how === 'login'
      ? await profiledAccount(api, username, options)
      : { ...(await accountAt(api, username, options)), profile: PROFILE };
  // Before anything is sent: the new keys would be refused here, and the name would be taken.
  if (how === 'register' && (await options.pins?.of(username).load())) throw new KnownAccountError(username);
  const derive = (secret: string) => deriveAccountKeys(engine, account, secret, account.profile);
  const own = raw ? undefined : await derive(password);
  const files = passphrase === undefined ? own : await derive(passphrase);
  const authSecret = own?.authSecret ?? password;
  const recovery =
    how === 'register' && files && recoveryKey
      ? await deriveRecoveryKeys(engine, account, recoveryKey)
      : undefined;
  const keks = files && { password: files.kek, recovery: recovery?.kek };
  const bag = how === 'register' && keks ? await makeBag(engine, account, keks) : undefined;
  const way = files && { type: 'password' as const, kek: files.kek };
  const identity = bag && way ? await identityOfBag(engine, parseBag(bag), way) : {};
  const credentials = {
    username,
    password: authSecret,
    ...(device !== undefined && { device }),
    ...(bag && { keys: toBase64Url(bag) }),
    ...identity,
    ...(recovery && { recovery: recovery.authSecret }),
    ...(how === 'register' && invite !== undefined && { invite }),
  };
  const second = { ...(code !== undefined && { code }), ...(passkey && { passkey }) };
  const session = await (how === 'register'
    ? api.call('register', { body: credentials, signal: options.signal })
    : logIn(api, { ...credentials, ...second }, askCode, options.signal));
  api.token = session.token;
  const kek = files && (await engine.hold(files.kek));
  return { api, engine, ...account, kek, authSecret };
}
