import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConnectionLimit } from '../../src/transfers/pull/proxy.ts';

const never = new AbortController().signal;

/** Asks for a place; `entered` tells whether it was given yet. */
function ask(limit: ConnectionLimit, idx: number, signal = never) {
  const place = { entered: false, leave: () => {}, failed: false };
  const done = limit.acquire(idx, signal).then(
    (leave) => Object.assign(place, { entered: true, leave }),
    () => Object.assign(place, { failed: true }),
  );
  return { place, done };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('so many downloads, with so many connections each', async () => {
  const limit = new ConnectionLimit(2, 2);
  const inside = [1, 1, 2].map((idx) => ask(limit, idx).place);
  const third = ask(limit, 1).place;
  const other = ask(limit, 3).place;
  await settled();
  assert.deepEqual(
    [...inside.map((place) => place.entered), third.entered, other.entered],
    [true, true, true, false, false],
  );

  inside[2]!.leave(); // volume 2 is done: volume 3 may come in
  await settled();
  assert.deepEqual([third.entered, other.entered], [false, true]);

  inside[0]!.leave(); // one connection of volume 1 fewer
  await settled();
  assert.equal(third.entered, true);
});

test('who gives up waiting takes no place', async () => {
  const limit = new ConnectionLimit(1, 1);
  const first = ask(limit, 1).place;
  const gone = new AbortController();
  const impatient = ask(limit, 1, gone.signal);
  const patient = ask(limit, 1).place;
  await settled();
  gone.abort();
  await impatient.done;
  assert.equal(impatient.place.failed, true);
  first.leave();
  await settled();
  assert.equal(patient.entered, true);
});
