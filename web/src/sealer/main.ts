/** Seals volumes beside the page's worker: a browser does the cryptography of a worker on that worker's own thread. */
import { readBlob, sealInPlace, TAG_BYTES, type VolumeKey } from '@szafa/client';

export interface SealJob {
  id: number;
  keys: VolumeKey;
  part: Blob;
  /** Given back with the answer, with the sealed volume at its beginning. */
  memory: ArrayBuffer;
}

export type SealAnswer =
  | { id: number; memory: ArrayBuffer; digest: Uint8Array<ArrayBuffer> }
  /** The part could not be read: browsers refuse that for a file that has changed on disk. */
  | { id: number; error: string };

const scope = globalThis as unknown as {
  postMessage(message: SealAnswer, transfer?: Transferable[]): void;
  onmessage: ((event: MessageEvent<SealJob>) => void) | null;
};

scope.onmessage = async ({ data: { id, keys, part, memory } }) => {
  try {
    const filled = await readBlob(part, memory);
    const sealed = new Uint8Array(filled, 0, part.size + TAG_BYTES);
    await sealInPlace(keys, sealed);
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', sealed));
    scope.postMessage({ id, memory: filled, digest }, [filled]);
  } catch (error) {
    scope.postMessage({ id, error: String(error) });
  }
};
