import assert from 'node:assert/strict';
import { test } from 'node:test';
import { collectInTurns, inParallel } from '../src/platform/parallel.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test('all are worked on, so many at a time', async () => {
  let [running, most] = [0, 0];
  const done: number[] = [];
  await inParallel([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
    most = Math.max(most, ++running);
    await turn();
    running--;
    done.push(item);
  });
  assert.deepEqual(done.sort(), [1, 2, 3, 4, 5, 6, 7]);
  assert.equal(most, 3);
  await inParallel([], 3, () => assert.fail());
});

test('after the first error nothing is begun, and what is under way is waited for', async () => {
  const [begun, ended]: number[][] = [[], []];
  const work = async (item: number) => {
    begun!.push(item);
    for (let turns = 0; turns < item * 3; turns++) await turn();
    ended!.push(item);
    if (item !== 3) throw new Error(`number ${item}`);
  };
  await assert.rejects(inParallel([2, 1, 3, 4, 5], 3, work), /number 1/);
  assert.deepEqual(begun, [2, 1, 3]);
  assert.deepEqual(ended, [1, 2, 3]);
});

test('work that takes long lets others run in between', async () => {
  let turns = 0;
  const count = setInterval(() => turns++, 0);
  const slow = function* () {
    for (let item = 0; item < 5; item++) {
      for (const end = performance.now() + 20; performance.now() < end; );
      yield item;
    }
  };
  try {
    assert.deepEqual(await collectInTurns(slow()), [0, 1, 2, 3, 4]);
  } finally {
    clearInterval(count);
  }
  assert.ok(turns >= 3, `${turns} turns`);
});
