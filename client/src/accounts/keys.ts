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

/** Where a client remembers the newest key bag of one account. No secret is in it, and it must outlive a logout. @public */
export interface PinStore {
  load(): Promise<Pin | undefined>;
  save(pin: Pin): Promise<void>;
  /** The account is no more: another one of its name has other keys. */
  forget(): Promise<void>;
}

export interface KeysOptions {
  engine: Engine;
  api: Api;
  username: string;
  kek?: Bytes | undefined;
  /** The id of the passkey whose entry in the bag the KEK opens; without one it opens that of the password. */
  passkey?: string | undefined;
  /** Of the service for which the KEK was derived; a session that was kept learns it from its pin, or from the bag. */
  serviceId?: string | undefined;
  /** What the service gets as `password`: with it an account without keys can be given its first ones. */
  authSecret?: string | undefined;
  pin?: PinStore | undefined;
}

export interface CheckOptions {
  signal?: AbortSignal | undefined;
  /** Called before an account gets its first keys under a secret that nobody has checked yet. */
  beforeFirst?: (() => Promise<void>) | undefined;
  /** Directory names tell nothing: a plain one may look like a sealed one. */
  filesOnly?: boolean | undefined;
}

/** The key bag as the service has it now, checked as far as it can be without a key. */
export interface FoundBag {
  bag: ParsedBag;
  /** As the service keeps it. */
  text: string;
  /** By which it can be replaced. */
  tag: string;
}

/** The key bag, opened. */
interface OpenedBag {
  /** As the service gave it. */
  text: string;
  /** Newest first. */
  masters: Master[];
  /** Master keys of earlier epochs are retired. */
  floor: number;
}

interface Loading {
  opened: Promise<OpenedBag>;
  /** Once it is here. */
  found?: OpenedBag;
  stop: AbortController;
  /** How many want it. */
  waiting: number;
}

/** What does not get better by asking again: a list would ask for each of its files. */
const FINAL = new Set(['wrong-password', 'tampered', 'unsupported']);
/** Nothing is sealed under a master key that was looked up longer ago: another process may have made a new one. */
const FRESH_MS = 30_000;

/**
 * The keys of one account, out of its key bag, which the service keeps. It is fetched once for a session, and again when a file names
 * a master key that is not in it. What the service gives is never older than what was seen before, and never taken for missing where it
 * cannot be: no keys are made beside those that the files are under. @public
 */
export class Keys {
  #options: KeysOptions;
  #loading: Loading | undefined;
  /** It stays as it is, whatever becomes of the bag: see docs/format.md. */
  #identity: Promise<OwnIdentity> | undefined;
  /** The highest epoch that the bag was fetched again for. */
  #askedFor = 0;
  /** Of the newest bag in this session, for clients that keep no pins. */
  #seen: Pin | undefined;
  /** When the service was last asked for the bag, by `performance.now`. */
  #lookedAt = 0;
  #looking: Promise<void> | undefined;

  constructor(options: KeysOptions) {
    this.#options = options;
  }

  get unlocked(): boolean {
    return this.#options.kek !== undefined;
  }

