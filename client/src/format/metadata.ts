import { TamperedError } from '../errors.ts';
import { fromUtf8 } from './bytes.ts';

/** What only the owner may read about a file. @public */
export interface Metadata {
  /** The whole name; `/` parts a path. Clean it before it is used as a path, on a terminal or in a page. */
  name: string;
  /** Bytes of plaintext. */
  size: number;
  /** Bytes with the zeros behind them that hide the size; no more than `size` unless told. */
  padded?: number;
  /** Last modification, in milliseconds since 1970. */
  mtime?: number;
  /** Media type. */
  type?: string;
  /** SHA-256 of the plaintext, in hex. Written for files of one volume, where it costs one call. */
  sha256?: string;
  /** Time of the upload by the uploader's clock, in milliseconds since 1970: what makes one version newer than another. */
  added?: number;
  /** Permission bits of the source, 0 to 0o777. A copy never gets more than these. */
  mode?: number;
  /** Path of the source on the machine that uploaded it. It only tells sources apart: never a place to write to. */
  source?: string;
}

/** RFC 8259 has numbers, not integers: 3 and 3.0 are the same one. */
const whole = (value: unknown, least: number, most: number) =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;
const { MIN_SAFE_INTEGER: LEAST, MAX_SAFE_INTEGER: MOST } = Number;
const isText = (value: unknown) => typeof value === 'string';

/** The fields that may be absent, and what each must be where it is there. */
const optional: Record<string, (value: unknown) => boolean> = {
  padded: (value) => whole(value, 0, MOST),
  mtime: (value) => whole(value, LEAST, MOST),
  type: isText,
  sha256: (value) => isText(value) && /^[0-9a-f]{64}$/.test(value as string),
  added: (value) => whole(value, 0, MOST),
  mode: (value) => whole(value, 0, 0o777),
  source: isText,
};

/** The JSON text under the seal; unknown keys are left to later versions of a client. */
export function checkMetadata(text: Uint8Array): Metadata {
  let json: Record<string, unknown>;
  try {
    json = JSON.parse(fromUtf8(text)) as Record<string, unknown>;
  } catch (cause) {
    throw new TamperedError('metadata', 'the metadata is not JSON', { cause });
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new TamperedError('metadata', 'the metadata is not a JSON object');
  }
  const { name, size } = json;
  if (!isText(name) || !whole(size, 0, MOST)) {
    throw new TamperedError('metadata', 'the metadata lacks its name or size');
  }
  const found = Object.entries(optional).filter(([key]) => json[key] !== undefined);
  const wrong = found.find(([key, fits]) => !fits(json[key]));
  if (wrong) throw new TamperedError('metadata', `${wrong[0]} in the metadata has a wrong type`);
  if (typeof json['padded'] === 'number' && json['padded'] < (size as number)) {
    throw new TamperedError('metadata', 'the padded size is smaller than the size');
  }
  const fields = Object.fromEntries(found.map(([key]) => [key, json[key]]));
  return { name: (name as string).toWellFormed(), size: size as number, ...fields };
}
