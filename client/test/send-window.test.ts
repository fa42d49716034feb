import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SendWindow } from '../src/transfers/upload/send-window.ts';

const VOLUME = 8;

/** Volumes that end when the test says so, and a clock that it moves. */
function paced(most: number, volumes: number) {
  let now = 0;
  const pace = new SendWindow(most, () => now);
  const running: { idx: number; end(): void }[] = [];
  const all = Array.from({ length: volumes }, (_, idx) =>
    pace.run(
      VOLUME,
      () =>
        new Promise<void>((resolve) => {
          running.push({ idx, end: resolve });
        }),
    ),
  );
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    pace,
    all,
    async at(time: number) {
      now = time;
      await settle();
    },
    async end(idx: number) {
      const at = running.findIndex((one) => one.idx === idx);
      running.splice(at, 1)[0]!.end();
      await settle();
    },
    async move(bytes: number) {
      pace.moved(bytes);
      await settle();
    },
    running: () => running.map(({ idx }) => idx),
  };
}

test('on a slow line one volume follows the other', async () => {
  const { at, end, move, running, all } = paced(6, 4);
  await at(0);
  assert.deepEqual(running(), [0]);
  for (let idx = 0; idx < 4; idx++) {
    for (let part = 0; part < VOLUME; part++) {
      await at((idx * VOLUME + part) * 1000);
      await move(1);
      assert.deepEqual(running(), [idx]);
    }
    await end(idx);
  }
  await Promise.all(all);
});

test('a fast line takes several at once, never more than allowed, in the order of asking', async () => {
  const { at, end, move, running, all } = paced(3, 6);
  await at(1);
  await move(VOLUME);
  assert.deepEqual(running(), [0, 1]);
  await move(10 * VOLUME);
  assert.deepEqual(running(), [0, 1, 2]);
  await end(1);
  assert.deepEqual(running(), [0, 2, 3]);
  for (const idx of [0, 2, 3, 4, 5]) await end(idx);
  await Promise.all(all);
});

test('a line that has become slow takes one again; one that failed makes room', async () => {
  const { at, end, move, running, pace } = paced(3, 6);
  await at(1);
  await move(10 * VOLUME);
  assert.deepEqual(running(), [0, 1, 2]);
  await at(9_000);
  for (const idx of [0, 1]) await end(idx);
  assert.deepEqual(running(), [2]);
  await end(2);
  assert.deepEqual(running(), [3]);
  for (const idx of [3, 4, 5]) await end(idx);
  await assert.rejects(
    pace.run(VOLUME, () => Promise.reject(new Error('of the network'))),
    /of the network/,
  );
  assert.equal(await pace.run(VOLUME, async () => 'next'), 'next');
});
