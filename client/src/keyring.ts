import type { Api } from './api/api.ts';
import { LockedError, SzafaError, UnsupportedError, WrongPasswordError } from './errors.ts';
import { type Bytes, toBase64Url } from './format/bytes.ts';
import type { Engine } from './format/engine.ts';
import { parseHeader } from './format/header.ts';
import { accountSalt, deriveKek, isStandardKdf } from './format/keys.ts';
import { looksSealed, openDirName } from './format/names.ts';
import { makeRing, openRing, type Ring, type RingJson, ringFromJson, ringToJson } from './format/ring.ts';

export interface KnownRing {
  ring: RingJson;
  /** By the service's clock, when the oldest file seen here that carries it was made (ISO 8601). */
  since: string;
}

/** Where the rings of an account are kept between sessions. They are sealed: no secret is in them. @public */
export interface RingCache {
  load(): Promise<KnownRing[]>;
  save(rings: KnownRing[]): Promise<void>;
}

export interface OpenRing {
  ring: Ring;
  master: Bytes;
  since: string;
}

export interface KeyringOptions {
  engine: Engine;
  api: Api;
  username: string;
  kek?: Bytes | undefined;
  /** Password or passphrase: needed only for rings made with other KDF parameters. */
  secret?: string | undefined;
  cache?: RingCache | undefined;
}

export interface CheckOptions {
  signal?: AbortSignal | undefined;
  /** Directory names tell nothing: a plain one may look like a sealed one. */
  filesOnly?: boolean | undefined;
}

/** Of a ring in no file seen yet: after every other, so that all devices come to agree on one. */
const UNSEEN = '9999-12-31T23:59:59.999Z';
/** A hostile listing could name a new salt in every file; each costs a second at most. */
const MOST_DERIVATIONS = 4;
/** Files looked at before an account counts as one without a ring. */
const MOST_PROBES = 16;

/**
 * The master keys of one account. There is normally one; two devices that make their first upload at the same
 * time make one each. Every file carries its own ring, so all stay readable; new files take the oldest. @public
 */
export class Keyring {
  readonly #options: KeyringOptions;
  readonly #open = new Map<string, OpenRing>();
  readonly #opening = new Map<string, Promise<OpenRing>>();
  readonly #keks = new Map<string, Promise<Bytes>>();
  #dirty = false;
  #cached: Promise<void> | undefined;
  #forUpload: Promise<OpenRing> | undefined;

  constructor(options: KeyringOptions) {
    this.#options = options;
  }

  get unlocked(): boolean {
    return this.#options.kek !== undefined;
  }

  /** The key of directory names, and of every ring made here. */
  get kek(): Bytes {
    if (!this.#options.kek) throw new LockedError();
    return this.#options.kek;
  }

  /** The master keys known so far, oldest first. */
  async masters(): Promise<Bytes[]> {
    await this.#loadCache();
    return this.#oldestFirst().map((entry) => entry.master);
  }

  /** The master key in a ring that came with a file made at `since`. */
  async unlock(ring: Ring, since: string = UNSEEN): Promise<Bytes> {
    await this.#loadCache();
    const known = this.#open.has(idOf(ring));
    const { master } = await this.#openOnce(ring, since);
    this.seen(master, since);
    if (!known) await this.#save();
    return master;
  }

  /** A file under this master key, made at `since`, was seen. */
  seen(master: Bytes, since: string): void {
    for (const entry of this.#open.values()) {
      if (entry.master !== master || entry.since <= since) continue;
      entry.since = since;
      this.#dirty = true;
    }
  }

  /** Keeps what `seen` learnt. */
  async keep(): Promise<void> {
    if (this.#dirty) await this.#save();
  }

  /**
   * Whether the keys open what the account has: true when something did, false when there is nothing to tell by. A
   * WrongPasswordError otherwise, before anything is made that no other device could read.
   */
  async check({ signal, filesOnly }: CheckOptions = {}): Promise<boolean> {
    const { api, engine } = this.#options;
    const kek = this.kek;
    await this.#loadCache();
    if (this.#open.size > 0 || (await this.#discover(signal))) return true;
    if (filesOnly) return false;
    let sealed = false;
    for (const { name } of await api.listDirs({ signal })) {
      if ((await openDirName(engine, kek, name)) !== undefined) return true;
      sealed ||= looksSealed(name) && /[A-Z]/.test(name) && /[a-z]/.test(name);
    }
    if (sealed) throw new WrongPasswordError("the password opens none of this account's directory names");
    return false;
  }

  /** The ring for new files: a known one, one found in the account's files, or a new one. */
  forUpload(signal?: AbortSignal): Promise<OpenRing> {
    this.#forUpload ??= this.#findOrMake(signal).catch((error: unknown) => {
      this.#forUpload = undefined;
      throw error;
    });
    return this.#forUpload.then((first) => this.#oldestFirst()[0] ?? first);
  }

  async #findOrMake(signal?: AbortSignal): Promise<OpenRing> {
    const { engine, username } = this.#options;
    const kek = this.kek;
    await this.#loadCache();
    const known = this.#oldestFirst()[0] ?? (await this.#discover(signal));
    if (known) return known;
    const made = await makeRing(engine, kek, await accountSalt(engine, username));
    const entry = { ...made, since: UNSEEN };
    this.#open.set(idOf(entry.ring), entry);
    await this.#save();
    return entry;
  }

