/** The public keys of other accounts, pinned on first contact. */
import {
  type Bytes,
  bytesOf,
  fingerprintText,
  type Identity,
  type OwnIdentity,
  parseFingerprint,
  parseIdentity,
} from '@szafa/format';
import { cleanUsername, isUsername } from '@szafa/protocol';
import { ApiError, ContactChangedError, SzafaError, TamperedError } from '../errors.ts';
import type { OpenContext } from '../transfers/download/context.ts';

/** The remembered keys of another account. @public */
export interface ContactPin {
  /** SHA-256 over names and keys of the account, in hex; the fingerprint shows it. */
  digest: string;
  /** Whether two people have compared the fingerprint. */
  verified: boolean;
}

/** Stores the contacts of one account. Contains no secret, and must survive a logout. @public */
export interface ContactStore {
  load(contact: string): Promise<ContactPin | undefined>;
  /** Stores a pin unless there is one already, and returns the stored pin. */
  saveFirst(contact: string, pin: ContactPin): Promise<ContactPin>;
  save(contact: string, pin: ContactPin): Promise<void>;
}

/** Contact stores by account and service id, which is the same at every address of a server. @public */
export interface ContactStores {
  of(username: string, serviceId: string): ContactStore;
}

/** @public */
export interface Contact {
  username: string;
  /** Fingerprint of the keys that the server returns now: 60 digits in groups of five. */
  fingerprint: string;
  /** `known`: pinned, but not compared; `verified`: compared; `changed`: the keys differ from the pinned ones. */
  state: 'known' | 'verified' | 'changed';
}

function inMemory(): ContactStore {
  const pins = new Map<string, ContactPin>();
  return {
    load: async (contact) => pins.get(contact),
    saveFirst: async (contact, pin) => {
      if (!pins.has(contact)) pins.set(contact, pin);
      return pins.get(contact)!;
    },
    save: async (contact, pin) => void pins.set(contact, pin),
  };
}

const isOf = (pin: ContactPin, { digest }: Identity) => pin.digest === digest.toHex();
const changed = (identity: Identity, { verified }: ContactPin) =>
  new ContactChangedError(identity.username, fingerprintText(identity), verified);

type Context = Pick<OpenContext, 'api' | 'engine' | 'keys'>;

const noSuch = (username: string, cause?: unknown) =>
  new SzafaError('no-contact', `there is no account ${username} to share with`, {
    cause,
  });

/**
 * Trusts and pins the keys of an account on first contact, and then refuses other keys until someone has compared them. Comparing also
 * exposes a server that lied from the beginning.
 */
export class Contacts {
  readonly #context: Context;
  readonly #stores: ContactStores;

  constructor(context: Context, stores: ContactStores | undefined) {
    const memory = inMemory();
    this.#context = context;
    this.#stores = stores ?? { of: () => memory };
  }

  own(signal?: AbortSignal): Promise<OwnIdentity> {
    return this.#context.keys.identity(signal);
  }

  /**
   * Returns the keys of an account, and pins them on first contact. `text` is the server's answer.
   * @throws ContactChangedError
   */
  async trusted(username: string, signal?: AbortSignal): Promise<Identity & { text: string }> {
    const identity = await this.#find(cleanUsername(username), signal);
    const { pin, isSame } = await this.#pinned(identity, signal);
    if (!isSame) throw changed(identity, pin);
    return identity;
  }

  /** Like `trusted`, for keys that arrived with a share. */
  async received(
    username: string,
    document: string,
    signal?: AbortSignal,
  ): Promise<{ identity: Identity; verified: boolean }> {
    // A look-alike character could make a stranger look like a friend.
    if (!isUsername(username))
      throw new TamperedError('identity', 'the server returned a name that no account can have');
    const identity = await this.#parse(username, document, signal);
    const { pin, isSame } = await this.#pinned(identity, signal);
    if (!isSame) throw changed(identity, pin);
    return { identity, verified: pin.verified };
  }

  /** Returns the keys to compare, and pins them, so that the compared keys are the ones used later. */
  async show(username: string, signal?: AbortSignal): Promise<Contact> {
    const identity = await this.#find(cleanUsername(username), signal);
    const { pin, isSame } = await this.#pinned(identity, signal);
    const state = isSame ? (pin.verified ? 'verified' : 'known') : 'changed';
    return { username: identity.username, fingerprint: fingerprintText(identity), state };
  }

  /** Returns the pinned keys without a request; undefined if there is no pin. */
  async remembered(name: string): Promise<Contact | undefined> {
    const username = cleanUsername(name);
    const pin = await (await this.#store(undefined)).load(username);
    if (!pin) return undefined;
    const fingerprint = fingerprintText({ digest: Uint8Array.fromHex(pin.digest) });
    return { username, fingerprint, state: pin.verified ? 'verified' : 'known' };
  }

  /** Marks the keys returned by `show` as compared. */
  async verify(username: string, signal?: AbortSignal): Promise<Contact> {
    const name = cleanUsername(username);
    const pin = await (await this.#store(signal)).load(name);
    if (!pin) throw new SzafaError('not-seen', `the keys of ${name} have never been seen on this device`);
    const identity = await this.#find(name, signal);
    if (!isOf(pin, identity)) throw changed(identity, pin);
    return this.#keep(identity, signal);
  }

  /** Pins new keys with this fingerprint, which the owner has confirmed. */
  async accept(username: string, fingerprint: string, signal?: AbortSignal): Promise<Contact> {
    const identity = await this.#find(cleanUsername(username), signal);
    const given = parseFingerprint(fingerprint);
    if (given === undefined) throw new SzafaError('fingerprint', 'a fingerprint has 60 digits');
    if (given !== fingerprintText(identity)) {
      const message = `the keys that the server returns for ${identity.username} have another fingerprint`;
      throw new SzafaError('other-fingerprint', message);
    }
    return this.#keep(identity, signal);
  }

  async #keep(identity: Identity, signal: AbortSignal | undefined): Promise<Contact> {
    const { username, digest } = identity;
    await (await this.#store(signal)).save(username, { digest: digest.toHex(), verified: true });
    return { username, fingerprint: fingerprintText(identity), state: 'verified' };
  }

  /** Returns the pin of an account. If there is none, pins these keys. */
  async #pinned(
    identity: Identity,
    signal: AbortSignal | undefined,
  ): Promise<{ pin: ContactPin; isSame: boolean }> {
    const { username, digest } = identity;
    const store = await this.#store(signal);
    const known = await store.load(username);
    const pin = known ?? (await store.saveFirst(username, { digest: digest.toHex(), verified: false }));
    return { pin, isSame: isOf(pin, identity) };
  }

  async #store(signal: AbortSignal | undefined): Promise<ContactStore> {
    const { username, serviceId } = await this.own(signal);
    return this.#stores.of(username, serviceId);
  }

  async #find(username: string, signal: AbortSignal | undefined): Promise<Identity & { text: string }> {
    const { api } = this.#context;
    const { identity: text } = await api
      .call('readIdentity', { params: { username }, signal })
      .catch((error: unknown) => {
        throw error instanceof ApiError && error.status === 404 ? noSuch(username, error) : error;
      });
    return { ...(await this.#parse(username, text, signal)), text };
  }

  async #parse(username: string, text: string, signal: AbortSignal | undefined): Promise<Identity> {
    const { serviceId } = await this.own(signal);
    const document: Bytes = bytesOf(text, 'identity', `the identity of ${username}`);
    return parseIdentity(this.#context.engine, { serviceId, username }, document);
  }
}
