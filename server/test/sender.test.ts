import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReadScheduler } from '../src/platform/volumes/sender.ts';

/** How many reads in a row go to threads from now on. */
function threaded(pace: ReadScheduler): number {
  let count = 0;
  while (!pace.isDirect()) assert.ok(++count < 100_000);
  return count;
}

test('reads from memory stay direct, also where somebody else had the core meanwhile', () => {
  const pace = new ReadScheduler(() => 7);
  for (const ms of [0.01, 0.1, 5, 19]) {
    assert.equal(threaded(pace), 0);
    pace.took(ms);
  }
  assert.equal(threaded(pace), 0);
});

test('a read that waited for the disk sends the next ones to threads, more each time, until one is quick', () => {
  let inputs = 0;
  const pace = new ReadScheduler(() => inputs);
  const counts = Array.from({ length: 11 }, () => {
    inputs += 8;
    pace.took(1);
    return threaded(pace);
  });
  assert.deepEqual(counts, [16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 4096, 4096]);
  pace.took(0.05);
  assert.equal(threaded(pace), 0);
  inputs += 8;
  pace.took(1);
  assert.equal(threaded(pace), 16);
});

test('one that took very long has waited, whatever the system counts', () => {
  const pace = new ReadScheduler(() => 0);
  pace.took(50);
  assert.equal(threaded(pace), 16);
});

test('the system counts what this process has the disk read', () => {
  assert.equal(typeof process.resourceUsage().fsRead, 'number');
});
