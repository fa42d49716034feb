import type { Body } from '@szafa/client';

/** A volume that can be read piece by piece without the help of another process. */
export interface Pieces {
  readonly size: number;
  /** Good until the next call. */
  read(at: number, length: number): Uint8Array<ArrayBuffer>;
}

/** Blobs of files that this worker has open. */
const opened = new WeakMap<Blob, Pieces>();

export function piecesOf(body: Body): Pieces | undefined {
  if (body instanceof Blob) return opened.get(body);
  const bytes = body as Uint8Array<ArrayBuffer>;
  return { size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}

export function rememberPieces(blob: Blob, read: Pieces['read']): Blob {
  opened.set(blob, { size: blob.size, read });
  return blob;
}
