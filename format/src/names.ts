import { limits } from '@szafa/protocol';
import {
  type Bytes,
  concat,
  equal,
  fromBase64Url,
  fromUtf8,
  readU32,
  readU48,
  toBase64Url,
  u32,
  u48,
  utf8,
} from './bytes.ts';
import { EMPTY, type Engine, labels, type NameCipher } from './engine.ts';
import { NameError } from './errors.ts';

/** What a sealed file name is bound to: the public fields of its record, which a clone keeps. @public */
export interface NameBinding {
  totalSha256: string;
  storedSize: number;
  count: number;
}

/** What the list tells of a file under the seal of its name, as the metadata does. @public */
export interface ListedName {
  /** The whole path. */
  name: string;
  /** A name that was given later has a higher one. */
  rev: number;
  /** Of several files of one path, the one with the highest is the newest. */
  gen: number;
  /** Time of the upload, in milliseconds since 1970. */
  added: number;
}

export interface OpenedName extends ListedName {
  /** False when the name was too long for the record; the whole is in the metadata. */
  whole: boolean;
}

const SIV = 16;
const DIGEST = 32;
/** The digest, the size and the count of volumes. */
const BOUND = DIGEST + 12;
/** The flag, `rev`, `gen` and `added`. */
const BEFORE_NAME = 15;
/** 255 characters of base64url are 191 bytes, less the synthetic IV and what stands before the name. @public */
export const FILE_NAME_BYTES = 160;
/** 64 characters are 48 bytes, less the synthetic IV. @public */
export const DIR_NAME_BYTES = 32;
/** What a name is padded to a multiple of: its length says little about it. */
const STEP = 32;

/** A sealed file name of the shortest kind. */
const SEALED_LEAST = SIV + BEFORE_NAME + STEP;

const derived = new WeakMap<Bytes, Map<string, Promise<NameCipher>>>();

/** Derived once for a key and a label: a listing opens thousands of names. */
function nameCipher(engine: Engine, key: Bytes, label: string): Promise<NameCipher> {
  const byLabel = derived.get(key) ?? new Map<string, Promise<NameCipher>>();
  derived.set(key, byLabel);
  let cipher = byLabel.get(label);
  if (!cipher) {
    cipher = derive(engine, key, label);
    byLabel.set(label, cipher);
  }
  return cipher;
}

async function derive(engine: Engine, key: Bytes, label: string): Promise<NameCipher> {
  const okm = await engine.hkdf(key, EMPTY, utf8(label), 64);
  try {
    return await engine.nameCipher(okm.subarray(0, 32), okm.subarray(32));
  } finally {
    okm.fill(0);
  }
}

/** Deterministic: the IV is a MAC over what is bound and what is hidden. */
async function sealSiv(cipher: NameCipher, plain: Bytes, binding?: NameBinding): Promise<string> {
  const siv = (await cipher.mac(boundTo(binding, plain))).slice(0, SIV);
  return toBase64Url(concat(siv, await cipher.ctr(siv, plain)));
}

async function openSiv(cipher: NameCipher, sealed: Bytes, binding?: NameBinding): Promise<Bytes | undefined> {
  const siv = sealed.subarray(0, SIV);
  const plain = await cipher.ctr(siv, sealed.subarray(SIV));
  const mac = await cipher.mac(boundTo(binding, plain));
  return equal(mac.subarray(0, SIV), siv) ? plain : undefined;
}

/** For what a client keeps for itself: any bytes, under a key that is derived once. */
export async function sealShort(engine: Engine, master: Bytes, label: string, plain: Bytes): Promise<string> {
  return sealSiv(await nameCipher(engine, master, label), plain);
}

export async function openShort(
  engine: Engine,
  master: Bytes,
  label: string,
  text: string,
): Promise<Bytes | undefined> {
  const sealed = sealedBytes(text, SIV);
  return sealed && openSiv(await nameCipher(engine, master, label), sealed);
}

/** What is bound, and behind it what is hidden. Made in one piece: a listing does this ten thousand times. */
function boundTo(binding: NameBinding | undefined, plain: Bytes): Bytes {
  if (!binding) return plain;
  const bytes = new Uint8Array(BOUND + plain.length);
  bytes.setFromHex(binding.totalSha256);
  const numbers = new DataView(bytes.buffer, DIGEST);
  numbers.setUint32(0, Math.floor(binding.storedSize / 2 ** 32));
  numbers.setUint32(4, binding.storedSize % 2 ** 32);
  numbers.setUint32(8, binding.count);
  bytes.set(plain, BOUND);
  return bytes;
}

