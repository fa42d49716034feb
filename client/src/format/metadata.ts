import { TamperedError } from '../errors.ts';
import { fromUtf8 } from './bytes.ts';

/** What only the owner may read about a file. */
export interface Metadata {
  /** The whole name; `/` parts a path. Clean it before it is used as a path, on a terminal or in a page. */
  name: string;
  /** Bytes of plaintext. */
  size: number;
  /** Last modification, in milliseconds since 1970. */
  mtime?: number;
  /** Media type. */
  type?: string;
  /** SHA-256 of the plaintext, in hex. Written for files of one volume, where it costs one call. */
  sha256?: string;
}

/** The JSON text under the seal; unknown keys are left to later versions of a client. */
export function checkMetadata(text: Uint8Array): Metadata {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(fromUtf8(text)) as Record<string, unknown>;
  } catch (cause) {
    throw new TamperedError('metadata', 'the metadata is not JSON', { cause });
  }
  if (typeof json !== 'object' || json === null)
    throw new TamperedError('metadata', 'the metadata is not JSON');
  const { name, size, mtime, type, sha256 } = json;
  const sound =
    typeof name === 'string' &&
    Number.isSafeInteger(size) &&
    (size as number) >= 0 &&
    (mtime === undefined || Number.isSafeInteger(mtime)) &&
    (type === undefined || typeof type === 'string') &&
    (sha256 === undefined || (typeof sha256 === 'string' && /^[0-9a-f]{64}$/.test(sha256)));
  if (!sound) throw new TamperedError('metadata', 'the metadata lacks a field, or has one of a wrong type');
  return {
    name,
    size: size as number,
    ...(mtime !== undefined && { mtime: mtime as number }),
    ...(type !== undefined && { type: type as string }),
    ...(sha256 !== undefined && { sha256: sha256 as string }),
  };
}
