import assert from 'node:assert/strict';
import { getRandomValues, randomBytes } from 'node:crypto';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { type Bytes, PIECE_BYTES, readBlob, sealInPlace, TAG_BYTES, webEngine } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';

const web = webEngine();
const node = nodeEngine({ threads: 1 });
after(() => node.close());

async function sealed(key: Bytes, aad: Bytes, plain: Bytes): Promise<Bytes> {
  const memory = new Uint8Array(plain.length + TAG_BYTES);
  memory.set(plain);
  await sealInPlace({ key, aad }, memory);
  return memory;
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

test('a blob is read into the memory it is given, as often as one likes', async () => {
  let memory = new ArrayBuffer(70_100);
  for (const size of [0, 1, 100, 70_000, 1000]) {
    const bytes = randomBytes(size);
    memory = await readBlob(new Blob([bytes]), memory);
    assert.equal(memory.byteLength, 70_100);
    assert.ok(Buffer.from(memory, 0, size).equals(bytes), `${size} bytes`);
  }
});
