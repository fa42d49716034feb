/** Starts a session: by registration, login with password or passkey, recovery, or a saved token. */
import {
  type AccountName,
  type Bytes,
  bytesOf,
  changeBag,
  checkBag,
  defined,
  deriveAccountKeys,
  derivePasskeyKek,
  deriveRecoveryKeys,
  type Engine,
  identityOfBag,
  makeBag,
  openCurrentMaster,
  PROFILE,
  type ProfiledAccount,
  parseBag,
  profileOf,
  toBase64Url,
} from '@szafa/format';
import { cleanUsername, type PasskeyAnswer } from '@szafa/protocol';
import { Api, type ApiOptions, hasStatus } from '../call.ts';
import {
  KeysChangedError,
  KnownAccountError,
  SameSecretError,
  TamperedError,
  UnchangedError,
  UnsettledError,
  WrongPasswordError,
} from '../errors.ts';
import type { RevStores } from '../files/seen-revs.ts';
import type { ContactStores } from '../sharing/contacts.ts';
import type { HeaderCaches } from '../transfers/download/header-cache.ts';
import { webEngine } from '../web/engine.ts';
import { readKeysForRecovery, readProfile, readServerInfo } from './calls.ts';
import { isUncertain } from './changes.ts';
import { logIn } from './factors.ts';
import type { KeysOptions, PinStore } from './keys.ts';

