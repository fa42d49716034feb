import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import { BrokenDocument, packVolumes, unpackVolumes } from '../src/platform/volumes/documents.ts';

const volumesOf = (sizes: number[]) =>
  sizes.map((size, at) => ({
    idx: at + 1,
    size,
    sha256: createHash('sha256').update(`${at}`).digest('hex'),
  }));

test('a packed specification says the same', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(0, 1, 8 * 2 ** 20, 2 ** 53 - 1), { maxLength: 50 }), (sizes) => {
      const volumes = volumesOf(sizes);
      assert.deepEqual(unpackVolumes(JSON.parse(JSON.stringify(packVolumes(volumes)))), volumes);
    }),
  );
});

test('ten thousand volumes take less than half of what a list takes', () => {
  const volumes = volumesOf(Array(10_000).fill(8 * 2 ** 20));
  assert.ok(JSON.stringify(packVolumes(volumes)).length < JSON.stringify(volumes).length / 2);
});

test('what is no specification is refused, before it takes memory', () => {
  const { digests } = packVolumes(volumesOf([5, 7]));
  for (const sizes of [
    undefined,
    1,
    [null],
    [[5]],
    [[5, 0.5]],
    [[5, -1]],
    [[5, 1e9]],
    [
      [5, 9_999],
      [6, 2],
    ],
  ]) {
    assert.throws(
      () => unpackVolumes({ digests, sizes } as Parameters<typeof unpackVolumes>[0]),
      BrokenDocument,
    );
  }
  assert.throws(
    () => unpackVolumes({ sizes: [[5, 1]] } as Parameters<typeof unpackVolumes>[0]),
    BrokenDocument,
  );
});
