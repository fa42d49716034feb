/**
 * What its owner does to an account: another password, a recovery key, a new master key, the way back with a recovery key. Each change is
 * one request that the service takes as a whole or not at all; where the answer is lost, it is asked which of the two states counts.
 * One file: every way in which an answer can be lost, or lie, must be seen together.
 */
import {
  type AccountKeys,
  type AccountName,
  type Bytes,
  bytesOf,
  changeBag,
  checkBag,
  deriveAccountKeys,
  deriveRecoveryKeys,
  type Engine,
  identityOfBag,
  openCurrentMaster,
  type ParsedBag,
  PROFILE,
  type ProfiledAccount,
  parseBag,
  rekeyBag,
  toBase64Url,
  type Unlocker,
} from '@szafa/format';
import type { Session } from '@szafa/protocol';
import type { Api } from '../call.ts';
import { hasStatus } from '../call.ts';
import {
  ApiError,
  KeysChangedError,
  LockedError,
  NetworkError,
  SameSecretError,
  SzafaError,
  TamperedError,
  TooLongError,
  UnchangedError,
  UnexpectedAnswerError,
  UnsettledError,
  WrongPasswordError,
} from '../errors.ts';
import { readKeys, readKeysForRecovery } from './calls.ts';
import type { FoundBag, Keys, PinStore } from './keys.ts';

/** What the service asks for before it changes an account. @public */
export interface Proof {
  password: string;
  /** The password is sent as it is: see `Secrets`. */
  raw?: boolean | undefined;
}

/** `already`: an earlier attempt, whose answer was lost, has done it. @public */
export type Change = 'changed' | 'already';

/** For `Szafa.recover`. @public */
export interface Recovery {
  username: string;
  /** Of 32 bytes, as `parseRecoveryText` gives it. */
  recoveryKey: Bytes;
  /** Called once the recovery key has shown to be the right one; the service waits ten minutes. */
  renew(): Promise<Renewed>;
  device?: string | undefined;
}

/** What counts after a recovery. @public */
export interface Renewed {
  password: string;
  /** Files under another passphrase than the password from now on. */
  passphrase?: string | undefined;
  /** Takes the place of the one that was used. */
  recoveryKey: Bytes;
}

export interface AccountContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  /** Which account this is, and by which profile its secrets are derived, as the service says now. */
  account(): Promise<ProfiledAccount>;
  /** A connection of its own, for a login that only shows something. */
  newApi(token?: string): Api;
  signal?: AbortSignal | undefined;
}

const PASSWORD = 'the password';
const PASSPHRASE = 'the passphrase';
const RECOVERY_KEY = 'the recovery key';

type Derived = Pick<AccountKeys, 'authSecret'> & { kek?: Bytes };

/** What is derived for another service opens nothing at this one: the key bag, which is its owner's, says which one it is. */
async function accountOf(
  { account }: AccountContext,
  before: FoundBag | undefined,
): Promise<ProfiledAccount> {
  const named = await account();
  if (before && before.bag.serviceId !== named.serviceId) {
    throw new TamperedError('service', 'the server says that it is another one than the key bag says');
  }
  if (before && before.bag.profile !== named.profile) {
    throw new TamperedError('profile', 'the server names another KDF profile than the key bag');
  }
  return named;
}

export async function derived(
  context: AccountContext,
  { password, raw }: Proof,
  before?: FoundBag | undefined,
  profile?: number,
): Promise<Derived> {
  if (raw) return { authSecret: password };
  const account = await accountOf(context, before);
  return deriveAccountKeys(context.engine, account, password, profile ?? account.profile);
}

async function opensBy(engine: Engine, bag: ParsedBag, way: Unlocker): Promise<boolean> {
  try {
    (await openCurrentMaster(engine, bag, way)).fill(0);
    return true;
  } catch (error) {
    if (error instanceof WrongPasswordError) return false;
    throw error;
  }
}

/** Whether it is the key of the password. */
async function opens(engine: Engine, bag: ParsedBag, kek: Bytes | undefined): Promise<boolean> {
  return kek !== undefined && opensBy(engine, bag, { type: 'password', kek });
}

/** The session's own, or else that of the password: whichever opens the bag. */
export async function ownWay(
  { engine, keys }: AccountContext,
  { bag }: FoundBag,
  now: Derived,
): Promise<Unlocker> {
  const ways: Unlocker[] = keys.unlocked ? [keys.way] : [];
  if (now.kek) ways.push({ type: 'password', kek: now.kek });
  for (const way of ways) if (await opensBy(engine, bag, way)) return way;
  throw new WrongPasswordError();
}

