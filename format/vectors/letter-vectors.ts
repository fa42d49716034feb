/** Vectors of identities and letters: what they look like, and what reads and writes them. */
import { SzafaError, TamperedError, UnsupportedError } from '../../client/src/errors.ts';
import type { Api, Keys } from '../../client/src/index.ts';
import { type ContactPin, Contacts } from '../../client/src/sharing/contacts.ts';
import {
  type Bytes,
  type Engine,
  fingerprintText,
  fromBase64Url,
  type Identity,
  linkKeyText,
  openLetter,
  ownIdentity,
  parseLinkKey,
  sealLetter,
  toBase64Url,
} from '../src/index.ts';

type Fault = { code: string; stage?: string };

interface SecretsJson {
  /** Hex. */
  x25519: string;
  ed25519: string;
}

export interface IdentityVector {
  name: string;
  about: string;
  service_id: string;
  username: string;
  document: string;
  /** Hex: the digest that the reader has seen of this name before. */
  pin?: string;
  /** Of which a writer makes the same document. */
  secrets?: SecretsJson;
  expect: { x25519: string; ed25519: string; digest: string; fingerprint: string } | Fault;
}

export interface LetterVector {
  name: string;
  about: string;
  service_id: string;
  share_id: string;
  from: { username: string; document: string; pin?: string };
  to: { username: string; secrets: SecretsJson };
  letter: string;
  /** What a writer has and draws who makes the same letter. */
  written?: { secrets: SecretsJson; random: string };
  expect: { key: string; title: string; size: number; made: number } | Fault;
}

const secretsOf = ({ x25519, ed25519 }: SecretsJson) => ({
  x25519: Uint8Array.fromHex(x25519) as Bytes,
  ed25519: Uint8Array.fromHex(ed25519) as Bytes,
});

function faultOf(error: unknown): Fault {
  if (error instanceof TamperedError || error instanceof UnsupportedError) {
    return { code: error.code, stage: error.stage };
  }
  if (error instanceof SzafaError) return { code: error.code };
  throw error;
}

/** The public keys of another account, as a reader takes them. */
async function receivedFrom(
  engine: Engine,
  serviceId: string,
  { username, document, pin }: { username: string; document: string; pin?: string },
): Promise<Identity> {
  const known = pin === undefined ? undefined : { digest: pin, verified: false };
  const keys = { identity: async () => ({ username: 'reader', serviceId }) } as unknown as Keys;
  const store = {
    load: async () => known,
    saveFirst: async (_: string, first: ContactPin) => first,
    save: async () => {},
  };
  const context = { api: undefined as unknown as Api, engine, keys };
  return (await new Contacts(context, { of: () => store }).received(username, document)).identity;
}

export async function runIdentity(engine: Engine, vector: IdentityVector): Promise<IdentityVector['expect']> {
  try {
    const read = await receivedFrom(engine, vector.service_id, vector);
    const [x25519, ed25519, digest] = [read.x25519, read.ed25519, read.digest].map((one) => one.toHex());
    return { x25519: x25519!, ed25519: ed25519!, digest: digest!, fingerprint: fingerprintText(read) };
  } catch (error) {
    return faultOf(error);
  }
}

/** The document that the client makes of the same secrets. */
export async function runIdentityWriter(engine: Engine, vector: IdentityVector): Promise<string> {
  const account = { serviceId: vector.service_id, username: vector.username };
  return toBase64Url((await ownIdentity(engine, account, secretsOf(vector.secrets!))).document);
}

async function routeOf(engine: Engine, { service_id: serviceId, share_id, from, to }: LetterVector) {
  return {
    shareId: share_id,
    from: await receivedFrom(engine, serviceId, from),
    to: await ownIdentity(engine, { serviceId, username: to.username }, secretsOf(to.secrets)),
  };
}

export async function runLetter(engine: Engine, vector: LetterVector): Promise<LetterVector['expect']> {
  try {
    const { key, ...about } = await openLetter(await routeOf(engine, vector), fromBase64Url(vector.letter));
    return { key: linkKeyText(key), ...about };
  } catch (error) {
    return faultOf(error);
  }
}

/** The letter that the client writes of the same things. */
export async function runLetterWriter(engine: Engine, vector: LetterVector): Promise<string> {
  const { written, expect } = vector;
  if (!written || !('key' in expect)) throw new TypeError('a writer has no fault');
  const { shareId, from, to } = await routeOf(engine, vector);
  const writer = { ...engine, random: () => Uint8Array.fromHex(written.random) as Bytes };
  const sender = await ownIdentity(engine, from, secretsOf(written.secrets));
  const { key, ...about } = expect;
  return toBase64Url(
    await sealLetter(writer, { shareId, from: sender, to }, { key: parseLinkKey(key)!, ...about }),
  );
}
