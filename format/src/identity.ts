/**
 * The public identity of an account: an X25519 key, for which others seal, and an Ed25519 key, which verifies its signatures. The server
 * hands out the public keys, so people compare fingerprints to be sure that the server did not replace them.
 */
import { openCurrentMaster, openIdentity, type ParsedBag, type Unlocker } from './bag.ts';
import { type Bytes, concat, toBase64Url, u32, utf8 } from './bytes.ts';
import { ed25519PublicKey, ed25519Sign, ed25519Verify, SIGNATURE_BYTES } from './ed25519.ts';
import { type Engine, labels } from './engine.ts';
import { requireSuite, TamperedError } from './errors.ts';
import { x25519PublicKey } from './hpke.ts';
import type { AccountName } from './keys.ts';

const SUITE = 1;
const KEY = 32;
const LENGTH = 1 + 2 * KEY + SIGNATURE_BYTES;
const DIGITS = 60;

/** Public keys of an account. @public */
export interface Identity extends AccountName {
  x25519: Bytes;
  ed25519: Bytes;
  /** SHA-256 over names and keys; the fingerprint shows it. */
  digest: Bytes;
}

/** An account's own identity. @public */
export interface OwnIdentity extends Identity {
  /** Secret halves, 32 bytes each. */
  secrets: { x25519: Bytes; ed25519: Bytes };
  /** The signed public keys, in the form that the server hands out. */
  document: Bytes;
}

/** Encodes a name, preceded by its length. */
export const nameBytes = (name: string): Bytes => {
  const text = utf8(name);
  return concat(u32(text.length), text);
};

/** The bytes that the account signs and the fingerprint is computed from. */
const statementOf = ({ serviceId, username }: AccountName, x25519: Bytes, ed25519: Bytes) =>
  concat(
    utf8(labels.identity),
    Uint8Array.of(SUITE),
    Uint8Array.fromHex(serviceId),
    nameBytes(username),
    x25519,
    ed25519,
  );

/** Derives the identity of an account from its secret keys. @public */
export async function ownIdentity(
  engine: Engine,
  { serviceId, username }: AccountName,
  secrets: OwnIdentity['secrets'],
): Promise<OwnIdentity> {
  const [x25519, ed25519] = [await x25519PublicKey(secrets.x25519), await ed25519PublicKey(secrets.ed25519)];
  const statement = statementOf({ serviceId, username }, x25519, ed25519);
  const signature = await ed25519Sign(secrets.ed25519, statement);
  const document = concat(Uint8Array.of(SUITE), x25519, ed25519, signature);
  const digest = await engine.sha256(statement);
  return { serviceId, username, x25519, ed25519, digest, secrets, document };
}

/** Returns the signed public keys to publish beside a bag; nothing if the browser lacks Ed25519, since login must still work there. */
export async function identityOfBag(
  engine: Engine,
  bag: ParsedBag,
  unlocker: Unlocker,
): Promise<{ identity?: string }> {
  const master = await openCurrentMaster(engine, bag, unlocker);
  const secrets = await openIdentity(engine, bag, master);
  try {
    return { identity: toBase64Url((await ownIdentity(engine, bag, secrets)).document) };
  } catch (error) {
    if (error instanceof DOMException && error.name === 'NotSupportedError') return {};
    throw error;
  } finally {
    for (const key of [master, secrets.x25519, secrets.ed25519]) key.fill(0);
  }
}

/**
 * Reads another account's document, as the server returned it.
 * @throws TamperedError if it is malformed or not signed for this name; UnsupportedError for another suite @public
 */
export async function parseIdentity(
  engine: Engine,
  { serviceId, username }: AccountName,
  document: Bytes,
): Promise<Identity> {
  if (document.length > 0) requireSuite(document[0]);
  if (document.length !== LENGTH)
    throw new TamperedError('identity', `the public keys of ${username} are malformed`);
  const x25519 = document.slice(1, 1 + KEY);
  const ed25519 = document.slice(1 + KEY, 1 + 2 * KEY);
  const statement = statementOf({ serviceId, username }, x25519, ed25519);
  if (!(await ed25519Verify(ed25519, document.slice(1 + 2 * KEY), statement)))
    throw new TamperedError('identity', `the public keys of ${username} are not signed by that account`);
  return { serviceId, username, x25519, ed25519, digest: await engine.sha256(statement) };
}

const groupDigits = (digits: string): string => digits.match(/.{5}/g)!.join(' ');

/** Returns the fingerprint that two people compare: 60 digits in groups of five. @public */
export function fingerprintText({ digest }: Pick<Identity, 'digest'>): string {
  return groupDigits(
    (BigInt(`0x${digest.toHex()}`) % 10n ** BigInt(DIGITS)).toString().padStart(DIGITS, '0'),
  );
}

/** Normalises a typed fingerprint to the form of `fingerprintText`; undefined if the text is not one. @public */
export function parseFingerprint(text: string): string | undefined {
  const digits = text.replace(/[\s\p{Pd}]/gu, '');
  return digits.length === DIGITS && /^\d+$/.test(digits) ? groupDigits(digits) : undefined;
}
