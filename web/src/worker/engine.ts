import { BlobSource, type Bytes, type Engine, webEngine } from '@szafa/client';
import { labels, PIECE_BYTES } from '@szafa/client/format';
import { Sealers } from './sealers.ts';

/**
 * The engine of the page. Keys that live as long as a session or a preview (the KEK, master keys, the keys of opened
 * files) are held as CryptoKeys that cannot be exported; what the rest of the code passes around in their place is a
 * handle, thirty-two zero bytes, that only stands for the key here.
 */
export interface HoldingEngine extends Engine {
  /** Takes the key out of these bytes, which become its handle. */
  hold(bytes: Bytes): Promise<Bytes>;
  /** The key behind a handle, to be kept by the browser. */
  keyOf(handle: Bytes): CryptoKey;
  /** A handle for a key that the browser kept. */
  handleOf(key: CryptoKey): Bytes;
}

/** Labels of sealed things that are themselves keys. */
const KEYS_ARE_OPENED: readonly string[] = [labels.master, labels.fileKey];
/** A new master key is held as soon as it is sealed; a new file key is still needed for the journal. */
const KEYS_ARE_SEALED: readonly string[] = [labels.master];

export function holdingEngine(): HoldingEngine {
  const { subtle } = globalThis.crypto;
  const sealers = new Sealers();
  // One volume is read or written while the others are sealed.
  const web = webEngine({ parallel: sealers.count + 1 });
  const held = new WeakMap<Bytes, CryptoKey>();
  /** The label for which a one-time key was derived; seal and unseal use it at once. */
  const labelOf = new Map<string, string>();

  async function hold(bytes: Bytes): Promise<Bytes> {
    held.set(bytes, await subtle.importKey('raw', bytes, 'HKDF', false, ['deriveBits']));
    bytes.fill(0);
    return bytes;
  }

  function takeLabel(key: Bytes): string {
    const id = key.toHex();
    const label = labelOf.get(id) ?? '';
    labelOf.delete(id);
    return label;
  }

  return {
    ...web,
    hold,

    keyOf(handle) {
      const key = held.get(handle);
      if (!key) throw new TypeError('not a handle of a key');
      return key;
    },

    handleOf(key) {
      const handle = new Uint8Array(32);
      held.set(handle, key);
      return handle;
    },

    async hkdf(key, salt, info, length) {
      const known = held.get(key);
      const base = known ?? (await subtle.importKey('raw', key, 'HKDF', false, ['deriveBits']));
      const params = { name: 'HKDF', hash: 'SHA-256', salt, info };
      const derived = new Uint8Array(await subtle.deriveBits(params, base, length * 8));
      const label = new TextDecoder().decode(info);
      if (known && KEYS_ARE_OPENED.includes(label)) labelOf.set(derived.subarray(0, 32).toHex(), label);
      return derived;
    },

    sealVolume(keys, source, part, plainDigest) {
      // What is small is done before another thread would have heard of it.
      const apart = source instanceof BlobSource && part.length > PIECE_BYTES && !plainDigest;
      return apart ? sealers.seal(keys, source, part) : web.sealVolume(keys, source, part, plainDigest);
    },

    async gcmSeal(key, aad, data) {
      const label = takeLabel(key);
      const sealed = await web.gcmSeal(key, aad, data);
      if (KEYS_ARE_SEALED.includes(label)) await hold(data);
      return sealed;
    },

    async gcmOpen(key, aad, data) {
      const label = takeLabel(key);
      const plain = await web.gcmOpen(key, aad, data);
      return plain?.length === 32 && KEYS_ARE_OPENED.includes(label) ? hold(plain) : plain;
    },
  };
}
