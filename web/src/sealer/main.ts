/** Seals volumes in workers of their own, because browsers run the cryptography of a worker on that worker's thread. */
import { sealInto, type VolumeKey } from '@szafa/client';
import { discard } from '../core/bridge/discard.ts';

export interface SealJob {
  id: number;
  key: VolumeKey;
  /** Plaintext; returned with the sealed volume in its place. */
  memory: ArrayBuffer;
  /** Bytes of plaintext at the start of `memory`. */
  length: number;
  /** Bytes of the sealed volume. */
  size: number;
}

export interface SealResult {
  memory: ArrayBuffer;
  digest: Uint8Array<ArrayBuffer>;
}
export type SealAnswer = { id: number } & (SealResult | { error: string });

const scope = globalThis as unknown as {
  postMessage(message: SealAnswer, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<SealJob>) => void) | null;
};

scope.onmessage = async ({ data: { id, key, memory, length, size } }) => {
  try {
    const sealed = new Uint8Array(memory, 0, size);
    await sealInto(key, sealed.subarray(0, length), sealed, discard);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', sealed));
    scope.postMessage({ id, memory, digest }, [memory]);
  } catch (error) {
    scope.postMessage({ id, error: String(error) });
  }
};
