import type { Bytes, Engine } from '@szafa/client';
import { requireKey } from '@szafa/format';
import { VolumeMemory } from './memory.worker.ts';

/**
 * The engine of the page. Keys that live as long as a session or a preview (the KEK, master keys, the keys of opened
 * files) are held as CryptoKeys that cannot be exported; what the rest of the code passes around in their place is a
 * handle, thirty-two zero bytes, that only stands for the key here.
 */
export interface HoldingEngine extends Engine {
  /** The key behind a handle, to be kept by the browser. */
  keyOf(handle: Bytes): CryptoKey;
  /** A handle for a key that the browser kept. */
  handleOf(key: CryptoKey): Bytes;
}

export function holding(web: Engine): HoldingEngine {
  const { subtle } = globalThis.crypto;
  const memory = new VolumeMemory();
  const held = new WeakMap<Bytes, CryptoKey>();

  const asBase = (bytes: Bytes) => subtle.importKey('raw', requireKey(bytes), 'HKDF', false, ['deriveBits']);

  async function hold(bytes: Bytes): Promise<Bytes> {
    // Held twice, a handle would stand for the key of zeros.
    if (held.has(bytes)) return bytes;
    held.set(bytes, await asBase(bytes));
    bytes.fill(0);
    return bytes;
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
      const base = held.get(key) ?? (await asBase(key));
      const params = { name: 'HKDF', hash: 'SHA-256', salt, info };
      return new Uint8Array(await subtle.deriveBits(params, base, length * 8));
    },

    borrow: (length) => memory.borrow(length),
  };
}
