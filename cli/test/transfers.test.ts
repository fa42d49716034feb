import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Invocation } from '../src/command.ts';
import { Output } from '../src/lib/print/output.ts';
import { concurrencyFor, summarize } from '../src/lib/transfer/run.ts';

const MIB = 1024 * 1024;
const files = (count: number, size: number) => Array.from({ length: count }, () => ({ size }));
const atOnce = (all: { size: number }[], transfers?: string) =>
  concurrencyFor({ flags: { transfers } } as unknown as Invocation, all);

test('many small files at once, few large ones, never more than there are', () => {
  assert.deepEqual(atOnce(files(2000, 64 * 1024)), { files: 64, volumes: 4 });
  assert.deepEqual(atOnce(files(100, 8 * MIB)), { files: 8, volumes: 4 });
  assert.deepEqual(atOnce(files(100, 1024 * MIB)), { files: 4, volumes: 4 });
  assert.deepEqual(atOnce(files(1, 1024 * MIB)), { files: 1, volumes: 4 });
  assert.deepEqual(atOnce(files(3, 0)), { files: 3, volumes: 4 });
  assert.deepEqual(atOnce([]), { files: 1, volumes: 4 });
});

test('a large one among many small ones still has several volumes on their way', () => {
  assert.deepEqual(atOnce([...files(2000, 1024), ...files(1, 1024 * MIB)]), { files: 64, volumes: 4 });
  assert.deepEqual(atOnce(files(100, 9 * MIB), '32'), { files: 32, volumes: 1 });
});

test('what is asked for is done', () => {
  assert.equal(atOnce(files(100, 1024 * MIB), '20').files, 20);
  assert.equal(atOnce(files(100, 1), '2').files, 2);
});

test('what would be done is summed up without a time', () => {
  const texts: string[] = [];
  const out = new Output({ json: false, quiet: false });
  out.done = (_type, _fields, text) => void texts.push(text);
  const tally = { files: 2, bytes: 7, skipped: 0 };
  summarize(out, 'would get', tally, performance.now() - 5000);
  summarize(out, 'got', tally, performance.now() - 5000);
  assert.deepEqual(texts, ['would get 2 files, 7 B', 'got 2 files, 7 B in 5 s']);
});
