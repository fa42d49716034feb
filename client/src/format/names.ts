import { NameError } from '../errors.ts';
import { type Bytes, concat, equal, fromBase64Url, fromUtf8, toBase64Url, u32, u64, utf8 } from './bytes.ts';
import { EMPTY, type Engine, labels } from './engine.ts';

/** What a sealed file name is bound to: the public fields of its record, which a clone keeps. @public */
export interface NameBinding {
  totalSha256: string;
  storedSize: number;
  count: number;
}

export interface OpenedName {
  name: string;
  /** False when the name was too long for the record; the whole is in the metadata. */
  whole: boolean;
}

const SIV = 16;
/** 255 characters of base64url are 191 bytes, less the synthetic IV and the flag. @public */
export const FILE_NAME_BYTES = 174;
/** 64 characters are 48 bytes, less the synthetic IV. @public */
export const DIR_NAME_BYTES = 32;

interface NameKeys {
  mac: Bytes;
  cipher: Bytes;
}

const derived = new WeakMap<Bytes, Map<string, Promise<NameKeys>>>();

/** Derived once for a key and a label: a listing opens thousands of names. */
function nameKeys(engine: Engine, key: Bytes, label: string): Promise<NameKeys> {
  const byLabel = derived.get(key) ?? new Map<string, Promise<NameKeys>>();
  derived.set(key, byLabel);
  let keys = byLabel.get(label);
  if (!keys) {
    keys = Promise.resolve(engine.hkdf(key, EMPTY, utf8(label), 64)).then((okm) => ({
      mac: okm.slice(0, 32),
      cipher: okm.slice(32),
    }));
    byLabel.set(label, keys);
  }
  return keys;
}

/** Deterministic: the IV is a MAC over what is bound and what is hidden. */
async function sealSiv(engine: Engine, keys: NameKeys, bound: Bytes, plain: Bytes): Promise<string> {
  const siv = (await engine.hmac(keys.mac, concat(bound, plain))).slice(0, SIV);
  return toBase64Url(concat(siv, await engine.ctr(keys.cipher, siv, plain)));
}

async function openSiv(
  engine: Engine,
  keys: NameKeys,
  bound: Bytes,
  sealed: Bytes,
): Promise<Bytes | undefined> {
  const siv = sealed.slice(0, SIV);
  const plain = await engine.ctr(keys.cipher, siv, sealed.slice(SIV));
  const mac = await engine.hmac(keys.mac, concat(bound, plain));
  return equal(mac.subarray(0, SIV), siv) ? plain : undefined;
}

function boundTo({ totalSha256, storedSize, count }: NameBinding): Bytes {
  return concat(Uint8Array.fromHex(totalSha256), u64(storedSize), u32(count));
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
  return sealedBytes(text, SIV + 1) !== undefined;
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
  name: string,
  binding: NameBinding,
): Promise<string> {
  const all = utf8(name);
  const whole = all.length <= FILE_NAME_BYTES;
  const plain = concat(Uint8Array.of(whole ? 0 : 1), whole ? all : cut(name, FILE_NAME_BYTES));
  return sealSiv(engine, await nameKeys(engine, master, labels.fileName), boundTo(binding), plain);
}

/** Undefined when this master key did not seal this name for this record. @public */
export async function openFileName(
  engine: Engine,
  master: Bytes,
  text: string,
  binding: NameBinding,
): Promise<OpenedName | undefined> {
  const sealed = sealedBytes(text, SIV + 1);
  if (!sealed || !/^[0-9a-f]{64}$/.test(binding.totalSha256)) return undefined;
  const keys = await nameKeys(engine, master, labels.fileName);
  const plain = await openSiv(engine, keys, boundTo(binding), sealed);
  const name = plain && plain[0]! <= 1 ? textOf(plain.subarray(1)) : undefined;
  return name === undefined ? undefined : { name, whole: plain![0] === 0 };
}

/** Under the KEK, and bound to nothing: the same name is the same text on every device. @public */
export async function sealDirName(engine: Engine, kek: Bytes, name: string): Promise<string> {
  const plain = utf8(name);
  if (plain.length === 0) throw new NameError('the directory name is empty');
  if (plain.length > DIR_NAME_BYTES) {
    throw new NameError(
      `an encrypted directory name has at most ${DIR_NAME_BYTES} bytes, not ${plain.length}`,
    );
  }
  return sealSiv(engine, await nameKeys(engine, kek, labels.dirName), EMPTY, plain);
}

export async function openDirName(engine: Engine, kek: Bytes, text: string): Promise<string | undefined> {
  const sealed = sealedBytes(text, SIV + 1);
  if (!sealed) return undefined;
  const plain = await openSiv(engine, await nameKeys(engine, kek, labels.dirName), EMPTY, sealed);
  return plain && textOf(plain);
}

/** Another client may have cut a name inside a character; one such must not take the whole list with it. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return fromUtf8(bytes);
  } catch {
    return undefined;
  }
}
