import { type Bytes, utf8, withBlanks } from './bytes.ts';
import { TamperedError } from './errors.ts';
import { isWhole, parseObject } from './json.ts';

/** What only the owner may read about a file. @public */
export interface Metadata {
  /** The whole path from the top, parted by `/`. Clean it before it is used as a path, on a terminal or in a page. */
  name: string;
  /** Bytes of plaintext. */
  size: number;
  /** From 1, and one more for each time that the header is sealed anew; the name in the list has the same. */
  rev: number;
  /** From 1; of several files of one path, the one with the highest is the newest. */
  gen: number;
  /** Time of the upload by the uploader's clock, in milliseconds since 1970. */
  added: number;
  /** Bytes with the zeros behind them that hide the size; no more than `size` unless told. */
  padded?: number;
  /** Last modification, in milliseconds since 1970. */
  mtime?: number;
  /** Nanoseconds to add to `mtime`, -999,999 to 999,999. */
  nanos?: number;
  /** Media type. */
  type?: string;
  /** Permission bits of the source, 0 to 0o777. A copy never gets more than these. */
  mode?: number;
  /** Of a folder: setuid (4), setgid (2) and sticky (1) of the source. Files have none: their owner is not kept, and a program would run as somebody else. */
  special?: number;
  /** Path of the source on the machine that uploaded it. It only tells sources apart: never a place to write to. */
  source?: string;
  /** Target of a symbolic link, which has no bytes. Never to be followed out of the folder that is written to. */
  link?: string;
  /** The source had holes: a copy may leave out blocks of zeros. */
  sparse?: true;
  /** Names of one file on the source's disk have the same text here, which is random. */
  hardlink?: string;
  /** SHA-256 of the sealed thumbnail, in hex. */
  thumbnail?: string;
  /** The file key has been given to others, or came from one: only whole volumes are proof of the owner's bytes. */
  shared?: true;
}

/** What a file system keeps of a file beside name and bytes. @public */
export type Attributes = Pick<Metadata, 'mtime' | 'nanos' | 'mode' | 'special' | 'sparse' | 'hardlink'>;

/** Others for them; undefined removes one. @public */
export type AttributesChange = { [Key in keyof Attributes]?: Attributes[Key] | undefined };

const { MIN_SAFE_INTEGER: LEAST, MAX_SAFE_INTEGER: MOST } = Number;
/** `rev` and `gen` have four bytes in the list, and a time has six. */
export const MOST_COUNTED = 2 ** 32 - 1;
const LATEST = 2 ** 48 - 1;

const isText = (value: unknown) => typeof value === 'string';
const isDigest = (value: unknown) => isText(value) && /^[0-9a-f]{64}$/.test(value as string);
const isShortText = (value: unknown) => isText(value) && /^[\w-]{1,64}$/.test(value as string);
const isName = (value: unknown) => isText(value) && !(value as string).includes('\0');

/** The fields that must be there, and what each must be. */
const required: Record<string, (value: unknown) => boolean> = {
  name: isName,
  size: (value) => isWhole(value, 0, MOST),
  rev: (value) => isWhole(value, 1, MOST_COUNTED),
  gen: (value) => isWhole(value, 1, MOST_COUNTED),
  added: (value) => isWhole(value, 0, LATEST),
};

/** The fields that may be absent, and what each must be where it is there. */
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

/** A later version knows more of them, and what this one makes of metadata lacks those. */
export const KNOWN_FIELDS = Object.keys({ ...required, ...optional }).length;

/** The JSON text under the seal, with blanks behind it. */
export function metadataText(metadata: Metadata): Bytes {
  return withBlanks(utf8(JSON.stringify(metadata)));
}

/** Unknown keys are left to later versions of a client. */
export function checkMetadata(text: Uint8Array): Metadata {
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
