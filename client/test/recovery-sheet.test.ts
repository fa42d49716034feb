import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recoveryKeyIn as keyIn, newRecoveryKey, recoveryText } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';

test('a recovery key is found in any text, typed in any way; a wrong character anywhere is told, and not repeated', async (t) => {
  const engine = nodeEngine();
  t.after(() => engine.close());
  const key = newRecoveryKey(engine);
  const text = await recoveryText(engine, key);
  const groups = text.split('-');
  for (const typed of [
    text.toLowerCase(),
    text.replaceAll('0', 'O').replaceAll('1', 'l'),
    text.replaceAll('0', 'o').replaceAll('1', 'I'),
    text.replaceAll('-', ''),
    ` ${[...text].join(' ')}\t`,
    `${groups.slice(0, 7).join('\u2013')}\r\n${groups.slice(7).join('\u00a0')}`,
    // Words of four letters, before and behind.
    `Anna, keep this safe ${text} with your will`,
    `key from here\n\n    ${groups.slice(0, 7).join('-')}\n    ${groups.slice(7).join('-')}\n\nthat's all`,
    // Another key, mistyped, before it.
    `${text.replace(/^..../, 'AAAA')}\n${text}`,
  ]) {
    assert.deepEqual(await keyIn(engine, typed), key, typed);
  }
  for (let at = 0; at < text.length; at++) {
    if (text[at] === '-') continue;
    const wrong = `${text.slice(0, at)}${text[at] === 'Z' ? 'Y' : 'Z'}${text.slice(at + 1)}`;
    await assert.rejects(keyIn(engine, wrong), (error: { code: string; message: string }) => {
      assert.equal(error.code, 'recovery-key');
      assert.ok(!groups.some((group) => error.message.includes(group)), error.message);
      return true;
    });
  }
  for (const none of ['', 'nothing here', text.slice(1), `${text}A`, text.replace('-', 'u')]) {
    await assert.rejects(keyIn(engine, none), { code: 'recovery-key' });
  }
});
