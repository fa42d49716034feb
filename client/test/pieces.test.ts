import assert from 'node:assert/strict';
import { getRandomValues, randomBytes } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import fc from 'fast-check';
import { PIECE_BYTES, sealInPlace, TAG_BYTES } from '../src/format/index.ts';
import { BlobReader, type Bytes, blobSource, webEngine } from '../src/index.ts';
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

test('pieces that are done with are handed over, and may be taken away', async () => {
  const sizes: number[] = [];
  const key = getRandomValues(new Uint8Array(32));
  const plain = new Uint8Array(randomBytes(2 * PIECE_BYTES + 100));
  const memory = new Uint8Array(plain.length + TAG_BYTES);
  memory.set(plain);
  await sealInPlace({ key, aad: new Uint8Array(0) }, memory, (piece) => {
    sizes.push(piece.byteLength - TAG_BYTES);
    structuredClone(null, { transfer: [piece] });
  });
  assert.deepEqual(sizes, [PIECE_BYTES, PIECE_BYTES, 100]);
  assert.deepEqual(memory, await web.gcmSeal(key, new Uint8Array(0), plain));
});

test('parts of a blob are read into the memory they are given, in any order, one after the other', async () => {
  const bytes = randomBytes(300_000);
  const reader = new BlobReader(new Blob([bytes]));
  const part = fc.tuple(fc.nat(bytes.length), fc.nat(70_000)).map(([offset, most]) => ({
    offset,
    length: Math.min(most, bytes.length - offset),
  }));
  const inOrder = fc.constant([0, 1, 2, 3, 4].map((i) => ({ offset: i * 60_000, length: 60_000 })));
  await fc.assert(
    fc.asyncProperty(fc.oneof(inOrder, fc.array(part, { maxLength: 6 })), async (parts) => {
      const read = await Promise.all(
        parts.map(({ offset, length }) => reader.read(offset, length, new ArrayBuffer(70_100))),
      );
      for (const [i, { offset, length }] of parts.entries()) {
        assert.equal(read[i]!.byteLength, 70_100);
        const expected = bytes.subarray(offset, offset + length);
        assert.ok(Buffer.from(read[i]!, 0, length).equals(expected), `${length} bytes at ${offset}`);
      }
    }),
    { numRuns: 50 },
  );
  await reader.close();
});

test('a part that is not there fails, and the next one can be read', async () => {
  const reader = new BlobReader(new Blob(['0123456789']));
  await assert.rejects(reader.read(5, 6, new ArrayBuffer(16)), { code: 'file-changed' });
  const memory = await reader.read(5, 5, new ArrayBuffer(16));
  assert.equal(Buffer.from(memory, 0, 5).toString(), '56789');
});

test('a file that changed after it was chosen is noticed', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-blob-'));
  try {
    const path = join(folder, 'file');
    await writeFile(path, 'as it was chosen');
    const source = blobSource(await openAsBlob(path));
    await source.check();
    await writeFile(path, 'changed since');
    await assert.rejects(source.check(), { code: 'file-changed' });
  } finally {
    await rm(folder, { recursive: true });
  }
});
