/** Seals volumes beside the page's worker: a browser does the cryptography of a worker on that worker's own thread. */
import { blobPieces, PIECE_BYTES, sealPieces, TAG_BYTES, type VolumeKey } from '@szafa/client';

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
  | { id: number; memory: ArrayBuffer; error: string };

const scope = globalThis as unknown as {
  postMessage(message: SealAnswer, transfer: Transferable[]): void;
  onmessage: ((event: MessageEvent<SealJob>) => void) | null;
};

async function seal({ keys, part, memory }: SealJob): Promise<Uint8Array<ArrayBuffer>> {
  const sealed = new Uint8Array(memory, 0, part.size + TAG_BYTES);
  await sealPieces(keys, blobPieces(part, PIECE_BYTES), sealed);
  return new Uint8Array(await crypto.subtle.digest('SHA-256', sealed));
}

scope.onmessage = async ({ data }) => {
  const { id, memory } = data;
  try {
    scope.postMessage({ id, memory, digest: await seal(data) }, [memory]);
  } catch (error) {
    scope.postMessage({ id, memory, error: String(error) }, [memory]);
  }
};
