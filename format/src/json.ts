/** Checks for JSON that has not been verified yet. */
import { type Bytes, fromBase64Url, fromUtf8 } from './bytes.ts';
import { type Stage, TamperedError } from './errors.ts';

type Json = Record<string, unknown>;

export const isObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Accepts whole numbers only. 3.0 counts as 3, since JSON (RFC 8259) does not distinguish them. */
export const isWhole = (value: unknown, least: number, most: number): value is number =>
  Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most;

export const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

/** UTF-8 cannot encode lone surrogates, so only an escape can produce one. */
const SURROGATE = /\\u[dD][89a-fA-F]/;
const wellFormed = (_: string, value: unknown) => (typeof value === 'string' ? value.toWellFormed() : value);

/**
 * Parses a JSON object. Replaces a lone surrogate in a text with U+FFFD.
 * @throws TamperedError at this stage for anything else
 */
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

/**
 * Decodes base64url and checks the length if one is given.
 * @throws TamperedError at this stage
 */
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

type OptionalKeys<T> = { [K in keyof T]: undefined extends T[K] ? K : never }[keyof T];
type Defined<T> = Omit<T, OptionalKeys<T>> & { [K in OptionalKeys<T>]?: Exclude<T[K], undefined> };

/** Drops undefined members and keeps the order of the others. */
export const defined = <T extends object>(members: T): Defined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>;
