import assert from 'node:assert/strict';
import { test } from 'node:test';
import { date, fullDate } from '../../web/src/core/format.ts';

test('a time that no calendar has is left out, and does not end the page', () => {
  for (const ms of [Number.NaN, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER]) {
    assert.equal(date(ms), '');
    assert.equal(fullDate(ms), '');
  }
  assert.equal(date(Date.UTC(2020, 5, 15, 12), new Date(Date.UTC(2024, 0, 1))), 'Jun 15, 2020');
});