  /** Looks at the oldest files first, those with sealed names before the others. */
  async #discover(signal?: AbortSignal): Promise<OpenRing | undefined> {
    const { api } = this.#options;
    const files = (await Array.fromAsync(api.files({ signal }))).reverse();
    const sealed = files.filter((file) => looksSealed(file.file_name));
    const plain = files.filter((file) => !looksSealed(file.file_name));
    let wrong: WrongPasswordError | undefined;
    for (const file of [...sealed, ...plain].slice(0, MOST_PROBES)) {
      try {
        const { encParams } = await api.headVolume(file.file_id, 1, { signal });
        const { ring } = parseHeader(encParams);
        await this.unlock(ring, file.created_at);
        return this.#open.get(idOf(ring));
      } catch (error) {
        if (error instanceof WrongPasswordError) wrong = error;
        // A file of another client, or a broken one, says nothing about this account's ring.
        else if (!(error instanceof SzafaError) || error.code === 'network') throw error;
      }
    }
    // Going on would put new files under a password that opens none of the old ones.
    if (wrong)
      throw new WrongPasswordError("the password opens none of this account's files", { cause: wrong });
    return undefined;
  }

  #openOnce(ring: Ring, since: string): Promise<OpenRing> {
    const id = idOf(ring);
    const known = this.#open.get(id);
    if (known) return Promise.resolve(known);
    let opening = this.#opening.get(id);
    if (!opening) {
      opening = this.#kekOf(ring)
        .then((kek) => openRing(this.#options.engine, kek, ring))
        .then((master) => {
          const entry = { ring, master, since };
          this.#open.set(id, entry);
          return entry;
        })
        .finally(() => this.#opening.delete(id));
      this.#opening.set(id, opening);
    }
    return opening;
  }

  async #kekOf(ring: Ring): Promise<Bytes> {
    const { engine, username, secret } = this.#options;
    const kek = this.kek;
    if (isStandardKdf(ring.kdf, ring.salt, await accountSalt(engine, username))) return kek;
    if (secret === undefined) throw new LockedError('this key ring needs the password itself');
    const { m, t, p } = ring.kdf;
    const id = `${m}.${t}.${p}.${toBase64Url(ring.salt)}`;
    let derived = this.#keks.get(id);
    if (!derived) {
      if (this.#keks.size >= MOST_DERIVATIONS) {
        throw new UnsupportedError('kdf', 'too many key rings with different parameters');
      }
      derived = deriveKek(engine, secret, ring.salt, ring.kdf);
      this.#keks.set(id, derived);
    }
    return derived;
  }

  #loadCache(): Promise<void> {
    this.#cached ??= (async () => {
      for (const { ring, since } of (await this.#options.cache?.load()) ?? []) {
        try {
          await this.#openOnce(ringFromJson(ring), since);
        } catch (error) {
          // Left by another password, or damaged: the files themselves still carry their rings.
          if (!(error instanceof SzafaError) || error instanceof LockedError) throw error;
        }
      }
    })();
    return this.#cached;
  }

  async #save(): Promise<void> {
    this.#dirty = false;
    const rings = this.#oldestFirst().map(({ ring, since }) => ({ ring: ringToJson(ring), since }));
    await this.#options.cache?.save(rings);
  }

  #oldestFirst(): OpenRing[] {
    const rank = ({ since, ring }: OpenRing) => `${since} ${idOf(ring)}`;
    return [...this.#open.values()].sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  }
}

/** Also what decides between two of the same age, alike on every device. */
function idOf(ring: Ring): string {
  return toBase64Url(ring.sealedMaster);
}
