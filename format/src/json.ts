import { type Bytes, fromBase64Url, fromUtf8 } from './bytes.ts';
import { type Stage, TamperedError } from './errors.ts';

type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Only an escape can be a lone surrogate: the bytes are UTF-8. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);

/** Parses a JSON object that is not checked yet. A lone surrogate in a text becomes U+FFFD. */
export function parseObject(text: Uint8Array, stage: Stage, what: string): Json {
  let json: unknown;
  try {
    const written = fromUtf8(text);
    json = JSON.parse(written, SURROGATE.test(written) ? wellFormed : undefined);
  } catch (cause) {
    throw new TamperedError(stage, `${what} is not JSON`, { cause });
  }
  if (!isObject(json)) throw new TamperedError(stage, `${what} is not a JSON object`);
  return json;
}

/** RFC 8259 has numbers, not integers: 3 and 3.0 are the same one. */
export const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

/** A value out of foreign JSON in a message: not all of them have a text of their own. */
export const shownValue = (value: unknown) => JSON.stringify(value)?.slice(0, 20);

export function bytesOf(value: unknown, stage: Stage, what: string, length?: number): Bytes {
  let bytes: Bytes;
  try {
    bytes = fromBase64Url(value as string);
  } catch (cause) {
    throw new TamperedError(stage, `${what} is not base64url`, { cause });
  }
  if (length !== undefined && bytes.length !== length) {
    throw new TamperedError(stage, `${what} has a wrong length`);
  }
  return bytes;
}