/** A larger number would be bound as another one, whose name would then open beside it. */
function canBind({ totalSha256, count }: NameBinding): boolean {
  return /^[0-9a-f]{64}$/.test(totalSha256) && count <= limits.volumesPerFile;
}

/** The bytes behind a name that may have been sealed; undefined for one that cannot have been. */
function sealedBytes(text: string, least: number): Bytes | undefined {
  if (text.length < Math.ceil((least * 4) / 3) || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    return fromBase64Url(text);
  } catch {
    return undefined; // a plain name that only looks like base64url
  }
}

/** Whether a name of a record may be a sealed one; it may still be a plain name of that shape. @public */
export function looksSealed(text: string): boolean {
  return sealedBytes(text, SEALED_LEAST) !== undefined;
}

/** The same for directories, whose sealed names all have one length. @public */
export function looksLikeSealedDir(text: string): boolean {
  return sealedBytes(text, SIV + DIR_NAME_BYTES)?.length === SIV + DIR_NAME_BYTES;
}

/** With zeros behind it; no name has one of its own. */
function padded(name: Bytes, most: number): Bytes {
  const length = Math.min(most, Math.max(STEP, Math.ceil(name.length / STEP) * STEP));
  return concat(name, new Uint8Array(length - name.length));
}

function bytesOfName(name: string): Bytes {
  if (name.includes('\0')) throw new NameError('a name cannot contain NUL');
  return utf8(name);
}

/** As many whole characters as fit. */
function cut(name: string, most: number): Bytes {
  let bytes = 0;
  let end = 0;
  for (const char of name) {
    const more = utf8(char).length;
    if (bytes + more > most) break;
    bytes += more;
    end += char.length;
  }
  return utf8(name.slice(0, end));
}

export async function sealFileName(
  engine: Engine,
  master: Bytes,
  { name, rev, gen, added }: ListedName,
  binding: NameBinding,
): Promise<string> {
  const all = bytesOfName(name);
  const whole = all.length <= FILE_NAME_BYTES;
  const shown = whole ? all : cut(name, FILE_NAME_BYTES);
  const before = [Uint8Array.of(whole ? 0 : 1), u32(rev), u32(gen), u48(added)];
  const plain = concat(...before, padded(shown, FILE_NAME_BYTES));
  return sealSiv(await nameCipher(engine, master, labels.fileName), plain, binding);
}

/** Undefined when this master key did not seal this name for this record. @public */
export async function openFileName(
  engine: Engine,
  master: Bytes,
  text: string,
  binding: NameBinding,
): Promise<OpenedName | undefined> {
  const sealed = sealedBytes(text, SEALED_LEAST);
  if (!sealed || !canBind(binding)) return undefined;
  const cipher = await nameCipher(engine, master, labels.fileName);
  const plain = await openSiv(cipher, sealed, binding);
  if (!plain || plain[0]! > 1) return undefined;
  const name = textOf(plain.subarray(BEFORE_NAME));
  if (name === undefined) return undefined;
  return {
    name,
    rev: readU32(plain, 1),
    gen: readU32(plain, 5),
    added: readU48(plain, 9),
    whole: plain[0] === 0,
  };
}

/** Bound to nothing: the same name is the same text on every device. @public */
export async function sealDirName(engine: Engine, master: Bytes, name: string): Promise<string> {
  const plain = bytesOfName(name);
  if (plain.length === 0) throw new NameError('the directory name is empty');
  if (plain.length > DIR_NAME_BYTES) {
    throw new NameError(
      `an encrypted directory name has at most ${DIR_NAME_BYTES} bytes, not ${plain.length}`,
    );
  }
  return sealSiv(await nameCipher(engine, master, labels.dirName), padded(plain, DIR_NAME_BYTES));
}

/** Undefined when this master key did not seal it. @public */
export async function openDirName(engine: Engine, master: Bytes, text: string): Promise<string | undefined> {
  if (!looksLikeSealedDir(text)) return undefined;
  const cipher = await nameCipher(engine, master, labels.dirName);
  const plain = await openSiv(cipher, fromBase64Url(text));
  return plain && textOf(plain);
}

/** Without the zeros behind it. Another client may have cut a name inside a character; one such must not take the whole list with it. */
function textOf(bytes: Uint8Array): string | undefined {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  try {
    return fromUtf8(bytes.subarray(0, end));
  } catch {
    return undefined;
  }
}
