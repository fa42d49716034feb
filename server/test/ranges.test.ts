import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesEtag } from '../src/files/download.ts';
import { formatRanges, parseRanges } from '../src/transfers/pull/pulls-table.ts';

test('If-None-Match compares weakly, in lists, and knows the star', () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', '*', ' * ']) {
    assert.equal(matchesEtag(header, '"a"'), true, header);
  }
  for (const header of [undefined, '', 'a', '"b"', '"a', '"A"', '"ab"']) {
    assert.equal(matchesEtag(header, '"a"'), false, String(header));
  }
});

test('sets of volume numbers survive being written as ranges', () => {
  assert.equal(formatRanges([]), '');
  assert.equal(formatRanges([3]), '3');
  assert.equal(formatRanges([5, 1, 2, 8, 4]), '1-2,4-5,8');
  assert.equal(formatRanges(Array.from({ length: 10_000 }, (_, at) => at + 1)), '1-10000');
  assert.deepEqual([...parseRanges('')], []);
  fc.assert(
    fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 10_000 })), (numbers) => {
      const sorted = [...numbers].sort((a, b) => a - b);
      assert.deepEqual([...parseRanges(formatRanges(new Set(numbers)))], sorted);
    }),
  );
});
