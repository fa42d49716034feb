import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { expiredBefore, lastUse } from '../src/accounts/sessions.ts';

test('a use is written down again after a sixteenth of the lifetime', () => {
  const ttl = 1600;
  assert.equal(lastUse(10_000, 10_000, ttl), 'fresh');
  assert.equal(lastUse(10_000, 10_100, ttl), 'fresh');
  assert.equal(lastUse(10_000, 10_101, ttl), 'stale');
  assert.equal(lastUse(10_000, 11_700, ttl), 'stale');
  assert.equal(lastUse(10_000, 11_701, ttl), 'expired');
});

test('whatever the uses, nothing ends before its lifetime after the last of them, and soon after it does', () => {
  const gaps = fc.array(fc.nat({ max: 3000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.integer({ min: 16, max: 5000 }), gaps, (ttl, waits) => {
      let now = 1_000_000;
      let written = now;
      let used = now;
      for (const wait of waits) {
        now += wait;
        const state = lastUse(written, now, ttl);
        if (now - used <= ttl) assert.notEqual(state, 'expired');
        if (now - used > ttl + Math.ceil(ttl / 16)) assert.equal(state, 'expired');
        assert.equal(state === 'expired', written < expiredBefore(now, ttl), 'the sweeper thinks the same');
        if (state === 'expired') return;
        used = now;
        if (state === 'stale') written = now;
      }
    }),
  );
});
