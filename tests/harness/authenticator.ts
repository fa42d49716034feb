/** A software passkey: ES256 with node:crypto, and just enough CBOR. Tests can make parts of its answers wrong. */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import type { NewPasskeyRequest, PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';

type Cbor = number | string | Buffer | Map<number | string, Cbor> | Cbor[];

function head(major: number, value: number): Buffer {
  const kind = major << 5;
  if (value < 24) return Buffer.of(kind | value);
  if (value < 256) return Buffer.of(kind | 24, value);
  return Buffer.of(kind | 25, value >> 8, value & 255);
}

function cbor(value: Cbor): Buffer {
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value);
  if (typeof value === 'string')
    return Buffer.concat([head(3, Buffer.byteLength(value)), Buffer.from(value)]);
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value]);
  if (Array.isArray(value)) return Buffer.concat([head(4, value.length), ...value.map(cbor)]);
  const pairs = [...value].flatMap(([key, part]) => [cbor(key), cbor(part)]);
  return Buffer.concat([head(5, value.size), ...pairs]);
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest();
const [PRESENT, VERIFIED, HAS_KEY] = [1, 4, 64];

/** Parts of an answer that a test replaces by wrong ones. */
interface Wishes {
  origin?: string;
  rpId?: string;
  type?: string;
  challenge?: string;
  counter?: number;
  /** The authenticator did not verify the user. */
  unverified?: boolean;
  /** The user was not present. */
  absent?: boolean;
  userHandle?: string;
  format?: string;
  statement?: Map<string, Cbor>;
  /** The page was embedded in a page of another origin. */
  crossOrigin?: boolean;
  publicKey?: Map<number, Cbor>;
}

export class Authenticator {
  readonly id = randomBytes(32);
  readonly #origin: string;
  readonly #key: KeyObject;
  readonly #public: Map<number, Cbor>;
  /** Number of signatures. An authenticator that starts with 0 does not count. */
  counter: number;
  handle = randomBytes(16).toString('base64url');

  constructor(origin: string, counter = 1) {
    this.#origin = origin;
    this.counter = counter;
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    this.#key = privateKey;
    const { x, y } = publicKey.export({ format: 'jwk' });
    this.#public = new Map<number, Cbor>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, Buffer.from(x!, 'base64url')],
      [-3, Buffer.from(y!, 'base64url')],
    ]);
  }

  get name(): string {
    return this.id.toString('base64url');
  }

  #clientData(type: string, challenge: string, wishes: Wishes): Buffer {
    const { origin = this.#origin } = wishes;
    const data = {
      type: wishes.type ?? type,
      challenge: wishes.challenge ?? challenge,
      origin,
      crossOrigin: wishes.crossOrigin ?? false,
    };
    return Buffer.from(JSON.stringify(data));
  }

  #data(rpId: string, flags: number, counter: number, { unverified, absent }: Wishes): Buffer {
    const bits = flags | (absent ? 0 : PRESENT) | (unverified ? 0 : VERIFIED);
    const end = Buffer.alloc(5);
    end[0] = bits;
    end.writeUInt32BE(counter, 1);
    return Buffer.concat([sha256(rpId), end]);
  }

  /** Creates the passkey, for the body of `addPasskey`. */
  make(
    { challenge, rp_id, user_id }: NewPasskeyRequest,
    wishes: Wishes = {},
  ): { client_data: string; attestation: string } {
    this.handle = user_id;
    const { rpId = rp_id, format = 'none', statement = new Map() } = wishes;
    const length = Buffer.of(this.id.length >> 8, this.id.length & 255);
    const authData = Buffer.concat([
      this.#data(rpId, HAS_KEY, wishes.counter ?? this.counter, wishes),
      ...[Buffer.alloc(16), length, this.id, cbor(wishes.publicKey ?? this.#public)],
    ]);
    const object = new Map<string, Cbor>([
      ['fmt', format],
      ['attStmt', statement],
      ['authData', authData],
    ]);
    return {
      client_data: this.#clientData('webauthn.create', challenge, wishes).toString('base64url'),
      attestation: cbor(object).toString('base64url'),
    };
  }

  /** Signs the challenge of a login. */
  answer({ challenge, rp_id }: PasskeyRequest, wishes: Wishes = {}): PasskeyAnswer {
    if (this.counter > 0) this.counter++;
    const { rpId = rp_id, counter = this.counter, userHandle = this.handle } = wishes;
    const clientData = this.#clientData('webauthn.get', challenge, wishes);
    const data = this.#data(rpId, 0, counter, wishes);
    const signature = createSign('sha256').update(data).update(sha256(clientData)).sign(this.#key);
    return {
      id: this.name,
      client_data: clientData.toString('base64url'),
      authenticator_data: data.toString('base64url'),
      signature: signature.toString('base64url'),
      user_handle: userHandle,
    };
  }
}
