/**
 * What an account is known by to others: an X25519 key, for which they seal, and an Ed25519 key, by whose signatures they know it. The
 * service hands the public halves out; that they are the right ones is shown by the fingerprint, which people compare.
 */
import { openCurrent, openIdentity, type ParsedBag, type Way } from './bag.ts';
import { type Bytes, concat, toBase64Url, u32, utf8 } from './bytes.ts';
import { ed25519PublicKey, ed25519Sign, ed25519Verify, SIGNATURE_BYTES } from './ed25519.ts';
import { type Engine, labels } from './engine.ts';
import { TamperedError, UnsupportedError } from './errors.ts';
import { x25519PublicKey } from './hpke.ts';
import type { AccountName } from './keys.ts';

const SUITE = 1;
const KEY = 32;
const LENGTH = 1 + 2 * KEY + SIGNATURE_BYTES;
const DIGITS = 60;
const GROUP = 5;

/** Public keys of an account. @public */
export interface Identity extends AccountName {
  x25519: Bytes;
  ed25519: Bytes;
  /** The whole of what a fingerprint shows: SHA-256 over names and keys. */
  digest: Bytes;
}

/** With the secret halves, of 32 bytes each. @public */
export interface OwnIdentity extends Identity {
  secrets: { x25519: Bytes; ed25519: Bytes };
  /** What the service hands out. */
  document: Bytes;
}

/** A name, and where it ends. */
export const nameBytes = (name: string): Bytes => {
  const text = utf8(name);
  return concat(u32(text.length), text);
};

/** What is signed, and what the fingerprint is of. */
const statementOf = ({ serviceId, username }: AccountName, x25519: Bytes, ed25519: Bytes) =>
  concat(
    utf8(labels.identity),
    Uint8Array.of(SUITE),
    Uint8Array.fromHex(serviceId),
    nameBytes(username),
    x25519,
    ed25519,
  );

/** An account's own, from the secret halves. @public */
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

/** What goes to the service beside a bag; nothing where a browser has no such keys, which must not keep anybody out. */
export async function identityOfBag(
  engine: Engine,
  bag: ParsedBag,
  way: Way,
): Promise<{ identity?: string }> {
  const master = await openCurrent(engine, bag, way);
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

/** Another account's, as the service handed it out: that it fits the name, and its own signature. @public */
export async function parseIdentity(
  engine: Engine,
  { serviceId, username }: AccountName,
  document: Bytes,
): Promise<Identity> {
  const [suite] = document;
  if (suite !== undefined && suite !== SUITE)
    throw new UnsupportedError('suite', `suite ${suite} is unknown to this client`);
  if (document.length !== LENGTH)
    throw new TamperedError('identity', `the public keys of ${username} are malformed`);
  const x25519 = document.slice(1, 1 + KEY);
  const ed25519 = document.slice(1 + KEY, 1 + 2 * KEY);
  const statement = statementOf({ serviceId, username }, x25519, ed25519);
  if (!(await ed25519Verify(ed25519, document.slice(1 + 2 * KEY), statement)))
    throw new TamperedError('identity', `the public keys of ${username} are not signed by that account`);
  return { serviceId, username, x25519, ed25519, digest: await engine.sha256(statement) };
}

/** What two people compare: 60 digits, in groups of five. @public */
export function fingerprintText({ digest }: Pick<Identity, 'digest'>): string {
  const digits = (BigInt(`0x${digest.toHex()}`) % 10n ** BigInt(DIGITS)).toString().padStart(DIGITS, '0');
  return digits.match(new RegExp(`.{${GROUP}}`, 'g'))!.join(' ');
}

/** As it is written down or typed, in the form that `fingerprintText` gives; undefined where it is none. @public */
export function parseFingerprint(text: string): string | undefined {
  const digits = text.replace(/[\s\p{Pd}]/gu, '');
  if (digits.length !== DIGITS || !/^\d+$/.test(digits)) return undefined;
  return digits.match(new RegExp(`.{${GROUP}}`, 'g'))!.join(' ');
}
