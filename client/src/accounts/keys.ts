/** An account's keys, opened from its key bag. */
import {
  BAGLESS_PROFILE,
  type Bytes,
  bytesOf,
  checkBag,
  checkMasters,
  type Engine,
  identityOfBag,
  type Master,
  makeBag,
  type OwnIdentity,
  openBag,
  openCurrentMaster,
  openIdentity,
  ownIdentity,
  type ParsedBag,
  type Pin,
  parseBag,
  toBase64Url,
  type Unlocker,
} from '@szafa/format';
import type { Api } from '../call.ts';
import { LockedError, RetiredKeyError, SzafaError, TamperedError, WrongPasswordError } from '../errors.ts';
import { unlessAborted } from '../pool.ts';
import { readKeys, readTaggedKeys, writeFirstKeys } from './calls.ts';
import { missingKeys, requireUnused } from './unused-account.ts';

/** Remembers the newest key bag of one account. Contains no secret, and must survive a logout. @public */
export interface PinStore {
  load(): Promise<Pin | undefined>;
  save(pin: Pin): Promise<void>;
  /** Called after the account was deleted: a new account of this name has different keys. */
  forget(): Promise<void>;
}

export interface KeysOptions {
  engine: Engine;
  api: Api;
  username: string;
  kek?: Bytes | undefined;
  /** The id of the passkey that the KEK belongs to; the KEK is the password's by default. */
  passkey?: string | undefined;
  /** The service id for which the KEK was derived; from the pin or the bag by default. */
  serviceId?: string | undefined;
  /** The secret that the server knows as the password, needed to store the first keys of an account. */
  authSecret?: string | undefined;
  pin?: PinStore | undefined;
}

export interface CheckOptions {
  signal?: AbortSignal | undefined;
  /** Called before the first keys of an account are created: no existing keys confirm that the secret was typed correctly. */
  beforeFirst?: (() => Promise<void>) | undefined;
  /** Ignore directory names: a plain name may look like a sealed one. */
  filesOnly?: boolean | undefined;
}

/** The key bag on the server, checked as far as possible without a key. */
export interface StoredBag {
  bag: ParsedBag;
  text: string;
  /** The ETag, needed to replace the bag. */
  tag: string;
}

interface OpenedBag {
  text: string;
  /** Newest first. */
  masters: Master[];
  /** The first epoch that is not retired. */
  floor: number;
}

/** A fetch of the bag that several callers share. */
interface Loading {
  opened: Promise<OpenedBag>;
  /** The result, once available: callers can use it without awaiting. */
  found?: OpenedBag;
  stop: AbortController;
  /** Number of waiting callers. */
  waiting: number;
}

/** Errors that are remembered: otherwise a list would fetch the bag again for each of its files. */
const FINAL = new Set(['wrong-password', 'tampered', 'unsupported']);
/** Age at which the bag is fetched again before sealing: another process may have created a new master key. */
const FRESH_MS = 30_000;

/**
 * The keys of one account. The bag is fetched once per session, and again if a file names an unknown master key. A bag older than one
 * seen before is refused. So is a missing bag if the account must have keys: new keys could not open the existing files. @public
 */
export class Keys {
  #options: KeysOptions;
  #loading: Loading | undefined;
  /** Stays the same even with a new bag: see docs/format.md. */
  #identity: Promise<OwnIdentity> | undefined;
  /** The highest epoch for which the bag was fetched again, so that a forged epoch causes one request only. */
  #fetchedFor = 0;
  /** The pin of the newest bag in this session, for clients without a pin store. */
  #seen: Pin | undefined;
  /** Time of the last fetch, by `performance.now`. */
  #fetchedAt = 0;
  #refreshing: Promise<void> | undefined;

  constructor(options: KeysOptions) {
    this.#options = options;
  }

  get unlocked(): boolean {
    return this.#options.kek !== undefined;
  }

