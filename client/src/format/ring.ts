import { TamperedError, WrongPasswordError } from '../errors.ts';
import { type Bytes, fromBase64Url, toBase64Url } from './bytes.ts';
import { type Engine, type KdfParams, labels } from './engine.ts';
import { checkKdf, KDF } from './keys.ts';
import { seal, unseal } from './seal.ts';

/** The sealed master key, with what is needed to derive the KEK that opens it. Every file carries it. @public */
export interface Ring {
  kdf: KdfParams;
  salt: Bytes;
  sealedMaster: Bytes;
}

/** The ring as it is in the header. @public */
export interface RingJson {
  kdf: 'argon2id';
  m: number;
  t: number;
  p: number;
  salt: string;
  key: string;
}

const SALT = 16;

export function ringToJson({ kdf, salt, sealedMaster }: Ring): RingJson {
  return { kdf: 'argon2id', ...kdf, salt: toBase64Url(salt), key: toBase64Url(sealedMaster) };
}

/** Also holds the KDF parameters against their limits. @public */
export function ringFromJson(value: unknown): Ring {
  const json = value as Partial<RingJson> | null;
  if (typeof json !== 'object' || json === null || json.kdf !== 'argon2id') {
    throw new TamperedError('header', 'the ring does not have this format');
  }
  const { m, t, p } = json;
  if (typeof m !== 'number' || typeof t !== 'number' || typeof p !== 'number') {
    throw new TamperedError('header', 'the ring lacks its KDF parameters');
  }
  let salt: Bytes;
  let sealedMaster: Bytes;
  try {
    salt = fromBase64Url(json.salt as string);
    sealedMaster = fromBase64Url(json.key as string);
  } catch (cause) {
    throw new TamperedError('header', 'the ring is not base64url', { cause });
  }
  if (salt.length !== SALT) throw new TamperedError('header', 'the salt of the ring has a wrong length');
  checkKdf({ m, t, p });
  return { kdf: { m, t, p }, salt, sealedMaster };
}

export async function makeRing(
  engine: Engine,
  kek: Bytes,
  salt: Bytes,
): Promise<{ ring: Ring; master: Bytes }> {
  const master = engine.random(32);
  const sealedMaster = await seal(engine, kek, labels.master, master);
  return { ring: { kdf: KDF, salt, sealedMaster }, master: await engine.hold(master) };
}

/** The master key; a WrongPasswordError when the KEK is not the one that sealed it. @public */
export async function openRing(engine: Engine, kek: Bytes, ring: Ring): Promise<Bytes> {
  const opened = await unseal(engine, kek, labels.master, ring.sealedMaster);
  if ('plain' in opened && opened.plain.length === 32) return engine.hold(opened.plain);
  if ('fault' in opened && opened.fault === 'commitment') throw new WrongPasswordError();
  throw new TamperedError('ring', 'the key ring was changed');
}