  /** Opens the key bag. */
  get kek(): Bytes {
    if (!this.#options.kek) throw new LockedError();
    return this.#options.kek;
  }

  /** Which of the bag's entries the KEK opens. */
  get way(): Unlocker {
    const { passkey } = this.#options;
    const { kek } = this;
    return passkey === undefined ? { type: 'password', kek } : { type: 'passkey', id: passkey, kek };
  }

  /** That the secret opens the account's keys; makes the first ones. A WrongPasswordError before anything is sealed under a wrong one. */
  async check(options: CheckOptions = {}): Promise<void> {
    await this.#load(options);
  }

  /** The master key to seal with now. Looks at the bag again if the last look is long ago: what is sealed under a retired key is lost. */
  async current(signal?: AbortSignal): Promise<Master> {
    const { found } = this.#loading ?? {};
    if (found && performance.now() - this.#lookedAt >= FRESH_MS) {
      this.#looking ??= this.#look(found).finally(() => {
        this.#looking = undefined;
      });
      await unlessAborted(this.#looking, signal);
    }
    return (await this.#load({ signal })).masters[0]!;
  }

  /** The master keys under which headers and names count, newest first. */
  async masters(signal?: AbortSignal): Promise<Master[]> {
    const { masters, floor } = await this.#load({ signal });
    return masters.filter(({ epoch }) => epoch >= floor);
  }

  /** Those and the retired ones, for journals and deliveries. */
  async allMasters(signal?: AbortSignal): Promise<Master[]> {
    return (await this.#load({ signal })).masters;
  }

  /** The first epoch that is not retired. */
  async floor(signal?: AbortSignal): Promise<number> {
    return (await this.#load({ signal })).floor;
  }

  /** The master key that a file names. */
  async master(epoch: number, signal?: AbortSignal): Promise<Bytes> {
    let opened = await this.#load({ signal });
    if (epoch > opened.masters[0]!.epoch && epoch > this.#askedFor) {
      // Another device may have made a new one meanwhile.
      this.#askedFor = epoch;
      this.#loading = undefined;
      opened = await this.#load({ signal });
    }
    if (epoch < opened.floor) throw new RetiredKeyError(epoch);
    const found = opened.masters.find((master) => master.epoch === epoch);
    if (found) return found.key;
    throw new TamperedError('epoch', 'the file is under a master key that is not in the key bag');
  }

  /** What this account is known by to others, with the secret halves. */
  async identity(signal?: AbortSignal): Promise<OwnIdentity> {
    signal?.throwIfAborted();
    this.#identity ??= this.#openIdentity().catch((error: unknown) => {
      this.#identity = undefined;
      throw error;
    });
    return unlessAborted(this.#identity, signal);
  }

  /** Several may wait for it: none of them ends it. */
  async #openIdentity(): Promise<OwnIdentity> {
    const { engine } = this.#options;
    const found = await this.found();
    if (!found) throw new LockedError('this account has no keys yet: log in with its password once');
    const master = await openCurrentMaster(engine, found.bag, this.way);
    const secrets = await openIdentity(engine, found.bag, master);
    master.fill(0);
    return ownIdentity(engine, found.bag, secrets);
  }

  /** The bag that is there now, to be replaced by the next one; undefined for an account that never had one. */
  async found(signal?: AbortSignal): Promise<FoundBag | undefined> {
    const { api } = this.#options;
    const known = await this.#known();
    const answer = await readTaggedKeys(api, { signal });
    if (!answer) {
      requireNever(known);
      await requireUnused(api, { signal, filesOnly: true });
      return undefined;
    }
    const { bag } = await this.#checked(answer.keys, known);
    if (this.unlocked) await this.#open(answer.keys, this.way, known).catch(unlessOtherMasters);
    return { bag, text: answer.keys, tag: answer.tag };
  }

  /** The service has this bag from now on, made here, and these open it (`kek`: that of the password); what is not told stays. */
  async replaced(
    text: string | undefined,
    { kek, authSecret }: Pick<KeysOptions, 'kek' | 'authSecret'>,
  ): Promise<void> {
    const { engine, pin } = this.#options;
    if (text !== undefined) {
      this.#seen = (await this.#checked(text, await this.#known())).next;
      await pin?.save(this.#seen);
    }
    const own = kek ? { kek: await engine.hold(kek), passkey: undefined } : {};
    this.#options = { ...this.#options, ...own, authSecret };
    this.#loading = undefined;
  }

  /** Several wait for one answer: who gives up must not take it from the others. */
  async #load({ signal, ...options }: CheckOptions): Promise<OpenedBag> {
    signal?.throwIfAborted();
    this.#loading ??= this.#begin(options);
    const loading = this.#loading;
    // Each of thousands of files asks: what is there is not waited for.
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

  /** Nobody waits for it any more, or it failed: whoever needs it next begins again. */
  #end(loading: Loading): void {
    loading.stop.abort();
    if (this.#loading === loading) this.#loading = undefined;
  }

  /** The newest bag that was ever seen. */
  async #known(): Promise<Pin | undefined> {
    const pin = await this.#options.pin?.load();
    return pin && pin.rev >= (this.#seen?.rev ?? 0) ? pin : this.#seen;
  }

  /** Takes the bag over that the service has now, if it is another one. */
  async #look(before: OpenedBag): Promise<void> {
    const text = await readKeys(this.#options.api);
    const now = performance.now();
    if (text === undefined) throw missingKeys('it had them before');
    if (text !== before.text) {
      try {
        const found = await this.#open(text, this.way, await this.#known());
        this.#loading = { opened: Promise.resolve(found), found, stop: new AbortController(), waiting: 0 };
      } catch (error) {
        // Another password: this session opens it no more, but goes on with the master key that is still the current one.
        const { epoch } = parseBag(bytesOf(text, 'bag', 'the key bag'));
        if (!(error instanceof WrongPasswordError) || epoch !== before.masters[0]!.epoch) throw error;
      }
    }
    this.#lookedAt = now;
  }

  async #fetch(options: CheckOptions): Promise<OpenedBag> {
    const { api } = this.#options;
    const { way } = this;
    const known = await this.#known();
    this.#lookedAt = performance.now();
    const text = (await readKeys(api, options)) ?? (await this.#makeFirst(way, known, options));
    return this.#open(text, way, known);
  }

  async #open(text: string, way: Unlocker, known: Pin | undefined): Promise<OpenedBag> {
    const { engine, pin } = this.#options;
    const { bag, next } = await this.#checked(text, known);
    const masters = await openBag(engine, bag, way);
    const master = await checkMasters(engine, masters, known);
    this.#seen = { ...next, master };
    if (next.rev !== known?.rev || master.digest !== known.master?.digest) await pin?.save(this.#seen);
    return { text, masters, floor: bag.floor };
  }

  async #checked(text: string, known: Pin | undefined): Promise<{ bag: ParsedBag; next: Pin }> {
    const { engine, username, serviceId } = this.#options;
    const bag = parseBag(bytesOf(text, 'bag', 'the key bag'));
    const account = { serviceId: serviceId ?? known?.serviceId ?? bag.serviceId, username };
    return { bag, next: await checkBag(engine, bag, account, known) };
  }

  /** The bag that is there afterwards: of two devices that do this at once, the service takes the first one's. */
  async #makeFirst({ type, kek }: Unlocker, known: Pin | undefined, options: CheckOptions): Promise<string> {
    const { engine, api, username, serviceId, authSecret } = this.#options;
    requireNever(known);
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

/** The session's key need not open the bag that is to be replaced. */
function unlessOtherMasters(error: unknown): void {
  if (error instanceof TamperedError && error.stage === 'masters') throw error;
}

function requireNever(known: Pin | undefined): void {
  if (known) throw missingKeys('it had them before');
}