  /** The key that opens the key bag. */
  get kek(): Bytes {
    if (!this.#options.kek) throw new LockedError();
    return this.#options.kek;
  }

  /** The KEK, and which entry of the bag it opens. */
  get unlocker(): Unlocker {
    const { passkey } = this.#options;
    const { kek } = this;
    return passkey === undefined ? { type: 'password', kek } : { type: 'passkey', id: passkey, kek };
  }

  /**
   * Checks that the secret opens the account's keys. Creates the keys if the account has none.
   * @throws WrongPasswordError before anything is sealed under a wrong secret
   */
  async check(options: CheckOptions = {}): Promise<void> {
    await this.#load(options);
  }

  /** Returns the master key for sealing. Fetches an old bag again first: readers would refuse a file sealed under a retired key. */
  async current(signal?: AbortSignal): Promise<Master> {
    const { found } = this.#loading ?? {};
    if (found && performance.now() - this.#fetchedAt >= FRESH_MS) {
      this.#refreshing ??= this.#refresh(found).finally(() => {
        this.#refreshing = undefined;
      });
      await unlessAborted(this.#refreshing, signal);
    }
    return (await this.#load({ signal })).masters[0]!;
  }

  /** Returns the master keys that open headers and names, newest first. */
  async masters(signal?: AbortSignal): Promise<Master[]> {
    const { masters, floor } = await this.#load({ signal });
    return masters.filter(({ epoch }) => epoch >= floor);
  }

  /** Returns all master keys, including retired ones, for journals and deliveries. */
  async allMasters(signal?: AbortSignal): Promise<Master[]> {
    return (await this.#load({ signal })).masters;
  }

  /** Returns the first epoch that is not retired. */
  async floor(signal?: AbortSignal): Promise<number> {
    return (await this.#load({ signal })).floor;
  }

  /**
   * Returns the master key of an epoch.
   * @throws RetiredKeyError; TamperedError if the bag has no such key
   */
  async master(epoch: number, signal?: AbortSignal): Promise<Bytes> {
    let opened = await this.#load({ signal });
    if (epoch > opened.masters[0]!.epoch && epoch > this.#fetchedFor) {
      // Another device may have created a newer master key.
      this.#fetchedFor = epoch;
      this.#loading = undefined;
      opened = await this.#load({ signal });
    }
    if (epoch < opened.floor) throw new RetiredKeyError(epoch);
    const found = opened.masters.find((master) => master.epoch === epoch);
    if (found) return found.key;
    throw new TamperedError('epoch', 'the file is under a master key that is not in the key bag');
  }

  /** Returns this account's own key pairs. */
  async identity(signal?: AbortSignal): Promise<OwnIdentity> {
    signal?.throwIfAborted();
    this.#identity ??= this.#openIdentity().catch((error: unknown) => {
      this.#identity = undefined;
      throw error;
    });
    return unlessAborted(this.#identity, signal);
  }

  /** Takes no signal because several callers may share the result. */
  async #openIdentity(): Promise<OwnIdentity> {
    const { engine } = this.#options;
    const found = await this.fetchBag();
    if (!found) throw new LockedError('this account has no keys yet: log in with its password once');
    const master = await openCurrentMaster(engine, found.bag, this.unlocker);
    const secrets = await openIdentity(engine, found.bag, master);
    master.fill(0);
    return ownIdentity(engine, found.bag, secrets);
  }

  /** Fetches the bag in order to replace it; undefined if the account never had a bag. */
  async fetchBag(signal?: AbortSignal): Promise<StoredBag | undefined> {
    const { api } = this.#options;
    const known = await this.#known();
    const answer = await readTaggedKeys(api, { signal });
    if (!answer) {
      requireNeverSeen(known);
      await requireUnused(api, { signal, filesOnly: true });
      return undefined;
    }
    const { bag } = await this.#parse(answer.keys, known);
    if (this.unlocked) await this.#open(answer.keys, this.unlocker, known).catch(unlessOtherMasters);
    return { bag, text: answer.keys, tag: answer.tag };
  }

  /** Continues with a bag that this client has just stored. A new KEK is the password's. */
  async adopt(
    text: string | undefined,
    { kek, authSecret }: Pick<KeysOptions, 'kek' | 'authSecret'>,
  ): Promise<void> {
    const { engine, pin } = this.#options;
    if (text !== undefined) {
      this.#seen = (await this.#parse(text, await this.#known())).next;
      await pin?.save(this.#seen);
    }
    const own = kek ? { kek: await engine.hold(kek), passkey: undefined } : {};
    this.#options = { ...this.#options, ...own, authSecret };
    this.#loading = undefined;
  }

  /** Shares one fetch among all callers. Aborting stops only the caller that aborts. */
  async #load({ signal, ...options }: CheckOptions): Promise<OpenedBag> {
    signal?.throwIfAborted();
    this.#loading ??= this.#begin(options);
    const loading = this.#loading;
    // Avoids an await for each of thousands of files.
    if (loading.found) return loading.found;
    loading.waiting++;
    try {
      return await unlessAborted(loading.opened, signal);
    } catch (error) {
      if (signal?.aborted && loading.waiting === 1) this.#end(loading);
      throw error;
    } finally {
      loading.waiting--;
    }
  }

  #begin(options: CheckOptions): Loading {
    const stop = new AbortController();
    const loading: Loading = { opened: this.#fetch({ ...options, signal: stop.signal }), stop, waiting: 0 };
    loading.opened.then(
      (found) => {
        loading.found = found;
      },
      (error: unknown) => {
        if (!(error instanceof SzafaError && FINAL.has(error.code))) this.#end(loading);
      },
    );
    return loading;
  }

  /** Drops a fetch that failed or has no callers left, so that the next caller starts a new one. */
  #end(loading: Loading): void {
    loading.stop.abort();
    if (this.#loading === loading) this.#loading = undefined;
  }

  /** Returns the pin of the newest bag ever seen. */
  async #known(): Promise<Pin | undefined> {
    const pin = await this.#options.pin?.load();
    return pin && pin.rev >= (this.#seen?.rev ?? 0) ? pin : this.#seen;
  }

  /** Fetches the bag again and adopts it if it has changed. */
  async #refresh(before: OpenedBag): Promise<void> {
    const text = await readKeys(this.#options.api);
    const now = performance.now();
    if (text === undefined) throw missingKeys('it had them before');
    if (text !== before.text) {
      try {
        const found = await this.#open(text, this.unlocker, await this.#known());
        this.#loading = { opened: Promise.resolve(found), found, stop: new AbortController(), waiting: 0 };
      } catch (error) {
        // The password was changed elsewhere. This session continues as long as its master key is still the current one.
        const { epoch } = parseBag(bytesOf(text, 'bag', 'the key bag'));
        if (!(error instanceof WrongPasswordError) || epoch !== before.masters[0]!.epoch) throw error;
      }
    }
    this.#fetchedAt = now;
  }

  async #fetch(options: CheckOptions): Promise<OpenedBag> {
    const { api } = this.#options;
    const { unlocker } = this;
    const known = await this.#known();
    this.#fetchedAt = performance.now();
    const text = (await readKeys(api, options)) ?? (await this.#makeFirst(unlocker, known, options));
    return this.#open(text, unlocker, known);
  }

  async #open(text: string, unlocker: Unlocker, known: Pin | undefined): Promise<OpenedBag> {
    const { engine, pin } = this.#options;
    const { bag, next } = await this.#parse(text, known);
    const masters = await openBag(engine, bag, unlocker);
    const master = await checkMasters(engine, masters, known);
    this.#seen = { ...next, master };
    if (next.rev !== known?.rev || master.digest !== known.master?.digest) await pin?.save(this.#seen);
    return { text, masters, floor: bag.floor };
  }

  async #parse(text: string, known: Pin | undefined): Promise<{ bag: ParsedBag; next: Pin }> {
    const { engine, username, serviceId } = this.#options;
    const bag = parseBag(bytesOf(text, 'bag', 'the key bag'));
    const account = { serviceId: serviceId ?? known?.serviceId ?? bag.serviceId, username };
    return { bag, next: await checkBag(engine, bag, account, known) };
  }

