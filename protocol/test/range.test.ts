import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseRange } from '../src/index.ts';

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

test('a range is what RFC 9110 says, for any numbers', () => {
  const number = fc.oneof(fc.nat(20), fc.maxSafeNat());
  fc.assert(
    fc.property(number, fc.option(number), fc.option(number), (size, first, last) => {
      const range = parseRange(`bytes=${first ?? ''}-${last ?? ''}`, size);
      const invalid = first === null ? last === null : last !== null && last < first;
      assert.equal(range === undefined, invalid);
      if (range === undefined) return;
      const start = first ?? Math.max(0, size - last!);
      const end = first === null || last === null ? size : Math.min(size, last + 1);
      assert.deepEqual(range, start < end ? { start, end } : 'unsatisfiable');
    }),
  );
});
