/** What people read about keys that are not those of before. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Stage, TamperedError } from '@szafa/client';
import { aboutKeys, explain, text } from '../../web/src/text.ts';

const fault = (stage: Stage) => ({ code: 'keys', message: 'from the SDK', stage });

test('each check of the keys that can fail has words, and what to do next', () => {
  const own: [Stage, keyof typeof text.keys][] = [
    ['service', 'service'],
    ['rollback', 'rollback'],
    ['owner', 'owner'],
    ['no-bag', 'no-bag'],
  ];
  const broken: Stage[] = ['bag', 'entry', 'bag-mac', 'masters'];
  for (const [stage, words] of [...own, ...broken.map((stage) => [stage, 'damaged'] as const)]) {
    assert.ok(new TamperedError(stage, '').aboutKeys, stage);
    const { title, why, next } = aboutKeys(fault(stage));
    assert.equal(title, text.keys[words].title);
    assert.ok(next.length >= 2, stage);
    assert.equal(explain(fault(stage)), `${title}. ${why}`);
  }
});

test('a code or a status means what it means where it came up, and else what it means anywhere', () => {
  const wrong = { code: 'wrong-password', message: 'x' };
  assert.match(explain(wrong), /does not open the files/);
  assert.equal(explain(wrong, { 'wrong-password': 'Here.' }), 'Here.');
  const refused = { code: 'api', message: 'x', status: 403 };
  assert.equal(explain(refused, { 403: 'There.' }), 'There.');
  assert.match(explain(refused), /does not allow/);
});
