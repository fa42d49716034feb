import { type Bytes, concat, equal, toBase64Url, utf8 } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { RecoveryKeyError } from './errors.ts';
import { type AccountKeys, type AccountName, accountSalt } from './keys.ts';

const KEY = 32;
const CHECK = 3;
/** Crockford's: no letter that reads like a digit, and none that makes words. */
const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const GROUP = 4;
/** 35 bytes are 56 characters, without a bit left over. @public */
export const RECOVERY_GROUPS = ((KEY + CHECK) * 8) / 5 / GROUP;

/** A second way to the keys of an account, for whoever has lost the password. @public */
export function newRecoveryKey(engine: Engine): Bytes {
  return engine.random(KEY);
}

async function checkOf(engine: Engine, key: Bytes): Promise<Bytes> {
  const digest = await engine.sha256(concat(utf8(labels.recoveryCheck), new Uint8Array(1), key));
  return digest.slice(0, CHECK);
}

/** In groups of four characters with a checksum behind them, to be written down. @public */
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

/** What a person typed of a key, in one spelling: in any letter case, with blanks and hyphens anywhere, O for 0, I and L for 1. @public */
export function plainRecoveryText(typed: string): string {
  return typed
    .toUpperCase()
    .replace(/[\s\p{Pd}]/gu, '')
    .replaceAll('O', '0')
    .replace(/[IL]/g, '1');
}

/** The key behind a text that a person typed. @public */
export async function parseRecoveryText(engine: Engine, text: string): Promise<Bytes> {
  const typed = plainRecoveryText(text);
  const wanted = RECOVERY_GROUPS * GROUP;
  const strange = [...typed].find((char) => !ALPHABET.includes(char));
  if (strange !== undefined) {
    throw new RecoveryKeyError('a recovery key has only letters, without U, and digits');
  }
  if (typed.length !== wanted) {
    throw new RecoveryKeyError(
      `a recovery key has ${RECOVERY_GROUPS} groups of ${GROUP} characters, ${wanted} in all, not ${typed.length}`,
    );
  }
  let bits = 0n;
  for (const char of typed) bits = (bits << 5n) | BigInt(ALPHABET.indexOf(char));
  const bytes = new Uint8Array(KEY + CHECK);
  for (let at = bytes.length - 1; at >= 0; at--) {
    bytes[at] = Number(bits & 255n);
    bits >>= 8n;
  }
  const key = bytes.slice(0, KEY);
  if (!equal(await checkOf(engine, key), bytes.subarray(KEY))) {
    throw new RecoveryKeyError(
      'the checksum of the recovery key does not match: something in it is mistyped',
    );
  }
  return key;
}

/**
 * What the service gets in place of a password, and what opens the entry in the key bag. No Argon2id: nobody guesses 32 random bytes. The
 * account's salt is in it, so that what another service is given by mistake is of no use to it. @public
 */
export async function deriveRecoveryKeys(
  engine: Engine,
  account: AccountName,
  key: Bytes,
): Promise<AccountKeys> {
  const salt = await accountSalt(engine, account);
  const auth = await engine.hkdf(key, salt, utf8(labels.recoveryAuth), 32);
  return {
    authSecret: toBase64Url(auth),
    kek: await engine.hkdf(key, salt, utf8(labels.recoveryKek), 32),
  };
}
