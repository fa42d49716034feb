/**
 * Changes to an account. Each is one request that the server accepts or refuses as a whole. If the answer is lost, `settle` finds out
 * whether the change was made.
 */
import {
  type AccountKeys,
  type Bytes,
  changeBag,
  defined,
  deriveAccountKeys,
  deriveRecoveryKeys,
  type Engine,
  identityOfBag,
  openCurrentMaster,
  type ParsedBag,
  PROFILE,
  type ProfiledAccount,
  toBase64Url,
  type Unlocker,
} from '@szafa/format';
import { type Api, hasStatus } from '../call.ts';
import {
  ApiError,
  KeysChangedError,
  LockedError,
  NetworkError,
  SameSecretError,
  TamperedError,
  TooLongError,
  UnchangedError,
  UnexpectedAnswerError,
  UnsettledError,
  WrongPasswordError,
} from '../errors.ts';
import { readKeys } from './calls.ts';
import type { Keys, StoredBag } from './keys.ts';

/** The password, which the server requires before it changes an account. @public */
export interface Proof {
  password: string;
  /** Send the password itself instead of a derived secret: see `Secrets`. */
  raw?: boolean | undefined;
}

/** Dependencies of account changes. */
export interface AccountContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  /** Asks the server for the account and its KDF profile. */
  account(): Promise<ProfiledAccount>;
  /** Opens another connection, for a login that only tests a password. */
  newApi(token?: string): Api;
  signal?: AbortSignal | undefined;
}

/** Login secret and KEK of a proof. There is no KEK if the server gets the password itself. */
export type ProofKeys = Pick<AccountKeys, 'authSecret'> & { kek?: Bytes };

/** Returns the account. Requires that server and key bag name the same service id: keys derived for another one would open nothing. */
export async function requireAccount(
  { account }: AccountContext,
  before: StoredBag | undefined,
): Promise<ProfiledAccount> {
  const named = await account();
  if (before && before.bag.serviceId !== named.serviceId) {
    throw new TamperedError('service', 'the server identifies itself as another one than the key bag names');
  }
  if (before && before.bag.profile !== named.profile) {
    throw new TamperedError('profile', 'the server names another KDF profile than the key bag');
  }
  return named;
}

export async function deriveProof(
  context: AccountContext,
  { password, raw }: Proof,
  before?: StoredBag | undefined,
  profile?: number,
): Promise<ProofKeys> {
  if (raw) return { authSecret: password };
  const account = await requireAccount(context, before);
  return deriveAccountKeys(context.engine, account, password, profile ?? account.profile);
}

export async function isOpenedBy(engine: Engine, bag: ParsedBag, unlocker: Unlocker): Promise<boolean> {
  try {
    (await openCurrentMaster(engine, bag, unlocker)).fill(0);
    return true;
  } catch (error) {
    if (error instanceof WrongPasswordError) return false;
    throw error;
  }
}

/** Returns the first unlocker that opens the bag: the session's own, then the password. */
export async function findUnlocker(
  { engine, keys }: AccountContext,
  { bag }: StoredBag,
  { kek }: ProofKeys,
): Promise<Unlocker> {
  const unlockers: Unlocker[] = keys.unlocked ? [keys.unlocker] : [];
  if (kek) unlockers.push({ type: 'password', kek });
  for (const unlocker of unlockers) if (await isOpenedBy(engine, bag, unlocker)) return unlocker;
  throw new WrongPasswordError();
}

export async function requireBag({ keys, signal }: AccountContext): Promise<StoredBag> {
  const found = await keys.fetchBag(signal);
  if (found) return found;
  throw new LockedError('this account has no keys yet: log in with its password or passphrase once');
}

/** Whether the server may have made the change although its confirmation is missing. */
export const isUncertain = (error: unknown) =>
  error instanceof NetworkError
    ? error.sent
    : error instanceof UnexpectedAnswerError ||
      error instanceof TooLongError ||
      (error instanceof ApiError && error.status >= 500);

