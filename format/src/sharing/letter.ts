/**
 * A letter carries the key of a share, sealed for the recipient and signed by the owner. Signature and seal bind owner, recipient and
 * share, so a letter cannot be used for another share.
 */
import { type Bytes, concat, padText, utf8 } from '../bytes.ts';
import { ed25519Sign, ed25519Verify, SIGNATURE_BYTES } from '../ed25519.ts';
import { type Engine, labels } from '../engine.ts';
import { requireSuite, TamperedError } from '../errors.ts';
import { HPKE_OVERHEAD, hpkeOpen, hpkeSeal } from '../hpke.ts';
import { type Identity, nameBytes, type OwnIdentity } from '../identity.ts';
import { bytesOf, isWhole, parseObject } from '../json.ts';
import { type LinkKey, linkKeyText, parseLinkKey } from './link.ts';

const SUITE = 1;
/** The latest time that a Date can hold. */
const LATEST = 8_640_000_000_000_000;

/** @public */
export interface Letter {
  /** Opens the header of the share, like the key of a link. */
  key: LinkKey;
  /** The owner's name for the share. */
  title: string;
  /** Bytes of all files. */
  size: number;
  /** When the letter was written, by the owner's clock, in milliseconds since 1970. */
  made: number;
}

/** The share (its id in base64url), its owner and its recipient. @public */
export interface LetterRoute<From extends Identity = Identity, To extends Identity = Identity> {
  shareId: string;
  from: From;
  to: To;
}

/** The bytes that bind a letter to its share, owner and recipient. */
const bindingOf = ({ shareId, from, to }: LetterRoute) =>
  concat(
    utf8(labels.letter),
    Uint8Array.of(SUITE),
    Uint8Array.fromHex(from.serviceId),
    bytesOf(shareId, 'letter', 'the id of the share', 16),
    ...[nameBytes(from.username), from.digest, nameBytes(to.username), to.digest],
  );

/**
 * Seals and signs a letter.
 * @returns suite ‖ signature ‖ sealed text @public
 */
export async function sealLetter(
  engine: Engine,
  route: LetterRoute<OwnIdentity>,
  { key, title, size, made }: Letter,
): Promise<Bytes> {
  const info = bindingOf(route);
  const text = utf8(JSON.stringify({ key: linkKeyText(key), title, size, made }));
  const sealed = await hpkeSeal(engine, route.to.x25519, { info }, padText(text));
  const signature = await ed25519Sign(route.from.secrets.ed25519, concat(info, sealed));
  return concat(Uint8Array.of(SUITE), signature, sealed);
}

/**
 * Opens a letter, after verifying its signature.
 * @throws TamperedError at stage `signature` or `letter`; UnsupportedError for an unknown suite @public
 */
export async function openLetter(route: LetterRoute<Identity, OwnIdentity>, letter: Bytes): Promise<Letter> {
  const { from, to } = route;
  if (letter.length > 0) requireSuite(letter[0]);
  if (letter.length < 1 + SIGNATURE_BYTES + HPKE_OVERHEAD)
    throw new TamperedError('letter', 'the letter is cut off');
  const info = bindingOf(route);
  const sealed = letter.slice(1 + SIGNATURE_BYTES);
  const signature = letter.slice(1, 1 + SIGNATURE_BYTES);
  if (!(await ed25519Verify(from.ed25519, signature, concat(info, sealed))))
    throw new TamperedError('signature', `${from.username} has not signed this share with you`);
  const text = await hpkeOpen(to.secrets.x25519, { info }, sealed);
  if (!text) throw new TamperedError('letter', 'the letter was not sealed for you');
  const json = parseObject(text, 'letter', 'the letter');
  const { title, size, made } = json;
  const key = typeof json['key'] === 'string' ? parseLinkKey(json['key']) : undefined;
  const isSound = typeof title === 'string' && isWhole(size, 0, Number.MAX_SAFE_INTEGER);
  if (!key || !isSound || !isWhole(made, 0, LATEST))
    throw new TamperedError('letter', 'the letter is malformed');
  return { key, title, size, made };
}
