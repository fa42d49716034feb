/**
 * File requests let visitors without an account seal files for the owner of a link. The owner's keys derive from the master key and the
 * request's id, so deliveries open even if the server has lost the request.
 */
import { type Bytes, concat, equal, fromUtf8, padText, splitPair, toBase64Url, utf8 } from '../bytes.ts';
import { deriveKey, EMPTY, type Engine, labels } from '../engine.ts';
import { requireSuite, TamperedError } from '../errors.ts';
import { hpkeOpen, hpkeSeal, x25519PublicKey } from '../hpke.ts';
import { bytesOf, isObject } from '../json.ts';
import { SEAL_OVERHEAD, seal, unsealOrThrow } from '../seal.ts';
import { fileText, parseFile, type SharedFile } from './share.ts';

const SUITE = 1;
const KEY = 32;
const DIGEST = 32;
const ID = 16;
/** Suite and public key. */
const BEFORE_NOTE = 1 + KEY;

/** The part of the link after the `#`. @public */
export interface RequestKey {
  psk: Bytes;
  /** SHA-256 of the header. */
  digest: Bytes;
}

/** Identifies a request among those of all servers. @public */
export interface RequestName {
  /** 32 hex digits, from `GET /api/service`. */
  serviceId: string;
  /** 22 characters. */
  id: string;
}

/** The owner's keys of a request. @public */
export interface OwnRequestKeys {
  /** Secret half of the X25519 key. */
  secret: Bytes;
  psk: Bytes;
}

/** @public */
export interface OpenedRequestHeader {
  publicKey: Bytes;
  /** The owner's message to visitors. */
  note?: string;
}

/** The enc_params of a file that a visitor uploaded. @public */
export interface DeliveryParams {
  szafa_delivery: number;
  /** base64url of the sealed file description. */
  sealed: string;
}

/** Derives the owner's keys of a request, the same on every device. @public */
export async function ownRequestKeys(engine: Engine, master: Bytes, id: string): Promise<OwnRequestKeys> {
  const derived = await deriveKey(engine, master, labels.request, idBytes(id), 2 * KEY);
  return { secret: derived.slice(0, KEY), psk: derived.slice(KEY) };
}

/** Creates the header for visitors and the key in the link. Draws random bytes only to seal a note. @public */
export async function sealRequest(
  engine: Engine,
  { secret, psk }: OwnRequestKeys,
  note?: string | undefined,
): Promise<{ header: Bytes; key: RequestKey }> {
  const publicKey = await x25519PublicKey(secret);
  const sealed =
    note === undefined ? EMPTY : await seal(engine, psk, labels.requestNote, padText(utf8(note)));
  const header = concat(Uint8Array.of(SUITE), publicKey, sealed);
  return { header, key: { psk, digest: await engine.sha256(header) } };
}

/**
 * Verifies and opens the header of a request. The digest in the link keeps the server from replacing the header and its key.
 * @throws TamperedError at stage `request`; UnsupportedError for an unknown suite @public
 */
export async function openRequestHeader(
  engine: Engine,
  header: Bytes,
  { psk, digest }: RequestKey,
): Promise<OpenedRequestHeader> {
  if (!equal(await engine.sha256(header), digest)) {
    throw new TamperedError('request', 'the server returned something else than this link was made for');
  }
  requireSuite(header[0]);
  const publicKey = header.slice(1, BEFORE_NOTE);
  if (header.length === BEFORE_NOTE) return { publicKey };
  if (header.length < BEFORE_NOTE + SEAL_OVERHEAD)
    throw new TamperedError('request', 'the header is cut off');
  const sealed = header.slice(BEFORE_NOTE);
  const note = await unsealOrThrow(engine, psk, labels.requestNote, sealed, [
    'request',
    'the note does not open',
  ]);
  try {
    return { publicKey, note: fromUtf8(note).trimEnd() };
  } catch (cause) {
    throw new TamperedError('request', 'the note is not UTF-8', { cause });
  }
}

/** Derives the token that proves to the server that a visitor has the link. @public */
export const requestAccess = async (engine: Engine, { psk }: Pick<RequestKey, 'psk'>): Promise<Bytes> =>
  deriveKey(engine, psk, labels.requestAccess);

/** The HPKE context of deliveries to a request. */
async function hpkeContext(engine: Engine, { serviceId, id }: RequestName, psk: Bytes) {
  const info = concat(utf8(labels.delivery), new Uint8Array(1), Uint8Array.fromHex(serviceId), idBytes(id));
  const secret = await deriveKey(engine, psk, labels.requestPsk);
  return { info, psk: { secret, id: utf8(labels.requestPsk) } };
}

/** Seals the description of a visitor's file for the owner of the request. Draws one random secret of 32 bytes. @public */
export async function sealDelivery(
  engine: Engine,
  name: RequestName,
  { publicKey, psk }: { publicKey: Bytes; psk: Bytes },
  file: SharedFile,
): Promise<DeliveryParams> {
  const sealed = await hpkeSeal(engine, publicKey, await hpkeContext(engine, name, psk), fileText(file));
  return { szafa_delivery: SUITE, sealed: toBase64Url(sealed) };
}

/**
 * Opens a visitor's description of a file, with the file key in the clear. The visitor may have written anything into it.
 * @throws TamperedError at stage `delivery` or `share`; UnsupportedError for an unknown suite @public
 */
export async function openDelivery(
  engine: Engine,
  name: RequestName,
  { secret, psk }: OwnRequestKeys,
  params: unknown,
): Promise<SharedFile> {
  if (!isObject(params) || !('szafa_delivery' in params))
    throw new TamperedError('delivery', 'this file is not a delivery');
  requireSuite(params['szafa_delivery']);
  const bytes = bytesOf(params['sealed'], 'delivery', 'the delivery');
  const opened = await hpkeOpen(secret, await hpkeContext(engine, name, psk), bytes);
  if (!opened)
    throw new TamperedError('delivery', 'the delivery was not sealed with the link of this request');
  return parseFile(opened);
}

/** @public */
export const requestKeyText = ({ psk, digest }: RequestKey): string => toBase64Url(concat(psk, digest));

/** Returns undefined if the text is not the key of a request. @public */
export function parseRequestKey(text: string): RequestKey | undefined {
  const [psk, digest] = splitPair(text, KEY, DIGEST) ?? [];
  return psk && digest && { psk, digest };
}

const idBytes = (id: string): Bytes => bytesOf(id, 'request', 'the id of the request', ID);
