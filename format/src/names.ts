/** Seals and opens the names of files and directories in lists, deterministically: equal names give equal texts. */
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
import { deriveKey, type Engine, labels, type NameCipher } from './engine.ts';
import { NameError } from './errors.ts';

/** Public fields of a record to which its sealed name is bound; a copy of the file keeps them. @public */
export interface NameBinding {
  totalSha256: string;
  storedSize: number;
  count: number;
}

/** Metadata of a file that its sealed name carries. @public */
export interface ListedName {
  /** The path from the root. */
  name: string;
  /** Starts at 1; every reseal of the header adds one. */
  rev: number;
  /** Among files with the same path, the highest is the newest. */
  gen: number;
  /** Time of the upload, in milliseconds since 1970. */
  added: number;
}

export interface OpenedName extends ListedName {
  /** False if the name was truncated to fit into the record; the metadata has the whole name. */
  whole: boolean;
}

const SIV = 16;
const DIGEST = 32;
/** Digest, size and number of volumes. */
const BOUND = DIGEST + 12;
/** Flag, `rev`, `gen` and `added`. */
const BEFORE_NAME = 15;
/** Longest name: 255 base64url characters are 191 bytes, minus the synthetic IV and the fields before the name. @public */
export const FILE_NAME_BYTES = 160;
/** Longest name: 64 base64url characters are 48 bytes, minus the synthetic IV. @public */
export const DIR_NAME_BYTES = 32;
/** Names are padded to a multiple of this. */
const STEP = 32;
/** Bytes of the shortest sealed file name. */
const SEALED_LEAST = SIV + BEFORE_NAME + STEP;

const ciphers = new WeakMap<Bytes, Map<string, Promise<NameCipher>>>();

/** Derives each cipher once per key and label: a listing opens thousands of names. */
function nameCipher(engine: Engine, key: Bytes, label: string): Promise<NameCipher> {
  const byLabel = ciphers.get(key) ?? new Map<string, Promise<NameCipher>>();
  ciphers.set(key, byLabel);
  let cipher = byLabel.get(label);
  if (!cipher) {
    cipher = derive(engine, key, label);
    byLabel.set(label, cipher);
  }
  return cipher;
}

async function derive(engine: Engine, key: Bytes, label: string): Promise<NameCipher> {
  const okm = await deriveKey(engine, key, label, undefined, 64);
  try {
    return await engine.nameCipher(okm.subarray(0, 32), okm.subarray(32));
  } finally {
    okm.fill(0);
  }
}

/** Seals with a synthetic IV: a MAC over binding and plaintext. */
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

/** Seals a short value that stays on the client. Faster than `seal`, but equal values give equal texts. */
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

/** Concatenates binding and plaintext, in one allocation because a listing does this ten thousand times. */
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

/** Refuses values that do not fit their fields: they would be truncated, and bind a different record. */
function canBind({ totalSha256, count }: NameBinding): boolean {
  return /^[0-9a-f]{64}$/.test(totalSha256) && count <= limits.volumesPerFile;
}

/** Decodes a text that may be a sealed name; undefined if it cannot be one. */
function sealedBytes(text: string, least: number): Bytes | undefined {
  if (text.length < Math.ceil((least * 4) / 3) || !/^[A-Za-z0-9_-]+$/.test(text)) return undefined;
  try {
    return fromBase64Url(text);
  } catch {
    return undefined; // a plain name that only looks like base64url
  }
}

/** Whether a file name may be sealed; it may still be a plain name of that form. @public */
export const looksSealed = (text: string): boolean => sealedBytes(text, SEALED_LEAST) !== undefined;

/** Like `looksSealed`, for directories, whose sealed names all have the same length. @public */
export const looksLikeSealedDir = (text: string): boolean =>
  sealedBytes(text, SIV + DIR_NAME_BYTES)?.length === SIV + DIR_NAME_BYTES;

/** Pads with zero bytes, which no name contains. */
function padded(name: Bytes, most: number): Bytes {
  const length = Math.min(most, Math.max(STEP, Math.ceil(name.length / STEP) * STEP));
  return concat(name, new Uint8Array(length - name.length));
}

function bytesOfName(name: string): Bytes {
  if (name.includes('\0')) throw new NameError('a name cannot contain NUL');
  return utf8(name);
}

/** Truncates a name to `most` bytes without splitting a character. */
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

/**
 * Seals the name of a file for its record. A long name is truncated; the metadata has the whole name.
 * @throws NameError if the name contains NUL @public
 */
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

/** Opens the name of a file. Returns undefined if it was sealed for another record or by another master key. @public */
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
  const name = unpaddedText(plain.subarray(BEFORE_NAME));
  if (name === undefined) return undefined;
  return {
    name,
    rev: readU32(plain, 1),
    gen: readU32(plain, 5),
    added: readU48(plain, 9),
    whole: plain[0] === 0,
  };
}

/**
 * Seals the name of a directory.
 * @throws NameError if it is empty, too long, or contains NUL @public
 */
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

/** Opens the name of a directory. Returns undefined if another master key sealed it. @public */
export async function openDirName(engine: Engine, master: Bytes, text: string): Promise<string | undefined> {
  if (!looksLikeSealedDir(text)) return undefined;
  const cipher = await nameCipher(engine, master, labels.dirName);
  const plain = await openSiv(cipher, fromBase64Url(text));
  return plain && unpaddedText(plain);
}

/** Removes the padding. Returns undefined if another client cut the name inside a character, so that the list still opens. */
function unpaddedText(bytes: Uint8Array): string | undefined {
  let end = bytes.length;
  while (end > 0 && bytes[end - 1] === 0) end--;
  try {
    return fromUtf8(bytes.subarray(0, end));
  } catch {
    return undefined;
  }
}