/** The key of the password, or of the passphrase where the files are under one: the session's own, or else the one that was derived. */
async function ownKek({ engine, keys }: AccountContext, { bag }: FoundBag, now: Derived): Promise<Bytes> {
  const own = keys.unlocked && keys.way.type === 'password' ? keys.kek : undefined;
  for (const kek of [own, now.kek]) if (kek && (await opens(engine, bag, kek))) return kek;
  throw new WrongPasswordError();
}

export async function presentBag({ keys, signal }: AccountContext): Promise<FoundBag> {
  const found = await keys.found(signal);
  if (found) return found;
  throw new LockedError('this account has no keys yet: log in with its password or passphrase once');
}

/** The service may have acted, or not: there is no answer, or none of its own. */
const isUncertain = (error: unknown) =>
  error instanceof NetworkError
    ? error.sent
    : error instanceof UnexpectedAnswerError ||
      error instanceof TooLongError ||
      (error instanceof ApiError && error.status >= 500);
const wrongPassword = (cause: unknown) => new WrongPasswordError('the current password is wrong', { cause });

async function logsIn({ account, newApi, signal }: AccountContext, password: string): Promise<boolean> {
  const { username } = await account();
  try {
    const { token } = await newApi().call('login', { body: { username, password }, signal });
    await newApi(token).call('logout', { signal });
    return true;
  } catch (error) {
    // What is asked for a second factor has shown the right password.
    if (error instanceof ApiError && error.status === 401) return error.body['factors'] !== undefined;
    throw error;
  }
}

interface Sending {
  what: string;
  /** Undefined for an account without keys. */
  before: FoundBag | undefined;
  after: string | undefined;
  send(): Promise<unknown>;
  /** Where the bag stays as it is, it does not tell. */
  counts?: (() => Promise<boolean>) | undefined;
}

/** Sends a change, and finds out whether it counts where the answer does not say so. */
export async function settle(context: AccountContext, sending: Sending): Promise<void> {
  try {
    await sending.send();
  } catch (error) {
    context.signal?.throwIfAborted();
    if (hasStatus(error, 403)) throw wrongPassword(error);
    const refused = hasStatus(error, 412);
    if (!refused && !isUncertain(error)) throw error;
    const state = await stateOf(context, sending);
    // Of two attempts the first may have been the one that changed it.
    if (state === 'after') return;
    if (state === 'before' && !refused) throw new UnchangedError(sending.what, error as Error);
    throw new KeysChangedError({ cause: error });
  }
}

async function stateOf(
  { api, signal }: AccountContext,
  { what, before, after, counts }: Sending,
): Promise<'before' | 'after' | 'another'> {
  try {
    if (counts && after === before?.text) return (await counts()) ? 'after' : 'before';
    const text = await readKeys(api, { signal });
    if (text === after) return 'after';
    return text === before?.text ? 'before' : 'another';
  } catch (error) {
    signal?.throwIfAborted();
    // Somebody else's change has ended this session.
    if (hasStatus(error, 401)) return 'another';
    throw new UnsettledError(what, { cause: error });
  }
}

/** A password that the service gets as it is must not be what opens the files. */
async function requireOther(context: AccountContext, before: FoundBag, next: string): Promise<void> {
  const account = await accountOf(context, before);
  const { kek } = await deriveAccountKeys(context.engine, account, next, account.profile);
  if (await opens(context.engine, before.bag, kek)) throw new SameSecretError();
}

/**
 * All other sessions end with it. Where the files are under a passphrase, the key bag stays as it is. After a change whose answer was lost
 * the same call tells whether it counts.
 */