interface ChangeRequest {
  /** Name of the changed item in messages. */
  what: string;
  /** Undefined if the account has no keys, or the change does not affect them. */
  before: StoredBag | undefined;
  /** The text of the next bag. */
  after: string | undefined;
  send(): Promise<unknown>;
  /** Whether the change was made. Called only if the bag stays the same; otherwise the bag on the server shows it. */
  isDone?: (() => Promise<boolean>) | undefined;
}

/** Sends a change. If the server refuses or does not answer, finds out whether the change was made. */
export async function settle(context: AccountContext, change: ChangeRequest): Promise<void> {
  try {
    await change.send();
  } catch (error) {
    context.signal?.throwIfAborted();
    if (hasStatus(error, 403))
      throw new WrongPasswordError('the current password is wrong', { cause: error });
    const refused = hasStatus(error, 412);
    if (!refused && !isUncertain(error)) throw error;
    const state = await readState(context, change);
    // An earlier attempt may have made the change.
    if (state === 'after') return;
    if (state === 'before' && !refused) throw new UnchangedError(change.what, error as Error);
    throw new KeysChangedError({ cause: error });
  }
}

async function readState(
  { api, signal }: AccountContext,
  { what, before, after, isDone }: ChangeRequest,
): Promise<'before' | 'after' | 'another'> {
  try {
    if (isDone && after === before?.text) return (await isDone()) ? 'after' : 'before';
    const text = await readKeys(api, { signal });
    if (text === after) return 'after';
    return text === before?.text ? 'before' : 'another';
  } catch (error) {
    signal?.throwIfAborted();
    // Another device changed the account, which ended this session.
    if (hasStatus(error, 401)) return 'another';
    throw new UnsettledError(what, { cause: error });
  }
}

interface BagChange {
  what: string;
  before: StoredBag;
  bag: Bytes;
  /** The session's secrets after the change. `kek` is set only if the password's KEK changes. */
  next: { kek?: Bytes; authSecret: string };
  /** Sends the new bag. `call` has an If-Match header, so that the server refuses if the bag has changed since. */
  send(
    keys: string,
    call: { headers: { 'If-Match': string }; signal?: AbortSignal | undefined },
  ): Promise<unknown>;
}

/** Replaces the key bag on the server and in this session. */
export async function replaceBag(context: AccountContext, change: BagChange): Promise<void> {
  const { what, before, bag, next, send } = change;
  const after = toBase64Url(bag);
  const call = { headers: { 'If-Match': before.tag }, signal: context.signal };
  await settle(context, { what, before, after, send: () => send(after, call) });
  await context.keys.adopt(after, next);
}

/** `already`: an earlier attempt, whose answer was lost, has made the change. @public */
export type Change = 'changed' | 'already';

async function logsIn({ account, newApi, signal }: AccountContext, password: string): Promise<boolean> {
  const { username } = await account();
  try {
    const { token } = await newApi().call('login', { body: { username, password }, signal });
    await newApi(token).call('logout', { signal });
    return true;
  } catch (error) {
    // The server asks for a second factor only if the password is correct.
    if (hasStatus(error, 401)) return error.body['factors'] !== undefined;
    throw error;
  }
}

/** Refuses a next password that opens the files: the server gets this password as it is, and must not be able to read them. */
async function requireOther(context: AccountContext, { bag }: StoredBag, next: string): Promise<void> {
  const { engine } = context;
  const account = await requireAccount(context, { bag } as StoredBag);
  const { kek } = await deriveAccountKeys(engine, account, next, account.profile);
  if (await isOpenedBy(engine, bag, { type: 'password', kek })) throw new SameSecretError();
}

