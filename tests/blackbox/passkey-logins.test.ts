/** Logins with a passkey: as a second factor, and by itself. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import type { PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';
import { limits, pathOf } from '@szafa/protocol';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import {
  Authenticator,
  admin,
  assertDetail,
  assertError,
  assertOk,
  freshName,
  register,
  User,
} from '../harness/index.ts';
import {
  added,
  asked,
  assertAsked,
  challenge,
  enter,
  logIn,
  ORIGIN,
  passkeysOf,
  remove,
  requested,
  service,
  tagOf,
  withKeys,
} from './passkeys.ts';

describe('a passkey beside the password', () => {
  test('is asked for once it is there; a password alone opens nothing any more', async () => {
    const user = await register(service);
    assertOk(await user.get(pathOf('factors')), { totp: false, passkeys: [], passkeys_offered: true });
    const key = await added(user, { name: 'a key ring' });
    const [listed] = await passkeysOf(user);
    const { created_at, ...rest } = listed!;
    assert.deepEqual(rest, { id: key.name, name: 'a key ring', alone: false, used_at: null });
    assert.ok(Math.abs(Date.parse(created_at) - Date.now()) < 60_000);
    const request = await asked(user);
    assert.deepEqual(request.passkeys, [key.name]);
    assert.equal(request.rp_id, 'files.szafa.test');
    // Without the password nobody learns that there is one.
    const guess = new User(service, user.username, 'not the password', '');
    const told = [await logIn(guess), await logIn(new User(service, freshName(), 'x', ''))];
    assert.deepEqual(told[0]!.json, told[1]!.json);
    // A code is none of its factors.
    assertAsked(await logIn(user, { code: '123456' }), ['passkey']);
    const opened = await logIn(user, { passkey: key.answer(request, { unverified: true }), device: 'here' });
    assertOk(opened);
    assert.notEqual((await passkeysOf(user))[0]!.used_at, null);
    const sessions = (await user.get(pathOf('listSessions'))).json['sessions'] as {
      device: string;
      passkey: string | null;
    }[];
    assert.deepEqual(sessions.map(({ device, passkey }) => [device, passkey]).sort(), [
      ['', null],
      ['here', key.name],
    ]);
  });

  test('or a code, where the account has both', async () => {
    const user = await register(service);
    const key = await added(user);
    const secret = 'A'.repeat(limits.totp.secretChars);
    const [now, later] = [0, 1].map((more) => codeOf(secret, stepAt(Date.now()) + more));
    assertOk(await user.put(pathOf('setTotp'), { password: user.password, secret, code: now }));
    const both = await logIn(user);
    assertAsked(both, ['totp', 'passkey']);
    assertOk(await logIn(user, { passkey: key.answer(both.json['passkey'] as PasskeyRequest) }));
    assertOk(await logIn(user, { code: later }));
  });

  test('counts for nothing with a wrong answer: replayed, from another page, of a copy, of somebody else', async () => {
    const [user, other] = [await register(service), await register(service)];
    const [key, foreign] = [await added(user), await added(other)];
    const request = await asked(user);
    const good = key.answer(request);
    assertOk(await logIn(user, { passkey: good }));
    const ofOther = await asked(other);
    const alone = await challenge();
    const added2 = await requested(user);
    const wrong: [string, PasskeyAnswer][] = [
      ['replayed', good],
      ['the challenge of before, signed again', key.answer(request)],
      ['another page', key.answer(await asked(user), { origin: 'https://szafa.test' })],
      ['another port', key.answer(await asked(user), { origin: `${ORIGIN}:444` })],
      ['another host', key.answer(await asked(user), { rpId: 'szafa.test' })],
      ['as if it were made', key.answer(await asked(user), { type: 'webauthn.create' })],
      ['nobody there', key.answer(await asked(user), { absent: true })],
      ['in a page of another', key.answer(await asked(user), { crossOrigin: true })],
    ];
    for (const [what, passkey] of wrong) {
      const answer = await logIn(user, { passkey });
      assert.equal(answer.status, 401, what);
      assertAsked(answer, ['passkey']);
    }
    const from: [string, PasskeyAnswer][] = [
      ['of another account', foreign.answer(await asked(user))],
      ['of another account, to its own challenge', foreign.answer(ofOther)],
      ['the challenge of another account', key.answer(await asked(other))],
    ];
    // Wrong ones are counted; a right one begins anew.
    assertOk(await logIn(user, { passkey: key.answer(await asked(user)) }));
    for (const [what, passkey] of from) assert.equal((await logIn(user, { passkey })).status, 401, what);
    const changed = key.answer(await asked(user));
    const counted = Buffer.from(changed.authenticator_data, 'base64url');
    counted[counted.length - 1]! ^= 1;
    const rest: [string, PasskeyAnswer][] = [
      ['the challenge of a passkey alone', key.answer(alone)],
      ['the challenge of a new one', key.answer({ ...added2 })],
      ['one of our own', key.answer({ ...request, challenge: randomBytes(40).toString('base64url') })],
      [
        'signed by another key',
        { ...foreign.answer(await asked(user)), id: key.name, user_handle: key.handle },
      ],
      ['changed', { ...changed, authenticator_data: counted.toString('base64url') }],
      ['no JSON', { ...key.answer(await asked(user)), client_data: 'AAAA' }],
    ];
    for (const [what, passkey] of rest) assert.equal((await logIn(user, { passkey })).status, 401, what);
    assertOk(await logIn(user, { passkey: key.answer(await asked(user)) }));
  });

  test('a counter that goes back is one of a copy; one that never counts is taken', async () => {
    const user = await register(service);
    const [key, still] = [await added(user, { counter: 7 }), await added(user, { counter: 0 })];
    assertOk(await logIn(user, { passkey: key.answer(await asked(user), { counter: 20 }) }));
    for (const counter of [20, 19, 0])
      assertAsked(await logIn(user, { passkey: key.answer(await asked(user), { counter }) }), ['passkey']);
    assertOk(await logIn(user, { passkey: key.answer(await asked(user), { counter: 21 }) }));
    for (let at = 0; at < 2; at++)
      assertOk(await logIn(user, { passkey: still.answer(await asked(user), { counter: 0 }) }));
    // Of two that answer the same counter at once one is taken.
    const two = [await asked(user), await asked(user)].map((one) => key.answer(one, { counter: 30 }));
    const both = await Promise.all(two.map((passkey) => logIn(user, { passkey })));
    assert.deepEqual(both.map(({ status }) => status).sort(), [200, 401]);
    // And of one answer sent four times at once.
    const passkey = still.answer(await asked(user), { counter: 0 });
    const four = await Promise.all(Array.from({ length: 4 }, () => logIn(user, { passkey })));
    assert.deepEqual(four.map(({ status }) => status).sort(), [200, 401, 401, 401]);
  });

  test('wrong answers are counted like wrong codes', async () => {
    const user = await register(service);
    const key = await added(user);
    const good = key.answer(await asked(user));
    for (let at = 0; at < 10; at++)
      assertError(await logIn(user, { passkey: { ...good, signature: 'AAAA' } }), 401);
    assertError(await logIn(user, { passkey: good }), 429);
  });
});

describe('a passkey by itself', () => {
  test('comes in where it opens the key bag, with its holder verified; nobody has to say a name', async () => {
    const user = await withKeys();
    const key = await added(user, { alone: true });
    assert.equal((await passkeysOf(user))[0]!.alone, true);
    const request = await challenge();
    assert.deepEqual(request.passkeys, []);
    assert.equal(request.expires_in, 300);
    const opened = await enter(key.answer(request), { device: 'a phone' });
    assertOk(opened);
    assert.deepEqual(Object.keys(opened.json).sort(), ['token', 'username']);
    assert.equal(opened.json['username'], user.username);
    const session = new User(service, user.username, '', String(opened.json['token']));
    assert.match(String((await session.get(pathOf('readKeys'))).json['keys']), /^bag/);
    const refused: [string, PasskeyAnswer][] = [
      ['replayed', key.answer(request)],
      ['not verified', key.answer(await challenge(), { unverified: true })],
      ['not present', key.answer(await challenge(), { absent: true })],
      ['another page', key.answer(await challenge(), { origin: 'https://evil.test' })],
      ['in a page of another', key.answer(await challenge(), { crossOrigin: true })],
      ['a challenge beside the password', key.answer(await asked(user))],
      ['the handle of another account', key.answer(await challenge(), { userHandle: 'AAAA' })],
      ['unknown', new Authenticator(ORIGIN).answer(await challenge())],
    ];
    const told = new Set<string>();
    for (const [what, passkey] of refused) {
      const answer = await enter(passkey);
      assert.equal(answer.status, 401, what);
      assertError(answer, 401);
      told.add(JSON.stringify(answer.json));
    }
    assert.equal(told.size, 1, 'an unknown one is told like a wrong one');
    assertOk(await enter(key.answer(await challenge())));
  });

  test('not as a second factor only, nor after a rekey, nor once it is removed', async () => {
    const user = await withKeys();
    const [second, key] = [await added(user), await added(user, { alone: true })];
    assertError(await enter(second.answer(await challenge())), 401);
    const opened = await enter(key.answer(await challenge()));
    assertOk(opened);
    const other = new User(service, user.username, user.password, String(opened.json['token']));
    // The session that asks stays, though it was opened with it; others of it end.
    const third = await enter(key.answer(await challenge()));
    assertOk(await remove(other, key.name), { ok: true });
    assertOk(await other.get(pathOf('me')));
    assertDetail(await service.call({ path: pathOf('me'), token: String(third.json['token']) }), 401);
    assertOk(await user.get(pathOf('me')));
    assertError(await enter(key.answer(await challenge())), 401);
    assertAsked(await logIn(user, { passkey: key.answer(await asked(user)) }), ['passkey']);

    const again = await added(user, { alone: true });
    const json = { current: user.password, next: user.password, keys: 'fresh', passkeys: 'second' };
    const headers = { 'if-match': await tagOf(user) };
    assertOk(await user.call('POST', pathOf('changePassword'), { json, headers }));
    assertError(await enter(again.answer(await challenge())), 401);
    assertOk(await logIn(user, { passkey: again.answer(await asked(user)) }));
  });

  test('stays through a change of password', async () => {
    const user = await withKeys();
    const key = await added(user, { alone: true });
    const json = { current: user.password, next: 'another password', keys: 'next' };
    const headers = { 'if-match': await tagOf(user) };
    assertOk(await user.call('POST', pathOf('changePassword'), { json, headers }));
    assertOk(await enter(key.answer(await challenge())));
  });

  test('of an account that is disabled or gone opens nothing', async () => {
    const user = await withKeys();
    const key = await added(user, { alone: true });
    const of = { username: user.username };
    assertOk(await admin(service).post(pathOf('disableAccount', of)));
    assertError(await enter(key.answer(await challenge())), 403);
    assertOk(await admin(service).post(pathOf('enableAccount', of)));
    const late = key.answer(await challenge());
    assertOk(await user.call('DELETE', pathOf('leave'), { json: { password: user.password } }));
    assertError(await enter(late), 401);
    const again = await register(service, user.username);
    assert.deepEqual(await passkeysOf(again), []);
    assertError(await enter(key.answer(await challenge())), 401);
    assertOk(await logIn(again));
  });

  test('wrong answers of one passkey are refused after a while', async () => {
    const user = await withKeys();
    const key = await added(user, { alone: true });
    const good = key.answer(await challenge());
    for (let at = 0; at < 10; at++) assertError(await enter({ ...good, signature: 'AAAA' }), 401);
    assertError(await enter(good), 429);
  });
});
