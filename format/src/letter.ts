/**
 * Letters: what opens a share, sealed for the account that it is for, and signed by its owner. Whose it is, for whom, and of which share
 * is bound into both, so that none can be taken for another.
 */
import { type Bytes, concat, utf8, withBlanks } from './bytes.ts';
import { ed25519Sign, ed25519Verify, SIGNATURE_BYTES } from './ed25519.ts';
import { type Engine, labels } from './engine.ts';
import { TamperedError, UnsupportedError } from './errors.ts';
import { HPKE_OVERHEAD, hpkeOpen, hpkeSeal } from './hpke.ts';
import { type Identity, nameBytes, type OwnIdentity } from './identity.ts';
import { bytesOf, isWhole, parseObject } from './json.ts';
import { type LinkKey, linkKeyText, parseLinkKey } from './link.ts';

const SUITE = 1;
/** The latest that a Date can be. */
const LATEST = 8_640_000_000_000_000;

/** @public */
export interface Letter {
  /** Opens the header of the share, as the key of a link does. */
  key: LinkKey;
  /** What the owner calls it. */
  title: string;
  /** Bytes of all files. */
  size: number;
  /** When it was written, in milliseconds since 1970: the owner's word, not the service's. */
  made: number;
}

/** Which share, of its id in base64url, from whom to whom. @public */
export interface LetterRoute<From extends Identity = Identity, To extends Identity = Identity> {
  shareId: string;
  from: From;
  to: To;
}

const contextOf = ({ shareId, from, to }: LetterRoute) =>
  concat(
    ...[
      utf8(labels.letter),
      Uint8Array.of(SUITE),
      Uint8Array.fromHex(from.serviceId),
      bytesOf(shareId, 'letter', 'the id of the share', 16),
    ],
    ...[nameBytes(from.username), from.digest, nameBytes(to.username), to.digest],
  );

/** Suite ‖ signature ‖ sealed text. @public */
export async function sealLetter(
  engine: Engine,
  route: LetterRoute<OwnIdentity>,
  { key, title, size, made }: Letter,
): Promise<Bytes> {
  const info = contextOf(route);
  const text = utf8(JSON.stringify({ key: linkKeyText(key), title, size, made }));
  const sealed = await hpkeSeal(engine, route.to.x25519, { info }, withBlanks(text));
  const signature = await ed25519Sign(route.from.secrets.ed25519, concat(info, sealed));
  return concat(Uint8Array.of(SUITE), signature, sealed);
}

/** The signature first: what is not the owner's is not even opened. @public */
export async function openLetter(route: LetterRoute<Identity, OwnIdentity>, letter: Bytes): Promise<Letter> {
  const { from, to } = route;
  const [suite] = letter;
  if (suite !== undefined && suite !== SUITE)
    throw new UnsupportedError('suite', `suite ${suite} is unknown to this client`);
  if (letter.length < 1 + SIGNATURE_BYTES + HPKE_OVERHEAD)
    throw new TamperedError('letter', 'what opens the share is cut off');
  const info = contextOf(route);
  const sealed = letter.slice(1 + SIGNATURE_BYTES);
  const signature = letter.slice(1, 1 + SIGNATURE_BYTES);
  if (!(await ed25519Verify(from.ed25519, signature, concat(info, sealed))))
    throw new TamperedError('signature', `${from.username} has not signed this share with you`);
  const text = await hpkeOpen(to.secrets.x25519, { info }, sealed);
  if (!text) throw new TamperedError('letter', 'what opens the share was not sealed for you');
  const json = parseObject(text, 'letter', 'what opens the share');
  const { title, size, made } = json;
  const key = typeof json['key'] === 'string' ? parseLinkKey(json['key']) : undefined;
  const isSound = typeof title === 'string' && isWhole(size, 0, Number.MAX_SAFE_INTEGER);
  if (!key || !isSound || !isWhole(made, 0, LATEST))
    throw new TamperedError('letter', 'what opens the share is malformed');
  return { key, title, size, made };
}
