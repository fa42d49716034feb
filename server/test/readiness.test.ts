import assert from 'node:assert/strict';
import { test } from 'node:test';
import { shareReadiness } from '../src/operator/readiness.ts';
import { ApiError } from '../src/platform/http/api-error.ts';

/** A check that a test ends, and how many of them there were. */
function checks() {
  let now = 0;
  const begun: PromiseWithResolvers<void>[] = [];
  const confirm = shareReadiness(
    () => {
      begun.push(Promise.withResolvers());
      return begun.at(-1)!.promise;
    },
    () => now,
  );
  const pass = (ms: number) => {
    now += ms;
  };
  return { confirm, begun, pass };
}

const is503 = (error: unknown) => error instanceof ApiError && error.status === 503;

test('one check serves all who ask while it runs, and in the second after it', async () => {
  const { confirm, begun, pass } = checks();
  const asked = Array.from({ length: 100 }, () => confirm());
  begun[0]!.resolve();
  await Promise.all(asked);
  pass(999);
  await confirm();
  assert.equal(begun.length, 1);
  pass(1);
  const next = confirm();
  assert.equal(begun.length, 2);
  begun[1]!.reject(new Error('away'));
  await assert.rejects(next, is503);
  await assert.rejects(confirm(), is503);
  assert.equal(begun.length, 2, 'a no is kept as well');
  pass(1000);
  const again = confirm();
  begun[2]!.resolve();
  await again;
});

test('a check that does not end is a no after two seconds, and is not made a second time meanwhile', async () => {
  const { confirm, begun, pass } = checks();
  const since = performance.now();
  await assert.rejects(confirm(), is503);
  assert.ok(performance.now() - since < 4000);
  pass(60_000);
  await assert.rejects(confirm(), is503);
  assert.equal(begun.length, 1);
  begun[0]!.resolve();
  await new Promise(setImmediate);
  pass(1000);
  const next = confirm();
  begun[1]!.resolve();
  await next;
});
