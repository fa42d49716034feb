/**
 * Requests: whoever has the link seals files for its owner, without an account. All that the owner needs comes from the master key and the id:
 * what has been delivered opens as long as they have their keys, whatever became of the request on the service.
 */
import { type Bytes, concat, equal, fromUtf8, pairIn, toBase64Url, utf8, withBlanks } from './bytes.ts';
import { EMPTY, type Engine, labels } from './engine.ts';
import { TamperedError, UnsupportedError } from './errors.ts';
import { hpkeOpen, hpkeSeal, x25519PublicKey } from './hpke.ts';
import { bytesOf, isObject, shownValue } from './json.ts';
import { SEAL_OVERHEAD, seal, unseal } from './seal.ts';
import { fileText, parseFile, type SharedFile } from './share-content.ts';

const SUITE = 1;
const KEY = 32;
const DIGEST = 32;
const ID = 16;
/** Suite and public key. */
const BEFORE_NOTE = 1 + KEY;

/** What stands behind the `#` of the link. @public */
export interface RequestKey {
  psk: Bytes;
  /** SHA-256 of the header. */
  digest: Bytes;
}

/** Which request it is, everywhere. @public */
export interface RequestName {
  /** 32 hex digits, from `GET /api/service`. */
  serviceId: string;
  /** 22 characters. */
  id: string;
}

/** What the owner has of a request. @public */
export interface OwnRequestKeys {
  /** Of X25519. */
  secret: Bytes;
  psk: Bytes;
}

/** A header that is the link's own. @public */
export interface OpenedRequestHeader {
  publicKey: Bytes;
  /** What the owner says to visitors. */
  note?: string;
}

/** enc_params of a file that a visitor has uploaded. @public */
export interface DeliveryParams {
  szafa_delivery: number;
  /** base64url of what `sealDelivery` makes. */
  sealed: string;
}

/** The same on every device of the owner. @public */
export async function ownRequestKeys(engine: Engine, master: Bytes, id: string): Promise<OwnRequestKeys> {
  const derived = await engine.hkdf(master, idBytes(id), utf8(labels.request), 2 * KEY);
  return { secret: derived.slice(0, KEY), psk: derived.slice(KEY) };
}

/** What visitors get, and what they must have to read it. Draws the r of the note's seal, where there is one. @public */
export async function sealRequest(
  engine: Engine,
  { secret, psk }: OwnRequestKeys,
  note?: string | undefined,
): Promise<{ header: Bytes; key: RequestKey }> {
  const publicKey = await x25519PublicKey(secret);
  const sealed =
    note === undefined ? EMPTY : await seal(engine, psk, labels.requestNote, withBlanks(utf8(note)));
  const header = concat(Uint8Array.of(SUITE), publicKey, sealed);
  return { header, key: { psk, digest: await engine.sha256(header) } };
}

/** That this is the header that the link was made with: a service cannot put a key of its own in its place. @public */
export async function openRequestHeader(
  engine: Engine,
  header: Bytes,
  { psk, digest }: RequestKey,
): Promise<OpenedRequestHeader> {
  if (!equal(await engine.sha256(header), digest)) {
    throw new TamperedError('request', 'what the server gives is not what this link was made for');
  }
  const [suite] = header;
  if (suite !== SUITE) throw new UnsupportedError('suite', `suite ${suite} is unknown to this client`);
  const publicKey = header.slice(1, BEFORE_NOTE);
  if (header.length === BEFORE_NOTE) return { publicKey };
  if (header.length < BEFORE_NOTE + SEAL_OVERHEAD)
    throw new TamperedError('request', 'the header is cut off');
  const note = await unseal(engine, psk, labels.requestNote, header.slice(BEFORE_NOTE));
  if (!('plain' in note)) throw new TamperedError('request', 'the note does not open');
  try {
    return { publicKey, note: fromUtf8(note.plain).trimEnd() };
  } catch (cause) {
    throw new TamperedError('request', 'the note is no text', { cause });
  }
}

/** What a visitor shows to the service: that the link is known, and nothing of what it seals. @public */
export async function requestAccess(engine: Engine, { psk }: Pick<RequestKey, 'psk'>): Promise<Bytes> {
  return engine.hkdf(psk, EMPTY, utf8(labels.requestAccess), 32);
}

/** What both ends of HPKE say. */
async function contextOf(engine: Engine, { serviceId, id }: RequestName, psk: Bytes) {
  const info = concat(utf8(labels.delivery), new Uint8Array(1), Uint8Array.fromHex(serviceId), idBytes(id));
  const secret = await engine.hkdf(psk, EMPTY, utf8(labels.requestPsk), KEY);
  return { info, psk: { secret, id: utf8(labels.requestPsk) } };
}

/** What a file is, for the owner of the request. Draws one random secret of 32 bytes. @public */
export async function sealDelivery(
  engine: Engine,
  name: RequestName,
  { publicKey, psk }: { publicKey: Bytes; psk: Bytes },
  file: SharedFile,
): Promise<DeliveryParams> {
  const sealed = await hpkeSeal(engine, publicKey, await contextOf(engine, name, psk), fileText(file));
  return { szafa_delivery: SUITE, sealed: toBase64Url(sealed) };
}

/** What a visitor says of a file, its key in the clear. Nothing of it is more than their word. @public */
export async function openDelivery(
  engine: Engine,
  name: RequestName,
  { secret, psk }: OwnRequestKeys,
  params: unknown,
): Promise<SharedFile> {
  if (!isObject(params) || !('szafa_delivery' in params))
    throw new TamperedError('delivery', 'this is no file that a visitor has sealed');
  const { szafa_delivery: suite, sealed } = params;
  if (suite !== SUITE)
    throw new UnsupportedError('suite', `suite ${shownValue(suite)} is unknown to this client`);
  const bytes = bytesOf(sealed, 'delivery', 'what a visitor has sealed');
  const opened = await hpkeOpen(secret, await contextOf(engine, name, psk), bytes);
  if (!opened) throw new TamperedError('delivery', 'this was not sealed with the link of this request');
  return parseFile(opened);
}

/** @public */
export const requestKeyText = ({ psk, digest }: RequestKey): string => toBase64Url(concat(psk, digest));

/** Undefined for what is no such text. @public */
export function parseRequestKey(text: string): RequestKey | undefined {
  const [psk, digest] = pairIn(text, KEY, DIGEST) ?? [];
  return psk && digest && { psk, digest };
}

/** Throws for what is no id of a request. */
function idBytes(id: string): Bytes {
  return bytesOf(id, 'request', 'the id of the request', ID);
}