/** See `Szafa.changePassword`. The key bag stays the same if the files are under a passphrase. */
export async function changePassword(context: AccountContext, current: Proof, next: string): Promise<Change> {
  const { api, engine, keys, signal } = context;
  // Fetch first: if the bag contradicts the pinned one, no secret is derived.
  const before = await keys.fetchBag(signal);
  const opens = async (kek: Bytes | undefined) =>
    kek !== undefined && before !== undefined && isOpenedBy(engine, before.bag, { type: 'password', kek });
  const now = await deriveProof(context, current, before);
  // An unchanged bag keeps its profile, which applies to the password too.
  const isOpened = await opens(now.kek);
  const profile = isOpened ? PROFILE : undefined;
  const then = await deriveProof(context, { password: next, raw: current.raw }, before, profile);
  if (current.raw && before) await requireOther(context, before, next);
  const fits = await opens(then.kek);
  const isNext = () => logsIn(context, then.authSecret);
  const adopt = (text: string | undefined, kek: Bytes | undefined) =>
    keys.adopt(text, { kek, authSecret: then.authSecret });
  if (fits && (await isNext())) {
    await adopt(before?.text, then.kek);
    return 'already';
  }
  let after = before?.text;
  let kek = fits ? then.kek : undefined;
  if (before && !fits && then.kek) {
    if (isOpened) {
      const unlocker = { type: 'password' as const, kek: now.kek! };
      after = toBase64Url(await changeBag(engine, before.bag, unlocker, { password: then.kek }));
      kek = then.kek;
    } else if (!keys.unlocked || !(await isOpenedBy(engine, before.bag, keys.unlocker))) {
      // Nothing proves that the files are under a passphrase, so the password may simply be wrong.
      throw new WrongPasswordError('the current password does not open the keys of this account');
    }
  }
  const body = defined({ current: now.authSecret, next: then.authSecret, keys: after });
  try {
    await settle(context, {
      ...{ what: 'the password', before, after, isDone: isNext },
      send: () => api.call('changePassword', { body, headers: { 'If-Match': before?.tag }, signal }),
    });
  } catch (error) {
    const isUnsure = error instanceof WrongPasswordError && after === before?.text;
    if (!isUnsure || !(await isNext())) throw error;
    await adopt(after, kek);
    return 'already';
  }
  await adopt(after, kek);
  return 'changed';
}

/** See `Szafa.changePassphrase`. */
export async function changePassphrase(
  context: AccountContext,
  proof: Proof,
  next: string,
  current?: string,
): Promise<Change> {
  const { api, engine, keys } = context;
  if (proof.raw && next.normalize('NFC') === proof.password.normalize('NFC')) throw new SameSecretError();
  const before = await requireBag(context);
  const account = await requireAccount(context, before);
  const now = await deriveProof(context, proof, before);
  const { kek } = await deriveAccountKeys(engine, account, next, PROFILE);
  // The profile of the next bag applies to the password too.
  const { authSecret } =
    account.profile === PROFILE ? now : await deriveProof(context, proof, before, PROFILE);
  if (await isOpenedBy(engine, before.bag, { type: 'password', kek })) {
    await keys.adopt(before.text, { kek, authSecret });
    return 'already';
  }
  const given =
    current === undefined ? now : await deriveAccountKeys(engine, account, current, account.profile);
  const unlocker = await findUnlocker(context, before, given);
  await replaceBag(context, {
    ...{ what: 'the passphrase', before, next: { kek, authSecret } },
    bag: await changeBag(engine, before.bag, unlocker, { password: kek }),
    send: (text, call) =>
      api.call('changePassword', {
        body: { current: now.authSecret, next: authSecret, keys: text },
        ...call,
      }),
  });
  return 'changed';
}

/** See `Szafa.setRecoveryKey`. */
export async function setRecoveryKey(context: AccountContext, proof: Proof, key: Bytes): Promise<void> {
  const { api, engine } = context;
  const before = await requireBag(context);
  const now = await deriveProof(context, proof, before);
  const recovery = await deriveRecoveryKeys(engine, await requireAccount(context, before), key);
  const unlocker = await findUnlocker(context, before, now);
  const { authSecret } = now;
  const more = {
    recovery: recovery.authSecret,
    ...(await identityOfBag(engine, before.bag, unlocker)),
  };
  await replaceBag(context, {
    ...{ what: 'the recovery key', before, next: { authSecret } },
    bag: await changeBag(engine, before.bag, unlocker, { recovery: recovery.kek }),
    send: (keys, call) => api.call('writeKeys', { body: { password: authSecret, keys, ...more }, ...call }),
  });
}
