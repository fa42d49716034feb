import assert from 'node:assert/strict';
import { createHash, getRandomValues, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { type Bytes, blobPieces, PIECE_BYTES, sealPieces, TAG_BYTES, webEngine } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';

const web = webEngine();
const node = nodeEngine({ threads: 1 });
after(() => node.close());

async function* cut(plain: Bytes): AsyncGenerator<Bytes> {
  for (let at = 0; at < plain.length; at += PIECE_BYTES) yield plain.slice(at, at + PIECE_BYTES);
}

async function sealed(key: Bytes, aad: Bytes, plain: Bytes): Promise<Bytes> {
  const out = new Uint8Array(plain.length + TAG_BYTES);
  assert.equal(await sealPieces({ key, aad }, cut(plain), out), out.length);
  return out;
}

test('a message sealed in pieces is the message sealed at once, at every size around a piece and a block', async () => {
  const size = fc
    .tuple(fc.integer({ min: 0, max: 3 }), fc.constantFrom(-17, -16, -1, 0, 1, 15, 16, 17))
    .map(([pieces, off]) => Math.max(0, pieces * PIECE_BYTES + off));
  const aad = fc.uint8Array({ maxLength: 40 }).map((array) => new Uint8Array(array));
  await fc.assert(
    fc.asyncProperty(size, aad, async (length, data) => {
      const key = getRandomValues(new Uint8Array(32));
      const plain = new Uint8Array(randomBytes(length));
      const inPieces = Buffer.from(await sealed(key, data, plain));
      assert.ok(inPieces.equals(await web.gcmSeal(key, data, plain)), `${length} bytes, Web Crypto`);
      assert.ok(inPieces.equals(await node.gcmSeal(key, data, plain)), `${length} bytes, OpenSSL`);
    }),
    { numRuns: 60 },
  );
});

test('keys with unusual bits', async () => {
  for (const fill of [0, 1, 0x80, 0xff]) {
    const key = new Uint8Array(32).fill(fill);
    const plain = new Uint8Array(PIECE_BYTES + 5).fill(fill);
    const whole = await web.gcmSeal(key, new Uint8Array(0), plain);
    assert.deepEqual(await sealed(key, new Uint8Array(0), plain), whole);
  }
});

test('a blob comes in pieces of one size and a rest, also when nobody holds its stream', async () => {
  for (const size of [0, 1, 99, 100, 101, 1000, 70_000]) {
    const bytes = randomBytes(size);
    const hash = createHash('sha256');
    const lengths: number[] = [];
    for await (const piece of blobPieces(new Blob([bytes]), 100)) {
      hash.update(piece);
      lengths.push(piece.length);
    }
    assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
    assert.equal(lengths.length, Math.ceil(size / 100));
    assert.ok(lengths.slice(0, -1).every((length) => length === 100));
  }
});
