import assert from 'node:assert/strict';
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { ed25519PublicKey, ed25519Sign, ed25519Verify } from '../src/ed25519.ts';

const hex = (text: string) => Uint8Array.fromHex(text);

/** RFC 8032, 7.1: secret key, public key, message, signature. */
const VECTORS = [
  [
    '9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60',
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb',
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
] as const;

test('signatures are those of the RFC', async () => {
  for (const [secret, publicKey, message, signature] of VECTORS) {
    assert.equal((await ed25519PublicKey(hex(secret))).toHex(), publicKey);
    assert.equal((await ed25519Sign(hex(secret), hex(message))).toHex(), signature);
    assert.equal(await ed25519Verify(hex(publicKey), hex(signature), hex(message)), true);
    assert.equal(await ed25519Verify(hex(publicKey), hex(signature), hex(`${message}00`)), false);
  }
});

test("the public half is OpenSSL's, with either sign", async () => {
  const signs = new Set<number>();
  for (let i = 0; i < 64; i++) {
    const secret = new Uint8Array(randomBytes(32));
    const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), secret]);
    const known = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }));
    const found = await ed25519PublicKey(secret);
    assert.equal(Buffer.from(found).toString('base64url'), known.export({ format: 'jwk' }).x);
    signs.add(found[31]! >> 7);
  }
  assert.equal(signs.size, 2);
});

const { subtle } = globalThis.crypto;

test('where Web Crypto does not know its own signatures, no public key is given out: others would pin a wrong one', async (t) => {
  t.mock.method(subtle, 'verify', async () => false);
  await assert.rejects(ed25519PublicKey(hex(VECTORS[0][0])), { name: 'NotSupportedError' });
});

test('where Web Crypto has no such keys, that is said, and nobody is called a forger', async (t) => {
  const [secret, publicKey, message, signature] = VECTORS[0];
  const lacking = async () => {
    throw new DOMException('Unrecognized name.', 'NotSupportedError');
  };
  t.mock.method(subtle, 'importKey', lacking);
  const lacks = { name: 'NotSupportedError' };
  await assert.rejects(ed25519Verify(hex(publicKey), hex(signature), hex(message)), lacks);
  await assert.rejects(ed25519PublicKey(hex(secret)), lacks);
});

test('what is no point of the curve verifies nothing', async () => {
  const [, , message, signature] = VECTORS[0];
  for (const key of ['02'.padEnd(64, '0'), '', 'ff'.repeat(32)])
    assert.equal(await ed25519Verify(hex(key), hex(signature), hex(message)), false, key);
});
