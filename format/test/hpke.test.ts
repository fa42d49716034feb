import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { TamperedError } from '../../client/src/errors.ts';
import { type Bytes, utf8 } from '../src/bytes.ts';
import { type HpkeContext, hpkeOpen, hpkeSeal, x25519PublicKey } from '../src/hpke.ts';
import { hpke, publicOf } from '../vectors/hpke-builder.ts';

const hex = (text: string) => Uint8Array.fromHex(text) as Bytes;
const drawing = (...secrets: Bytes[]) => ({ random: () => secrets.shift()!.slice() });
const fresh = (length: number) => new Uint8Array(randomBytes(length));

/** RFC 9180, A.1.1 and A.1.2. The RFC has them with AES-128-GCM: one number and the length of a key are other ones. */
const AES_128_GCM = { id: 1, key: 16 };
const info = hex('4f6465206f6e2061204772656369616e2055726e');
const aad = hex('436f756e742d30');
const plain = hex('4265617574792069732074727574682c20747275746820626561757479');
const published: {
  name: string;
  skEm: string;
  skRm: string;
  pkRm: string;
  enc: string;
  ct: string;
  context: HpkeContext;
}[] = [
  {
    name: 'A.1.1, base mode',
    skEm: '52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736',
    skRm: '4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8',
    pkRm: '3948cfe0ad1ddb695d780e59077195da6c56506b027329794ab02bca80815c4d',
    enc: '37fda3567bdbd628e88668c3c8d7e97d1d1253b6d4ea6d44c150f741f1bf4431',
    ct: 'f938558b5d72f1a23810b4be2ab4f84331acc02fc97babc53a52ae8218a355a96d8770ac83d07bea87e13c512a',
    context: { info, aad, aead: AES_128_GCM },
  },
  {
    name: 'A.1.2, PSK mode',
    skEm: '463426a9ffb42bb17dbe6044b9abd1d4e4d95f9041cef0e99d7824eef2b6f588',
    skRm: 'c5eb01eb457fe6c6f57577c5413b931550a162c71a03ac8d196babbd4e5ce0fd',
    pkRm: '9fed7e8c17387560e92cc6462a68049657246a09bfa8ade7aefe589672016366',
    enc: '0ad0950d9fb9588e59690b74f1237ecdf1d775cd60be2eca57af5a4b0471c91b',
    ct: 'e52c6fed7f758d0cf7145689f21bc1be6ec9ea097fef4e959440012f4feb73fb611b946199e681f4cfc34db8ea',
    context: {
      ...{ info, aad, aead: AES_128_GCM },
      psk: {
        secret: hex('0247fd33b913760fa1fa51e1892d9f307fbe65eb171e8132c2af18555a738b82'),
        id: hex('456e6e796e20447572696e206172616e204d6f726961'),
      },
    },
  },
];

for (const { name, skEm, skRm, pkRm, enc, ct, context } of published) {
  test(`RFC 9180, ${name}`, async () => {
    assert.equal((await x25519PublicKey(hex(skRm))).toHex(), pkRm);
    const sealed = await hpkeSeal(drawing(hex(skEm)), hex(pkRm), context, plain);
    assert.equal(sealed.toHex(), enc + ct);
    assert.deepEqual(await hpkeOpen(hex(skRm), context, sealed), plain);
  });
}

const psk = { secret: fresh(32), id: utf8('id') };
const modes: [string, Omit<HpkeContext, 'aead'>][] = [
  ['base mode', { info }],
  ['PSK mode', { info, aad, psk }],
];

for (const [name, context] of modes) {
  test(`AES-256-GCM, ${name}: the same bytes as another implementation`, async () => {
    for (const length of [0, 1, 300]) {
      const [secret, ephemeral, message] = [fresh(32), fresh(32), fresh(length)];
      const recipient = publicOf(secret);
      const wanted = hpke({ ...context, ephemeral, recipient, plain: message });
      const sealed = await hpkeSeal(drawing(ephemeral), new Uint8Array(recipient), context, message);
      assert.equal(sealed.toHex(), wanted.toString('hex'));
      assert.deepEqual(await hpkeOpen(secret, context, sealed), message);
    }
  });

  test(`AES-256-GCM, ${name}: any change, and any other context, opens nothing`, async () => {
    const secret = fresh(32);
    const sealed = await hpkeSeal({ random: fresh }, await x25519PublicKey(secret), context, plain);
    assert.deepEqual(await hpkeOpen(secret, context, sealed), plain);
    for (let at = 0; at < sealed.length; at += 7) {
      const changed = sealed.slice();
      changed[at]! ^= 1;
      assert.equal(await hpkeOpen(secret, context, changed), undefined, `byte ${at}`);
    }
    const other = fresh(32);
    for (const wrong of [
      { ...context, info: other },
      { ...context, aad: other },
      { ...context, psk: context.psk ? undefined : psk },
      { ...context, psk: { secret: psk.secret, id: other } },
      { ...context, psk: { secret: other, id: psk.id } },
    ]) {
      assert.equal(await hpkeOpen(secret, wrong, sealed), undefined);
    }
    assert.equal(await hpkeOpen(other, context, sealed), undefined);
    assert.equal(await hpkeOpen(secret, context, sealed.slice(0, 47)), undefined);
    assert.equal(await hpkeOpen(secret, context, new Uint8Array(0)), undefined);
  });
}

test('a public key that gives every secret the same result is refused, and so is one of another length', async () => {
  // Of small order: 0, 1, and the two of order 8 (RFC 7748, section 7).
  for (const point of [
    '00'.repeat(32),
    `01${'00'.repeat(31)}`,
    'e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800',
    '5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157',
    '09'.repeat(31),
  ]) {
    await assert.rejects(
      hpkeSeal({ random: fresh }, hex(point), { info }, plain),
      (error) => error instanceof TamperedError && error.stage === 'public-key',
    );
    const sealed = new Uint8Array(80);
    sealed.set(hex(point));
    assert.equal(await hpkeOpen(fresh(32), { info }, sealed), undefined);
  }
});

test('zeros, which stand for a key that an engine holds, are no secret; and a PSK is no short one', async () => {
  const recipient = await x25519PublicKey(fresh(32));
  const zeros = new Uint8Array(32);
  const seal = (secret: Bytes, id = utf8('id')) =>
    hpkeSeal({ random: fresh }, recipient, { info, psk: { secret, id } }, plain);
  await assert.rejects(x25519PublicKey(zeros), TypeError);
  await assert.rejects(seal(zeros), TypeError);
  await assert.rejects(seal(fresh(31)), RangeError);
  await assert.rejects(seal(fresh(32), new Uint8Array(0)), RangeError);
});
