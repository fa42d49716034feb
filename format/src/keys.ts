/** Keys derived from a person's secrets: a password or passphrase, a recovery key, a passkey. */
import { cleanUsername } from '@szafa/protocol';
import { type Bytes, concat, equal, toBase64Url, utf8 } from './bytes.ts';
import { deriveKey, type Engine, type KdfParams, labels } from './engine.ts';
import { RecoveryKeyError, UnsupportedError } from './errors.ts';

/** KDF parameters by number. A server can only name a number, so it cannot weaken the parameters. @public */
export const PROFILES: ReadonlyMap<number, KdfParams> = new Map([[1, { m: 64 * 1024, t: 3, p: 1 }]]);
/** The profile of new bags. @public */
export const PROFILE = 1;
/** The profile of an account without a key bag. @public */
export const BAGLESS_PROFILE = 1;

/** Identifies an account among those of all servers. @public */
export interface AccountName {
  /** 32 hex digits, from `GET /api/service`. */
  serviceId: string;
  username: string;
}

/** An account, and the KDF profile for its secrets. */
export interface ProfiledAccount extends AccountName {
  profile: number;
}

/** @public */
export interface AccountKeys {
  /** The secret that the server gets as `password`. */
  authSecret: string;
  /** Opens the key bag; never leaves the device. */
  kek: Bytes;
}

/** @throws UnsupportedError at stage `profile` for an unknown number */
export function profileOf(profile: number): KdfParams {
  const params = PROFILES.get(profile);
  if (!params) throw new UnsupportedError('profile', `KDF profile ${profile} is unknown to this client`);
  return params;
}

/** Returns the salt of an account: the same on every device, different on every server. @public */
export async function accountSalt(engine: Engine, { serviceId, username }: AccountName): Promise<Bytes> {
  const name = concat(Uint8Array.fromHex(serviceId), utf8(cleanUsername(username)));
  return (await engine.sha256(concat(utf8(labels.salt), new Uint8Array(1), name))).slice(0, 16);
}

/**
 * Derives login secret and KEK from a password or passphrase with one run of Argon2id. Neither result reveals the other.
 * @param profile the number of the KDF parameters, from the account's key bag
 * @throws UnsupportedError at stage `profile` for an unknown number @public
 */
export async function deriveAccountKeys(
  engine: Engine,
  account: AccountName,
  password: string,
  profile = PROFILE,
): Promise<AccountKeys> {
  const params = profileOf(profile);
  // Keyboards and systems compose accented letters differently, but must give the same key.
  const secret = utf8(password.normalize('NFC'));
  const root = await engine.argon2id(secret, await accountSalt(engine, account), params);
  const [auth, kek] = await Promise.all([
    deriveKey(engine, root, labels.auth),
    deriveKey(engine, root, labels.kek),
  ]);
  root.fill(0);
  return { authSecret: toBase64Url(auth), kek };
}

const KEY = 32;
const CHECK = 3;
/** Crockford's base32, without the letters I, L, O and U. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUP = 4;
/** Number of groups: 35 bytes are exactly 56 characters. @public */
export const RECOVERY_GROUPS = ((KEY + CHECK) * 8) / 5 / GROUP;

/** Draws a recovery key, which opens an account without its password. @public */
export const newRecoveryKey = (engine: Engine): Bytes => engine.random(KEY);

async function checkOf(engine: Engine, key: Bytes): Promise<Bytes> {
  const digest = await engine.sha256(concat(utf8(labels.recoveryCheck), new Uint8Array(1), key));
  return digest.slice(0, CHECK);
}

/** Returns a recovery key and its checksum in groups of four characters, to be written down. @public */
export async function recoveryText(engine: Engine, key: Bytes): Promise<string> {
  let bits = 0n;
  for (const byte of concat(key, await checkOf(engine, key))) bits = (bits << 8n) | BigInt(byte);
  let text = '';
  for (let at = 0; at < RECOVERY_GROUPS * GROUP; at++) {
    text = `${ALPHABET[Number(bits & 31n)]}${text}`;
    bits >>= 5n;
  }
  return text.match(/.{4}/g)!.join('-');
}

/** Normalises a typed recovery key: upper case, without spaces and hyphens, 0 for O, 1 for I and L. @public */
export function plainRecoveryText(typed: string): string {
  return typed
    .toUpperCase()
    .replace(/[\s\p{Pd}]/gu, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}

/**
 * Reads a recovery key that a person typed.
 * @throws RecoveryKeyError for wrong characters, a wrong length or a wrong checksum @public
 */
export async function parseRecoveryText(engine: Engine, text: string): Promise<Bytes> {
  const typed = plainRecoveryText(text);
  const wanted = RECOVERY_GROUPS * GROUP;
  if ([...typed].some((char) => !ALPHABET.includes(char))) {
    throw new RecoveryKeyError('a recovery key has only letters, without U, and digits');
  }
  if (typed.length !== wanted) {
    throw new RecoveryKeyError(
      `a recovery key has ${RECOVERY_GROUPS} groups of ${GROUP} characters, ${wanted} in all, not ${typed.length}`,
    );
  }
  let bits = 0n;
  for (const char of typed) bits = (bits << 5n) | BigInt(ALPHABET.indexOf(char));
  const bytes = Uint8Array.fromHex(bits.toString(16).padStart((KEY + CHECK) * 2, '0'));
  const key = bytes.slice(0, KEY);
  if (!equal(await checkOf(engine, key), bytes.subarray(KEY))) {
    throw new RecoveryKeyError('the checksum of the recovery key does not match: check for typing mistakes');
  }
  return key;
}

/**
 * Derives login secret and KEK from a recovery key. Needs no Argon2id: nobody can guess 32 random bytes. The account's salt makes a
 * secret that is sent to the wrong server useless there. @public
 */
export async function deriveRecoveryKeys(
  engine: Engine,
  account: AccountName,
  key: Bytes,
): Promise<AccountKeys> {
  const salt = await accountSalt(engine, account);
  return {
    authSecret: toBase64Url(await deriveKey(engine, key, labels.recoveryAuth, salt)),
    kek: await deriveKey(engine, key, labels.recoveryKek, salt),
  };
}

/** Length of a PRF result (WebAuthn). */
const PRF_BYTES = 32;

/**
 * The input of WebAuthn's PRF extension, from which each passkey derives its own secret. It is the same for all accounts, because the
 * client learns the account only after the passkey has answered. @public
 */
export const PRF_INPUT: Bytes = utf8(labels.prf);

/**
 * Derives the KEK of a passkey's entry in the key bag.
 * @param secret the PRF result for `PRF_INPUT`, 32 bytes @public
 */
export async function derivePasskeyKek(engine: Engine, account: AccountName, secret: Bytes): Promise<Bytes> {
  if (secret.length !== PRF_BYTES) throw new TypeError('an authenticator makes 32 bytes');
  return deriveKey(engine, secret, labels.passkeyKek, await accountSalt(engine, account));
}
