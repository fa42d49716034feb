import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Turnstile } from '../../src/transfers/pull/turnstile.ts';

const never = new AbortController().signal;

/** Asks for a place; `entered` tells whether it was given yet. */
function ask(turnstile: Turnstile, idx: number, signal = never) {
  const place = { entered: false, leave: () => {}, failed: false };
  const done = turnstile.enter(idx, signal).then(
    (leave) => Object.assign(place, { entered: true, leave }),
    () => Object.assign(place, { failed: true }),
  );
  return { place, done };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('so many downloads, with so many connections each', async () => {
  const turnstile = new Turnstile(2, 2);
  const inside = [1, 1, 2].map((idx) => ask(turnstile, idx).place);
  const third = ask(turnstile, 1).place;
  const other = ask(turnstile, 3).place;
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
  const turnstile = new Turnstile(1, 1);
  const first = ask(turnstile, 1).place;
  const gone = new AbortController();
  const impatient = ask(turnstile, 1, gone.signal);
  const patient = ask(turnstile, 1).place;
  await settled();
  gone.abort();
  await impatient.done;
  assert.equal(impatient.place.failed, true);
  first.leave();
  await settled();
  assert.equal(patient.entered, true);
});
