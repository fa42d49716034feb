import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { formatRanges, parseRanges } from '../src/domain/number-ranges.ts';
import { matchesTag, parseRange } from '../src/http/ranges.ts';

test('a byte range as RFC 9110 has it', () => {
  const cases: [string | undefined, ReturnType<typeof parseRange>][] = [
    [undefined, undefined],
    ['', undefined],
    ['bytes=0-0', { start: 0, end: 1 }],
    ['bytes=0-', { start: 0, end: 100 }],
    ['BYTES=5-9', { start: 5, end: 10 }],
    ['bytes= 5 - 9 ', { start: 5, end: 10 }],
    ['bytes=99-', { start: 99, end: 100 }],
    ['bytes=0-99', { start: 0, end: 100 }],
    ['bytes=90-1000', { start: 90, end: 100 }],
    [`bytes=0-${'9'.repeat(400)}`, { start: 0, end: 100 }],
    ['bytes=-1', { start: 99, end: 100 }],
    ['bytes=-100', { start: 0, end: 100 }],
    ['bytes=-1000', { start: 0, end: 100 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=100-200', 'unsatisfiable'],
    [`bytes=${'9'.repeat(400)}-`, 'unsatisfiable'],
    // Malformed or several: the whole is sent.
    ['bytes=9-5', undefined],
    ['bytes=-', undefined],
    ['bytes=a-b', undefined],
    ['bytes=0-1,5-6', undefined],
    ['bytes=--1', undefined],
    ['bytes=1.5-2', undefined],
    ['items=0-1', undefined],
    ['0-1', undefined],
  ];
  for (const [header, expected] of cases) assert.deepEqual(parseRange(header, 100), expected, String(header));
});

test('a header full of blanks takes no time', () => {
  const blanks = ' '.repeat(16_000);
  const since = performance.now();
  for (const header of [
    `bytes=${blanks}x`,
    `bytes=${blanks}1${blanks}x`,
    `bytes= -${blanks}x`,
    `bytes=1-${blanks}x`,
  ]) {
    assert.equal(parseRange(header, 100), undefined);
  }
  // It was seconds for each of them.
  assert.ok(performance.now() - since < 200);
});

test('no range of an empty volume can be satisfied', () => {
  for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1', 'bytes=-0']) {
    assert.equal(parseRange(header, 0), 'unsatisfiable', header);
  }
});

test('a range that is answered lies inside the volume and is never empty', () => {
  fc.assert(
    fc.property(fc.nat(), fc.option(fc.nat()), fc.option(fc.nat()), (size, from, to) => {
      const range = parseRange(`bytes=${from ?? ''}-${to ?? ''}`, size);
      if (range === undefined || range === 'unsatisfiable') return;
      assert.ok(range.start >= 0 && range.start < range.end && range.end <= size);
      if (from !== null) assert.equal(range.start, from);
    }),
  );
});

test('If-None-Match compares weakly, in lists, and knows the star', () => {
  for (const header of ['"a"', 'W/"a"', '"b", "a"', '"b",W/"a" ', '*', ' * ']) {
    assert.equal(matchesTag(header, '"a"'), true, header);
  }
  for (const header of [undefined, '', 'a', '"b"', '"a', '"A"', '"ab"']) {
    assert.equal(matchesTag(header, '"a"'), false, String(header));
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