export async function changePassword(context: AccountContext, current: Proof, next: string): Promise<Change> {
  const { api, engine, keys, signal } = context;
  // Before anything is derived: keys that are not those of before end it at once.
  const before = await keys.found(signal);
  const now = await derived(context, current, before);
  // A bag that stays as it is, since the files are under a passphrase, keeps its profile, which counts for the password too.
  const isOpened = before !== undefined && (await opens(engine, before.bag, now.kek));
  const profile = isOpened ? PROFILE : undefined;
  const then = await derived(context, { password: next, raw: current.raw }, before, profile);
  if (current.raw && before) await requireOther(context, before, next);
  const adopt = (text: string | undefined, kek: Bytes | undefined) =>
    keys.replaced(text, { kek, authSecret: then.authSecret });
  const fits = before !== undefined && (await opens(engine, before.bag, then.kek));
  if (fits && (await logsIn(context, then.authSecret))) {
    await adopt(before.text, then.kek);
    return 'already';
  }
  let after = before?.text;
  let kek = fits ? then.kek : undefined;
  if (before && !fits && then.kek) {
    if (isOpened) {
      const way = { type: 'password' as const, kek: now.kek! };
      after = toBase64Url(await changeBag(engine, before.bag, way, { password: then.kek }));
      kek = then.kek;
    } else if (!keys.unlocked || !(await opensBy(engine, before.bag, keys.way))) {
      // Not known to be under a passphrase: a password that opens nothing must not be replaced by one that does not, either.
      throw new WrongPasswordError('the current password does not open the keys of this account');
    }
  }
  try {
    await settle(context, {
      what: PASSWORD,
      before,
      after,
      send: () =>
        api.call('changePassword', {
          body: {
            current: now.authSecret,
            next: then.authSecret,
            ...(after !== undefined && { keys: after }),
          },
          headers: { 'If-Match': before?.tag },
          signal,
        }),
      counts: () => logsIn(context, then.authSecret),
    });
  } catch (error) {
    const unsure = error instanceof WrongPasswordError && after === before?.text;
    if (!unsure || !(await logsIn(context, then.authSecret))) throw error;
    await adopt(after, kek);
    return 'already';
  }
  await adopt(after, kek);
  return 'changed';
}

/** What opens the files, from now on, beside a password that stays; all other sessions end with it. */
export async function changePassphrase(
  context: AccountContext,
  proof: Proof,
  next: string,
  current?: string,
): Promise<Change> {
  const { api, engine, keys, signal } = context;
  if (proof.raw && next.normalize('NFC') === proof.password.normalize('NFC')) throw new SameSecretError();
  const before = await presentBag(context);
  const account = await accountOf(context, before);
  const now = await derived(context, proof, before);
  const then = await deriveAccountKeys(engine, account, next, PROFILE);
  // The profile of the next bag counts for the password too.
  const { authSecret } = account.profile === PROFILE ? now : await derived(context, proof, before, PROFILE);
  const adopt = (text: string) => keys.replaced(text, { kek: then.kek, authSecret });
  if (await opens(engine, before.bag, then.kek)) {
    await adopt(before.text);
    return 'already';
  }
  const given =
    current === undefined ? now : await deriveAccountKeys(engine, account, current, account.profile);
  const way = await ownWay(context, before, given);
  const after = toBase64Url(await changeBag(engine, before.bag, way, { password: then.kek }));
  const body = { current: now.authSecret, next: authSecret, keys: after };
  const send = () => api.call('changePassword', { body, headers: { 'If-Match': before.tag }, signal });
  await settle(context, { what: PASSPHRASE, before, after, send });
  await adopt(after);
  return 'changed';
}

/**
 * Retires the master keys before this epoch, under which everything has been sealed by now: headers and names under them are refused from
 * now on. Without effect where they are retired.
 */
export async function raiseFloor(context: AccountContext, proof: Proof, epoch: number): Promise<void> {
  const { api, engine, keys, signal } = context;
  const before = await presentBag(context);
  const now = await derived(context, proof, before);
  const way = await ownWay(context, before, now);
  // Another device has made a newer one: what is under it has not been looked at here.
  if (before.bag.epoch !== epoch) throw new KeysChangedError();
  if (before.bag.floor === epoch) return;
  const after = toBase64Url(await changeBag(engine, before.bag, way, { floor: epoch }));
  const body = { password: now.authSecret, keys: after };
  const send = () => api.call('writeKeys', { body, headers: { 'If-Match': before.tag }, signal });
  await settle(context, { what: 'the key bag', before, after, send });
  await keys.replaced(after, { authSecret: now.authSecret });
}

