import type { Bytes, Engine } from '@szafa/client';
import { requireKey } from '@szafa/format';
import { discard } from '../bridge/discard.ts';

/**
 * Holds long-lived keys (the KEK, master keys, keys of open files) as CryptoKeys that cannot be exported. Other code gets
 * handles: arrays of 32 zero bytes that only this engine maps to their keys.
 */
export interface KeyHoldingEngine extends Engine {
  /** Returns the key of a handle, for the browser to store. */
  keyOf(handle: Bytes): CryptoKey;
  /** Returns a handle for a key that the browser stored. */
  handleOf(key: CryptoKey): Bytes;
}

/** Reuses the memory of volumes. Left to the garbage collector, memory would grow without bound on a fast download. */
class VolumeMemory {
  #lent = 0;
  #free: ArrayBuffer[] = [];

  borrow(length: number): { bytes: Uint8Array<ArrayBuffer>; release(): void } {
    const at = this.#free.findIndex(({ byteLength }) => byteLength >= length);
    const memory = at < 0 ? new ArrayBuffer(length) : this.#free.splice(at, 1)[0]!;
    this.#lent++;
    let held = true;
    const release = () => {
      if (held) this.#takeBack(memory);
      held = false;
    };
    return { bytes: new Uint8Array(memory, 0, length), release };
  }

  #takeBack(memory: ArrayBuffer): void {
    this.#free.push(memory);
    if (--this.#lent > 0) return;
    // Nothing is borrowed any more: free the memory at once.
    for (const one of this.#free) discard(one);
    this.#free = [];
  }
}

export function holding(web: Engine): KeyHoldingEngine {
  const { subtle } = globalThis.crypto;
  const memory = new VolumeMemory();
  const held = new WeakMap<Bytes, CryptoKey>();

  const asBase = (bytes: Bytes) => subtle.importKey('raw', requireKey(bytes), 'HKDF', false, ['deriveBits']);

  async function hold(bytes: Bytes): Promise<Bytes> {
    // A handle contains only zeros; importing it again would replace the key with a key of zeros.
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
