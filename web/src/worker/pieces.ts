import type { Body } from '@szafa/client';

/** A volume that can be read piece by piece without the help of another process. */
export interface Pieces {
  readonly size: number;
  read(at: number, length: number): Uint8Array<ArrayBuffer>;
}

export function piecesOf(body: Body): Pieces | undefined {
  if (body instanceof Blob) return undefined;
  const bytes = body as Uint8Array<ArrayBuffer>;
  return { size: bytes.length, read: (at, length) => bytes.subarray(at, at + length) };
}
