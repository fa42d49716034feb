/** HPKE once more, from RFC 9180 with Node's own primitives and nothing of the client: for vectors, and to compare. */
import { createCipheriv, createPrivateKey, createPublicKey, diffieHellman } from 'node:crypto';
import { EMPTY, hmac } from './writer-cases.ts';

const bytes = (...parts: (Uint8Array | string)[]) => Buffer.concat(parts.map((part) => Buffer.from(part)));
const u16 = (value: number) => Uint8Array.of(value >> 8, value & 255);

const privateKey = (secret: Uint8Array) =>
  createPrivateKey({
    key: bytes(Buffer.from('302e020100300506032b656e04220420', 'hex'), secret),
    format: 'der',
    type: 'pkcs8',
  });
const publicKey = (point: Uint8Array) =>
  createPublicKey({
    key: bytes(Buffer.from('302a300506032b656e032100', 'hex'), point),
    format: 'der',
    type: 'spki',
  });

/** The public half. */
export const publicOf = (secret: Uint8Array): Buffer =>
  createPublicKey(privateKey(secret)).export({ format: 'der', type: 'spki' }).subarray(-32);

export interface HpkeParts {
  /** Of the one message; it is the sender's. */
  ephemeral: Uint8Array;
  recipient: Uint8Array;
  info: Uint8Array;
  aad?: Uint8Array;
  psk?: { secret: Uint8Array; id: Uint8Array } | undefined;
  plain: Uint8Array;
}

/** X25519, HKDF-SHA256, AES-256-GCM; encapsulated key ‖ ciphertext. */
export function hpke({ ephemeral, recipient, info, aad = EMPTY, psk, plain }: HpkeParts): Buffer {
  const enc = publicOf(ephemeral);
  const dh = diffieHellman({ privateKey: privateKey(ephemeral), publicKey: publicKey(recipient) });
  const suite = { kem: bytes('KEM', u16(32)), hpke: bytes('HPKE', u16(32), u16(1), u16(2)) };
  const extract = (id: Uint8Array, salt: Uint8Array, label: string, ikm: Uint8Array) =>
    hmac(salt, bytes('HPKE-v1', id, label, ikm));
  const expand = (id: Uint8Array, prk: Uint8Array, label: string, context: Uint8Array, length: number) =>
    hmac(prk, bytes(u16(length), 'HPKE-v1', id, label, context, '\x01')).subarray(0, length);

  const prk = extract(suite.kem, EMPTY, 'eae_prk', dh);
  const shared = expand(suite.kem, prk, 'shared_secret', bytes(enc, recipient), 32);
  const context = bytes(
    Uint8Array.of(psk ? 1 : 0),
    extract(suite.hpke, EMPTY, 'psk_id_hash', psk?.id ?? EMPTY),
    extract(suite.hpke, EMPTY, 'info_hash', info),
  );
  const secret = extract(suite.hpke, shared, 'secret', psk?.secret ?? EMPTY);
  const nonce = expand(suite.hpke, secret, 'base_nonce', context, 12);
  const cipher = createCipheriv('aes-256-gcm', expand(suite.hpke, secret, 'key', context, 32), nonce);
  cipher.setAAD(aad);
  return bytes(enc, cipher.update(plain), cipher.final(), cipher.getAuthTag());
}
