/** Conversions of bytes, numbers and texts. */
export type Bytes = Uint8Array<ArrayBuffer>;

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export const utf8 = (text: string): Bytes => encoder.encode(text);

/** @throws TypeError if the bytes are not UTF-8 */
export const fromUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes);

const STEP = 256;

/** Pads with spaces to a multiple of 256 bytes, so that the length reveals little about the text. */
export function padText(text: Bytes): Bytes {
  const whole = new Uint8Array(Math.max(1, Math.ceil(text.length / STEP)) * STEP).fill(0x20);
  whole.set(text);
  return whole;
}

export function concat(...parts: Uint8Array[]): Bytes {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export function u32(value: number): Bytes {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, value);
  return bytes;
}

export function readU32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at);
}

/** Encodes a time: 48 bits hold milliseconds since 1970 for thousands of years. */
export const u48 = (value: number): Bytes => u64(value).slice(2);

export function readU48(bytes: Uint8Array, at: number): number {
  const view = new DataView(bytes.buffer, bytes.byteOffset);
  return view.getUint16(at) * 2 ** 32 + view.getUint32(at + 2);
}

export function u64(value: number): Bytes {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(value));
  return bytes;
}

/** Compares in constant time. */
export function equal(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let difference = 0;
  for (let i = 0; i < a.length; i++) difference |= a[i]! ^ b[i]!;
  return difference === 0;
}

export const isZero = (bytes: Uint8Array): boolean => bytes.every((byte) => byte === 0);

export const toBase64Url = (bytes: Uint8Array): string =>
  bytes.toBase64({ alphabet: 'base64url', omitPadding: true });

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const BASE64URL = { alphabet: 'base64url' } as const;

/**
 * Decodes the one canonical text of a value, without padding.
 * @throws SyntaxError for any other text: padding, spaces, other characters, unused bits that are not zero @public
 */
export function fromBase64Url(text: string): Bytes {
  const bytes = Uint8Array.fromBase64(text, BASE64URL);
  // Spaces and padding are excluded, so only the unused bits of the last character can differ for the same bytes.
  const over = bytes.length % 3;
  const isExact = text.length === Math.ceil((bytes.length * 4) / 3);
  const stray = over === 0 ? 0 : LETTERS.indexOf(text.at(-1)!) & (over === 1 ? 0b1111 : 0b11);
  if (!isExact || stray !== 0) throw new SyntaxError('not canonical base64url');
  return bytes as Bytes;
}

/** Splits a base64url text into two values of these lengths; undefined for any other text. */
export function splitPair(text: string, first: number, second: number): [Bytes, Bytes] | undefined {
  try {
    const bytes = fromBase64Url(text);
    return bytes.length === first + second ? [bytes.slice(0, first), bytes.slice(first)] : undefined;
  } catch {
    return undefined;
  }
}