/** The server's address, and the stores of a session. @public */
export interface ConnectOptions extends Omit<ApiOptions, 'token'> {
  /** Web Crypto by default; `client/node` has a faster one. */
  engine?: Engine | undefined;
  /** Remembers servers and key bags between sessions. */
  pins?: Pins | undefined;
  /** Keeps headers of files between sessions. */
  headers?: HeaderCaches | undefined;
  /** Remembers renamed files between sessions, so that a server cannot restore an earlier name. */
  revs?: RevStores | undefined;
  /** Remembers the keys of other accounts, so that a server cannot replace them. */
  contacts?: ContactStores | undefined;
  /** Called with the other known addresses of this server, before anything is sent. */
  onKnownElsewhere?: ((addresses: string[]) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** Remembers servers and key bags, so that no server can impersonate another one or return an older bag. @public */
export interface Pins {
  of(username: string): PinStore;
  /** The addresses of all known servers, and the service id seen at each. */
  services(): Promise<{ server: string; serviceId: string }[]>;
}

/** Credentials that a person enters. @public */
export interface Secrets {
  username: string;
  password: string;
  /** Opens the files instead of the password. */
  passphrase?: string | undefined;
  /**
   * Send the password itself, for accounts of other clients. The server then knows the password, so the files need a separate passphrase.
   */
  raw?: boolean | undefined;
  /** `register` only: an invitation, if the server requires one. */
  invite?: string | undefined;
  /** `login` only: the code of an authenticator app. */
  code?: string | undefined;
  /** `login` only: the answer of a passkey to the challenge in a FactorError. */
  passkey?: PasskeyAnswer | undefined;
  /** `login` only: asks for a code if the server accepts one. Without this function, a FactorError is thrown. */
  askCode?: (() => Promise<string>) | undefined;
  /** The session's name in the list of sessions. */
  device?: string | undefined;
  /** `register` only: 32 bytes from `newRecoveryKey`. Needs a password or passphrase that opens the files. */
  recoveryKey?: Bytes | undefined;
}

/** A saved session: its token, and the KEK or a secret to derive it from. @public */
export interface SavedSession {
  username: string;
  token: string;
  kek?: Bytes | undefined;
  /** The id of the passkey, if the KEK was derived from one. */
  passkey?: string | undefined;
  /** The passphrase, or the password if there is no passphrase. */
  secret?: string | undefined;
  /** The secret is a password that the server does not know, so its derived login secret is valid too. */
  isPassword?: boolean | undefined;
}

/** The argument of `Szafa.recover`. @public */
export interface Recovery {
  username: string;
  /** 32 bytes from `parseRecoveryText`. */
  recoveryKey: Bytes;
  /** Called once the server has accepted the recovery key. The recovery must finish within ten minutes. */
  renew(): Promise<Renewed>;
  device?: string | undefined;
}

/** The new secrets of a recovered account. @public */
export interface Renewed {
  password: string;
  /** Opens the files instead of the password. */
  passphrase?: string | undefined;
  /** Replaces the recovery key that was used. */
  recoveryKey: Bytes;
}

/** A passkey that logs in by itself. @public */
export interface EnteringPasskey {
  answer: PasskeyAnswer;
  /** The authenticator's PRF output for `PRF_INPUT`. */
  secret: Bytes;
  device?: string | undefined;
}

export type SessionKeys = Omit<KeysOptions, 'pin'>;

/** Returns the account at this address. Refuses a server with another service id than before. */
async function accountAt(
  api: Api,
  username: string,
  { pins, onKnownElsewhere, signal }: ConnectOptions,
): Promise<AccountName> {
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  // Fails before anything is sent if the pin cannot be read.
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
 * Returns the account with the KDF profile that the server names. Refuses a profile below the pinned one: this client would send a secret
 * that is easier to guess.
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

/** Creates an account and logs in. */
export async function register(options: ConnectOptions, secrets: Secrets): Promise<SessionKeys> {
  const { engine = webEngine(), signal } = options;
  const { invite, device, recoveryKey } = secrets;
  const username = cleanUsername(secrets.username);
  const api = new Api(options);
  requireOtherPassphrase(secrets);
  const account = { ...(await accountAt(api, username, options)), profile: PROFILE };
  // Checked before anything is sent: this client would refuse the new keys, but the name would be taken.
  if (await options.pins?.of(username).load()) throw new KnownAccountError(username);
  const { authSecret: password, kek } = await deriveSecrets(engine, account, secrets);
  const recovery = kek && recoveryKey ? await deriveRecoveryKeys(engine, account, recoveryKey) : undefined;
  const bag = kek && (await makeBag(engine, account, { password: kek, recovery: recovery?.kek }));
  const identity = bag ? await identityOfBag(engine, parseBag(bag), { type: 'password', kek }) : {};
  const keys = bag && toBase64Url(bag);
  const body = { username, password, device, keys, ...identity, recovery: recovery?.authSecret, invite };
  const { token } = await api.call('register', { body: defined(body), signal });
  return startSession(api, { engine, ...account, kek, authSecret: password }, token);
}

export async function login(options: ConnectOptions, secrets: Secrets): Promise<SessionKeys> {
  const { engine = webEngine(), signal } = options;
  const { code, passkey, askCode, device } = secrets;
  const username = cleanUsername(secrets.username);
  const api = new Api(options);
  requireOtherPassphrase(secrets);
  const account = await profiledAccount(api, username, options);
  const { authSecret: password, kek } = await deriveSecrets(engine, account, secrets);
  const credentials = defined({ username, password, device, code, passkey });
  const { token } = await logIn(api, credentials, askCode, signal);
  return startSession(api, { engine, ...account, kek, authSecret: password }, token);
}

function requireOtherPassphrase({ raw, passphrase, password }: Secrets): void {
  if (raw && passphrase?.normalize('NFC') === password.normalize('NFC')) throw new SameSecretError();
}

/** Returns the secret for the server, and the KEK of the files unless the server knows the only secret. */
async function deriveSecrets(
  engine: Engine,
  account: ProfiledAccount,
  { password, passphrase, raw }: Secrets,
): Promise<{ authSecret: string; kek: Bytes | undefined }> {
  const derive = (secret: string) => deriveAccountKeys(engine, account, secret, account.profile);
  const own = raw ? undefined : await derive(password);
  const files = passphrase === undefined ? own : await derive(passphrase);
  return { authSecret: own?.authSecret ?? password, kek: files?.kek };
}

async function startSession(
  api: Api,
  { kek, ...options }: Omit<SessionKeys, 'api'>,
  token: string,
): Promise<SessionKeys> {
  api.token = token;
  return { api, ...options, kek: kek && (await options.engine.hold(kek)) };
}

/** Continues a saved session. */
export async function openSaved(options: ConnectOptions, saved: SavedSession): Promise<SessionKeys> {
  const { username, token, kek, passkey, secret, isPassword } = saved;
  const { engine = webEngine() } = options;
  const api = new Api({ ...options, token });
  if (kek !== undefined || secret === undefined) return { api, engine, username, kek, passkey };
  const account = await profiledAccount(api, username, options);
  const derived = await deriveAccountKeys(engine, account, secret, account.profile);
  const authSecret = isPassword ? derived.authSecret : undefined;
  return startSession(api, { engine, ...account, kek: derived.kek, authSecret }, token);
}

/**
 * Logs in with a passkey. The server names the account, and the key bag proves it: the passkey's secret opens only the bag of that name.
 */
export async function loginWithPasskey(
  options: ConnectOptions,
  { answer, secret, device }: EnteringPasskey,
): Promise<SessionKeys> {
  const { engine = webEngine(), signal } = options;
  const api = new Api(options);
  const session = await api
    .call('passkeyLogin', { body: defined({ passkey: answer, device }), signal })
    .catch((error: unknown) => {
      if (!hasStatus(error, 401)) throw error;
      throw new WrongPasswordError('the passkey does not open an account here', { cause: error });
    });
  const account = await accountAt(api, cleanUsername(session.username), options);
  const kek = await derivePasskeyKek(engine, account, secret);
  return startSession(api, { engine, ...account, kek, passkey: answer.id }, session.token);
}

/** Sets a new password by means of the recovery key. Checks the bag like a login before it sends anything new. */
export async function recover(options: ConnectOptions, recovery: Recovery): Promise<SessionKeys> {
  const { engine = webEngine(), signal } = options;
  const { device } = recovery;
  const username = cleanUsername(recovery.username);
  const api = new Api(options);
  const account = await accountAt(api, username, options);
  const old = await deriveRecoveryKeys(engine, account, recovery.recoveryKey);
  const found = await readKeysForRecovery(api, { username, recovery: old.authSecret }, { signal }).catch(
    (error: unknown) => {
      if (!hasStatus(error, 401)) throw error;
      throw new WrongPasswordError('the username or the recovery key is wrong', { cause: error });
    },
  );
  const bag = parseBag(bytesOf(found.keys, 'bag', 'the key bag'));
  await checkBag(engine, bag, account, await options.pins?.of(username).load());
  const unlocker = { type: 'recovery' as const, kek: old.kek };
  (await openCurrentMaster(engine, bag, unlocker)).fill(0);
  const renewed = await recovery.renew();
  const { authSecret: password, kek } = await deriveSecrets(
    engine,
    { ...account, profile: PROFILE },
    { username, ...renewed },
  );
  const next = await deriveRecoveryKeys(engine, account, renewed.recoveryKey);
  // The server removes second factors, so the bag keeps no passkey entries either.
  const entries = { password: kek, recovery: next.kek, keep: new Set<string>() };
  const keys = toBase64Url(await changeBag(engine, bag, unlocker, entries));
  const body = { token: found.token, password, keys, recovery: next.authSecret, device };
  const headers = { 'If-Match': found.tag };
  const session = await api
    .call('finishRecovery', { body: defined(body), headers, signal })
    .catch((error: unknown) => {
      signal?.throwIfAborted();
      if (hasStatus(error, 412)) throw new KeysChangedError({ cause: error });
      if (!isUncertain(error)) throw error;
      return api
        .call('login', { body: defined({ username, password, device }), signal })
        .catch((failure: unknown) => {
          signal?.throwIfAborted();
          if (hasStatus(failure, 401)) throw new UnchangedError('the password', error as Error);
          throw new UnsettledError('the password', { cause: failure });
        });
    });
  return startSession(api, { engine, ...account, kek, authSecret: password }, session.token);
}