/** A recovery key in the place of the one before, which opens nothing any more. */
export async function setRecoveryKey(context: AccountContext, proof: Proof, key: Bytes): Promise<void> {
  const { api, engine, keys, signal } = context;
  const before = await presentBag(context);
  const now = await derived(context, proof, before);
  const recovery = await deriveRecoveryKeys(engine, await accountOf(context, before), key);
  const way = await ownWay(context, before, now);
  const after = toBase64Url(await changeBag(engine, before.bag, way, { recovery: recovery.kek }));
  const identity = await identityOfBag(engine, before.bag, way);
  const body = { password: now.authSecret, keys: after, recovery: recovery.authSecret, ...identity };
  const send = () => api.call('writeKeys', { body, headers: { 'If-Match': before.tag }, signal });
  await settle(context, { what: RECOVERY_KEY, before, after, send });
  await keys.replaced(after, { authSecret: now.authSecret });
}

/**
 * A new master key, for all that is sealed from now on; `reseal` does the rest. All other sessions end with it, and of the ways to the
 * keys only the password and this recovery key are left.
 */
export async function replaceMaster(
  context: AccountContext,
  proof: Proof,
  key: Bytes | undefined,
): Promise<void> {
  const { api, engine, keys, signal } = context;
  const before = await presentBag(context);
  if (!key && before.bag.recovery) {
    throw new SzafaError('recovery-needed', 'this account has a recovery key, and needs a new one');
  }
  const now = await derived(context, proof, before);
  const recovery = key && (await deriveRecoveryKeys(engine, await accountOf(context, before), key));
  const kek = await ownKek(context, before, now);
  const keks = { password: kek, recovery: recovery?.kek };
  const after = toBase64Url(await rekeyBag(engine, before.bag, { type: 'password', kek }, keks));
  const body = {
    current: now.authSecret,
    next: now.authSecret,
    keys: after,
    // The bag has no entries for them any more.
    passkeys: 'second' as const,
    ...(recovery && { recovery: recovery.authSecret }),
  };
  const send = () => api.call('changePassword', { body, headers: { 'If-Match': before.tag }, signal });
  await settle(context, { what: 'the master key', before, after, send });
  await keys.replaced(after, { kek, authSecret: now.authSecret });
}

/** What a session begins with. */
export interface Entered extends AccountKeys {
  session: Session;
}

/** A new password for whoever has the recovery key; all sessions end. The bag is checked as at a login before anything is sent for it. */
export async function recover(
  {
    api,
    engine,
    account,
    pin,
    signal,
  }: Pick<AccountContext, 'api' | 'engine' | 'signal'> & { account: AccountName; pin: PinStore | undefined },
  { recoveryKey, renew, device }: Recovery,
): Promise<Entered> {
  const { username } = account;
  const old = await deriveRecoveryKeys(engine, account, recoveryKey);
  const found = await readKeysForRecovery(api, { username, recovery: old.authSecret }, { signal }).catch(
    (error: unknown) => {
      if (!hasStatus(error, 401)) throw error;
      throw new WrongPasswordError('the username or the recovery key is wrong', { cause: error });
    },
  );
  const bag = parseBag(bytesOf(found.keys, 'bag', 'the key bag'));
  await checkBag(engine, bag, account, await pin?.load());
  const way = { type: 'recovery' as const, kek: old.kek };
  (await openCurrentMaster(engine, bag, way)).fill(0);
  const { password, passphrase, recoveryKey: nextKey } = await renew();
  const own = await deriveAccountKeys(engine, account, password);
  const files = passphrase === undefined ? own : await deriveAccountKeys(engine, account, passphrase);
  const next = await deriveRecoveryKeys(engine, account, nextKey);
  // The service turns second factors off: passkeys have to be added again.
  const entries = { password: files.kek, recovery: next.kek, keep: new Set<string>() };
  const keys = toBase64Url(await changeBag(engine, bag, way, entries));
  const body = { token: found.token, password: own.authSecret, keys, recovery: next.authSecret };
  const named = device === undefined ? {} : { device };
  const { kek } = files;
  try {
    const session = await api.call('finishRecovery', {
      body: { ...body, ...named },
      headers: { 'If-Match': found.tag },
      signal,
    });
    return { session, authSecret: own.authSecret, kek };
  } catch (error) {
    signal?.throwIfAborted();
    if (hasStatus(error, 412)) throw new KeysChangedError({ cause: error });
    if (!isUncertain(error)) throw error;
    const session = await api
      .call('login', { body: { username, password: own.authSecret, ...named }, signal })
      .catch((failure: unknown) => {
        signal?.throwIfAborted();
        if (hasStatus(failure, 401)) throw new UnchangedError(PASSWORD, error as Error);
        throw new UnsettledError(PASSWORD, { cause: failure });
      });
    return { session, authSecret: own.authSecret, kek };
  }
}
