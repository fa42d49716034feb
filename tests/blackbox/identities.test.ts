/** The public keys of an account, and who learns whether it is there. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  freshName,
  makeFile,
  register,
  sha256,
  upload,
} from '../harness/index.ts';
import { bodyOf, IDENTITY_BYTES, identityOf, person, service } from './account-shares.ts';
import { random } from './shares.ts';

describe('shares with an account', () => {
  test('an identity comes with the keys, is told to whoever has an account, and not too often', async () => {
    const [ann, bob] = [await person(), await person()];
    assertOk(await identityOf(ann, bob.username), { username: bob.username, identity: bob.identity });
    const nobody = [await register(service), { username: freshName() }, { username: 'admin' }];
    const answers = [];
    for (const { username } of nobody) answers.push(await identityOf(ann, username));
    for (const name of ['\0', '\ud800'.toWellFormed(), 'x'.repeat(2000), '../', 'ż'])
      answers.push(await ann.get(`/api/accounts/${encodeURIComponent(name)}/identity`));
    assert.deepEqual(
      new Set(answers.map(({ status, body }) => `${status} ${body}`)),
      new Set(['404 {"error":"nothing can be shared with an account of this name"}']),
    );
    // Only with keys, and only as it looks.
    const register_ = (json: object) =>
      service.call({
        method: 'POST',
        path: pathOf('register'),
        json: { username: freshName(), password: 'password', ...json },
      });
    assertError(await register_({ identity: random(IDENTITY_BYTES) }), 400);
    for (const identity of [
      '',
      random(IDENTITY_BYTES - 1),
      random(IDENTITY_BYTES + 1),
      `${bob.identity.slice(1)}=`,
      7,
    ])
      assertError(await register_({ keys: random(50), identity }), 400);
    // Another one needs the password, and the keys that it belongs to.
    const bag = await bob.get(pathOf('readKeys'));
    const replace = (json: object) =>
      bob.call('PUT', pathOf('writeKeys'), { json, headers: { 'if-match': String(bag.headers.etag) } });
    const identity = random(IDENTITY_BYTES);
    assertError(await replace({ password: 'wrong password', keys: random(50), identity }), 403);
    assertOk(await replace({ password: bob.password, keys: random(50), identity }));
    assert.equal((await identityOf(ann, bob.username)).json['identity'], identity);
    let refused: Answer | undefined;
    for (let at = 0; at < 100 && !refused; at++) {
      const answer = await identityOf(ann, freshName());
      if (answer.status === 429) refused = answer;
    }
    assert.ok(refused, 'nobody goes through a list of names');
    assert.ok(Number(refused.headers['retry-after']) > 0);
    // Nor by sharing something with each: the same purse, for those that are there and those that are not.
    const { fileId } = await upload(ann, makeFile([10]));
    for (const name of [bob.username, freshName()]) {
      // While it is empty, that is: it fills again as time goes by.
      let answer = await ann.post(pathOf('createShare'), bodyOf([fileId], name));
      for (let at = 0; at < 100 && answer.status !== 429; at++) {
        await identityOf(ann, freshName());
        answer = await ann.post(pathOf('createShare'), bodyOf([fileId], name));
      }
      assertError(answer, 429);
    }
    // Whoever has the keys of an account learns nothing by sharing with it, and is not kept from it; others' keys are no proof.
    const shareKnowing = (name: string, text: string) => {
      const known = { username: name, letter: random(160), identity: sha256(Buffer.from(text)) };
      return ann.post(pathOf('createShare'), { ...bodyOf([fileId], name), to: known });
    };
    for (let at = 0; at < 40; at++) assertOk(await shareKnowing(bob.username, identity));
    const pretended: [string, string][] = [
      [bob.username, ann.identity],
      [freshName(), identity],
    ];
    for (const [name, text] of pretended) {
      let answer = await shareKnowing(name, text);
      for (let at = 0; at < 100 && answer.status !== 429; at++) {
        await identityOf(ann, freshName());
        answer = await shareKnowing(name, text);
      }
      assertError(answer, 429);
    }
    // Who has nothing to share learns nothing at all.
    const carol = await person();
    for (const name of [bob.username, freshName()]) {
      const answer = await carol.post(pathOf('createShare'), bodyOf(['0'.repeat(32)], name));
      assertError(answer, 404);
      assert.deepEqual(answer.json['files'], ['0'.repeat(32)]);
    }
  });
});
