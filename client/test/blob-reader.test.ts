import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { openAsBlob } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { BlobReader, blobSource } from '../src/index.ts';

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
