import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@szafa/protocol';
import { type ChallengeSubject, Challenges } from '../src/accounts/passkeys.ts';

const asked: ChallengeSubject = { purpose: 'second', accountId: 'a1' };
const clock = { now: 1_000_000 };
const challenges = new Challenges(
  async () => 'secret',
  () => clock.now,
);

test('a challenge can be answered for five minutes and no longer', async () => {
  const challenge = await challenges.make(asked);
  const end = clock.now + limits.passkeys.seconds * 1000;
  assert.equal(await challenges.check(challenge, asked), end);
  clock.now = end - 1;
  assert.equal(await challenges.check(challenge, asked), end);
  clock.now = end;
  assert.equal(await challenges.check(challenge, asked), undefined);
});

test('a challenge is valid for one purpose, one account and one secret', async () => {
  const challenge = await challenges.make(asked);
  for (const other of [{ ...asked, purpose: 'add' }, { ...asked, accountId: 'a2' }, { purpose: 'second' }]) {
    assert.equal(
      await challenges.check(challenge, other as ChallengeSubject),
      undefined,
      JSON.stringify(other),
    );
  }
  const elsewhere = new Challenges(
    async () => 'another',
    () => clock.now,
  );
  assert.equal(await elsewhere.check(challenge, asked), undefined);
});

test('only one spelling of a challenge is accepted, so that it cannot be used twice', async () => {
  const challenge = await challenges.make(asked);
  const bytes = Buffer.from(challenge, 'base64url');
  // 40 bytes leave unused bits in the last character.
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const sibling = challenge.slice(0, -1) + alphabet[alphabet.indexOf(challenge.at(-1)!) ^ 1];
  for (const spelling of [`${challenge}==`, ` ${challenge}`, `${challenge}\n`, sibling]) {
    assert.deepEqual(Buffer.from(spelling, 'base64url'), bytes);
    assert.equal(await challenges.check(spelling, asked), undefined, spelling);
  }
  for (const wrong of [undefined, null, 5, '', 'x', challenge.slice(0, -4), `${challenge}AAAA`]) {
    assert.equal(await challenges.check(wrong, asked), undefined, String(wrong));
  }
});
