/** What an upload tells of itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProgressTracker } from '../src/transfers/upload/progress.ts';

test('progress tells what the service has from what is on its way, and takes nothing back', () => {
  const told: unknown[] = [];
  const sent = new ProgressTracker(300, ({ done, stored, total }) => told.push([done, stored, total]));
  sent.begin(100);
  sent.move(2, 60, 100);
  sent.move(2, 50, 100);
  sent.arrive(2, 100);
  sent.move(3, 40, 100);
  sent.move(3, -40, 100);
  sent.move(3, 20, 100);
  sent.begin(200);
  sent.move(3, 70, 100);
  sent.arrive(3, 100);
  assert.deepEqual(told, [
    [100, 100, 300],
    [160, 100, 300],
    [200, 100, 300],
    [200, 200, 300],
    [240, 200, 300],
    [270, 200, 300],
    [300, 300, 300],
  ]);
});