  /** Creates the first bag. If another device stored one first, returns that one. */
  async #makeFirst({ type, kek }: Unlocker, known: Pin | undefined, options: CheckOptions): Promise<string> {
    const { engine, api, username, serviceId, authSecret } = this.#options;
    requireNeverSeen(known);
    if (type === 'passkey') throw missingKeys('a passkey opened them');
    if (authSecret === undefined || serviceId === undefined) {
      throw new LockedError('this account has no keys yet: log in with its password once');
    }
    await requireUnused(api, options);
    await options.beforeFirst?.();
    const bag = await makeBag(engine, { serviceId, username }, { password: kek }, BAGLESS_PROFILE);
    const keys = toBase64Url(bag);
    const identity = await identityOfBag(engine, parseBag(bag), { type, kek });
    if (await writeFirstKeys(api, { password: authSecret, keys, ...identity }, options)) return keys;
    const winner = await readKeys(api, options);
    if (winner === undefined) throw missingKeys('it said that there are some');
    return winner;
  }
}

/** Rethrows only a missing pinned master: a bag that is about to be replaced need not open with the session's key. */
function unlessOtherMasters(error: unknown): void {
  if (error instanceof TamperedError && error.stage === 'masters') throw error;
}

function requireNeverSeen(known: Pin | undefined): void {
  if (known) throw missingKeys('it had them before');
}
