/** Seals volumes beside the page's worker: a browser does the cryptography of a worker on that worker's own thread. */
import type { VolumeKey } from '@szafa/client';
import { sealInPlace } from '@szafa/client/format';

export interface SealJob {
  id: number;
  keys: VolumeKey;
  /** Given back with the answer, sealed. */
  memory: ArrayBuffer;
  /** Bytes at its beginning: the plaintext, and room for the tag. */
  length: number;
}

export interface Sealed {
  memory: ArrayBuffer;
  digest: Uint8Array<ArrayBuffer>;
}
export type SealAnswer = { id: number } & (Sealed | { error: string });

const scope = globalThis as unknown as {
  postMessage(message: SealAnswer, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<SealJob>) => void) | null;
};

/** Its other end is closed: memory that is sent there is free at once, and not when it happens to be collected. */
const { port1: nowhere, port2: end } = new MessageChannel();
end.close();
const discard = (memory: ArrayBuffer) => nowhere.postMessage(null, [memory]);

scope.onmessage = async ({ data: { id, keys, memory, length } }) => {
  try {
    const sealed = new Uint8Array(memory, 0, length);
    await sealInPlace(keys, sealed, discard);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', sealed));
    scope.postMessage({ id, memory, digest }, [memory]);
  } catch (error) {
    scope.postMessage({ id, error: String(error) });
  }
};
