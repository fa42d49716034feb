import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '../src/index.ts';

test('every id goes into a path as a part of it, also one that is no text', () => {
  const path = (file_id: string) => pathOf('readVolume', { file_id, idx: 1 });
  assert.equal(path('a/../b?c#d'), '/api/files/a%2F..%2Fb%3Fc%23d/chunk/1');
  assert.equal(path('\ud800'), '/api/files/%EF%BF%BD/chunk/1');
});
