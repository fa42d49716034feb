/** Vectors of requests: what they look like, and what reads and writes them. */
import { SzafaError, TamperedError, UnsupportedError } from '../../client/src/errors.ts';
import {
  type Bytes,
  type Engine,
  fromBase64Url,
  openDelivery,
  openRequestHeader,
  ownRequestKeys,
  parseRequestKey,
  requestAccess,
  requestKeyText,
  sealDelivery,
  sealRequest,
  toBase64Url,
  x25519PublicKey,
} from '../src/index.ts';
import { fileOfJson, jsonOfFile, type LinkFileJson, own } from './share-vectors.ts';

export type RequestFault = { code: string; stage?: string };

/** A link as a visitor meets it. */
export interface RequestVector {
  kind: 'request';
  name: string;
  about: string;
  /** Behind the # of the link. */
  fragment: string;
  header: string;
  /** Of those that the owner must write in the same way. */
  written?: { master: string; id: string; random: string[] };
  expect: { access: string; public_key: string; note?: string } | RequestFault;
}

/** An upload as the owner meets it. */
export interface DeliveryVector {
  kind: 'delivery';
  name: string;
  about: string;
  service_id: string;
  id: string;
  master: string;
  enc_params: unknown;
  /** Of those that a visitor must write in the same way: what is drawn. */
  random?: string[];
  expect: { file: LinkFileJson } | RequestFault;
}

const hex = (text: string) => Uint8Array.fromHex(text) as Bytes;

async function faultOr<T>(work: () => Promise<T>): Promise<T | RequestFault> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof TamperedError || error instanceof UnsupportedError)
      return { code: error.code, stage: error.stage };
    if (error instanceof SzafaError) return { code: error.code };
    throw error;
  }
}

export function runRequest(engine: Engine, vector: RequestVector | DeliveryVector): Promise<unknown> {
  return faultOr<unknown>(async () => {
    if (vector.kind === 'delivery') {
      const { id, service_id: serviceId, master, enc_params } = vector;
      const keys = await ownRequestKeys(engine, hex(master), id);
      return { file: jsonOfFile(await openDelivery(engine, { id, serviceId }, keys, enc_params)) };
    }
    const key = parseRequestKey(vector.fragment);
    if (!key) return { code: 'fragment' };
    const { publicKey, note } = await openRequestHeader(engine, fromBase64Url(vector.header), key);
    const access = toBase64Url(await requestAccess(engine, key));
    return { access, public_key: toBase64Url(publicKey), ...(note !== undefined && { note }) };
  });
}

/** What the client makes of the same things; undefined where the vector is for readers only. */
export async function runRequestWriter(
  engine: Engine,
  vector: RequestVector | DeliveryVector,
): Promise<object | undefined> {
  const { expect } = vector;
  const drawn = (vector.kind === 'request' ? vector.written?.random : vector.random)?.map(hex);
  if (!drawn) return undefined;
  const drawing = own(engine, () => drawn.shift()!);
  if (vector.kind === 'delivery') {
    const { id, service_id: serviceId, master } = vector;
    if (!('file' in expect)) return undefined;
    const { secret, psk } = await ownRequestKeys(engine, hex(master), id);
    const to = { publicKey: await x25519PublicKey(secret), psk };
    return sealDelivery(drawing, { id, serviceId }, to, fileOfJson(expect.file));
  }
  const { master, id } = vector.written!;
  const note = 'note' in expect ? expect.note : undefined;
  const { header, key } = await sealRequest(drawing, await ownRequestKeys(engine, hex(master), id), note);
  return { fragment: requestKeyText(key), header: toBase64Url(header) };
}
