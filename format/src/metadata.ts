/** The metadata of a file, which only its owner can read. */
import { type Bytes, padText, utf8 } from './bytes.ts';
import { TamperedError } from './errors.ts';
import { isDigest, isWhole, parseObject } from './json.ts';

/** @public */
export interface Metadata {
  /** The path from the root, separated by `/`. Sanitise it before use as a path, on a terminal or in a page. */
  name: string;
  /** Bytes of plaintext. */
  size: number;
  /** Starts at 1; every reseal of the header adds one. The sealed name in the record has the same value. */
  rev: number;
  /** Starts at 1. Among files with the same path, the highest is the newest. */
  gen: number;
  /** Time of the upload by the uploader's clock, in milliseconds since 1970. */
  added: number;
  /** Bytes of plaintext plus the zeros that hide its size; `size` by default. */
  padded?: number;
  /** Last modification, in milliseconds since 1970. */
  mtime?: number;
  /** Nanoseconds to add to `mtime`, -999,999 to 999,999. */
  nanos?: number;
  /** Media type. */
  type?: string;
  /** Permission bits of the source, 0 to 0o777. A download never grants more. */
  mode?: number;
  /**
   * Folders only: setuid (4), setgid (2) and sticky (1). Not kept for files: without their owner, a setuid program would run as somebody
   * else.
   */
  special?: number;
  /** Path of the source on the uploading machine. It only distinguishes sources: never write to it. */
  source?: string;
  /** Target of a symbolic link, which has no bytes. Never follow it out of the target folder. */
  link?: string;
  /** The source had holes, so a download may skip blocks of zeros. */
  sparse?: true;
  /** A random text, the same for all hard links of one file. */
  hardlink?: string;
  /** SHA-256 of the sealed thumbnail, in hex. */
  thumbnail?: string;
  /** Others have or had the file key, so only whole volumes, checked by digest, prove that the owner wrote the bytes. */
  shared?: true;
}

/** File-system attributes of a file besides name and content. @public */
export type Attributes = Pick<Metadata, 'mtime' | 'nanos' | 'mode' | 'special' | 'sparse' | 'hardlink'>;

/** New attributes; undefined removes an attribute. @public */
export type AttributesChange = { [Key in keyof Attributes]?: Attributes[Key] | undefined };

const { MIN_SAFE_INTEGER: LEAST, MAX_SAFE_INTEGER: MOST } = Number;
/** `rev` and `gen` have four bytes in the sealed name, a time has six. */
export const MOST_COUNTED = 2 ** 32 - 1;
const LATEST = 2 ** 48 - 1;

const isText = (value: unknown) => typeof value === 'string';
const isShortText = (value: unknown) => isText(value) && /^[\w-]{1,64}$/.test(value as string);
const isName = (value: unknown) => isText(value) && !(value as string).includes('\0');

const required: Record<string, (value: unknown) => boolean> = {
  name: isName,
  size: (value) => isWhole(value, 0, MOST),
  rev: (value) => isWhole(value, 1, MOST_COUNTED),
  gen: (value) => isWhole(value, 1, MOST_COUNTED),
  added: (value) => isWhole(value, 0, LATEST),
};

const optional: Record<string, (value: unknown) => boolean> = {
  padded: (value) => isWhole(value, 0, LATEST),
  mtime: (value) => isWhole(value, LEAST, MOST),
  nanos: (value) => isWhole(value, -999_999, 999_999),
  type: isText,
  mode: (value) => isWhole(value, 0, 0o777),
  special: (value) => isWhole(value, 0, 7),
  source: isText,
  link: isText,
  sparse: (value) => value === true,
  hardlink: isShortText,
  thumbnail: isDigest,
  shared: (value) => value === true,
};

/** Changes when a later version adds a field, so that a cache written with fewer fields is not trusted. */
export const KNOWN_FIELDS = Object.keys({ ...required, ...optional }).length;

/** Returns the padded JSON text that is sealed. */
export const metadataText = (metadata: Metadata): Bytes => padText(utf8(JSON.stringify(metadata)));

/**
 * Parses the text of `metadataText`. Drops unknown fields.
 * @throws TamperedError at stage `metadata`
 */
export function parseMetadata(text: Uint8Array): Metadata {
  const json = parseObject(text, 'metadata', 'the metadata');
  for (const key in required) {
    if (required[key]!(json[key])) continue;
    throw new TamperedError('metadata', `the metadata lacks its ${key}, or it is malformed`);
  }
  const fields: Record<string, unknown> = {};
  for (const key in optional) {
    const value = json[key];
    if (value === undefined) continue;
    if (!optional[key]!(value)) throw new TamperedError('metadata', `${key} in the metadata is malformed`);
    fields[key] = value;
  }
  const { name, size, rev, gen, added } = json as unknown as Metadata;
  if (typeof json['padded'] === 'number' && json['padded'] < size) {
    throw new TamperedError('metadata', 'the padded size is smaller than the size');
  }
  return { name, size, rev, gen, added, ...fields };
}
