/** How the passkeys of an account come and go. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';
import { features, limits, pathOf } from '@szafa/protocol';
import { codeOf, stepAt } from '../../server/src/platform/totp.ts';
import {
  Authenticator,
  admin,
  assertError,
  assertOk,
  command,
  freshName,
  register,
  Service,
  User,
  useService,
  usesPostgres,
  volumesInFolder,
} from '../harness/index.ts';
import {
  added,
  addWith,
  assertAsked,
  challenge,
  enter,
  logIn,
  ORIGIN,
  passkeysOf,
  post,
  remove,
  requested,
  service,
  tagOf,
  withKeys,
} from './passkeys.ts';

const without = useService();

describe('passkeys of an account', () => {
  test('are added with the password, for this page and account only, and each once', async () => {
    const [user, other] = [await withKeys(), await withKeys()];
    const key = new Authenticator(ORIGIN);
    const request = await requested(user);
    assert.deepEqual(request.passkeys, []);
    const made = key.make(request);
    const alone = await challenge();
    const [one, two] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
    const offCurve = new Map<number, number | Buffer>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, one],
      [-3, two],
    ]);
    const { n, e } = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' });
    const shortRsa = new Map<number, number | Buffer>([
      [1, 3],
      [3, -257],
      [-1, Buffer.from(n!, 'base64url')],
      [-2, Buffer.from(e!, 'base64url')],
    ]);
    const x5c = new Map([['x5c', [Buffer.from('no certificate')]]]);
    const cases: [string, object, number][] = [
      ['wrong password', { ...made, password: 'not this one' }, 403],
      ['no name', { ...made, name: ' \u0000' }, 400],
      ['long name', { ...made, name: 'x'.repeat(101) }, 400],
      ['another page', key.make(request, { origin: 'https://evil.test' }), 400],
      ['another host', key.make(request, { rpId: 'evil.test' }), 400],
      ['nobody there', key.make(request, { absent: true }), 400],
      ['in a page of another', key.make(request, { crossOrigin: true }), 400],
      [
        'a key without a point',
        key.make(request, {
          publicKey: new Map([
            [1, 2],
            [3, -7],
          ]),
        }),
        400,
      ],
      ['a key of no kind', key.make(request, { publicKey: new Map([[3, -7]]) }), 400],
      ['an RSA key that is soon broken', key.make(request, { publicKey: shortRsa }), 400],
      ['a key off its curve', key.make(request, { publicKey: offCurve }), 400],
      [
        'of another algorithm',
        key.make(request, {
          publicKey: new Map([
            [1, 2],
            [3, -36],
          ]),
        }),
        400,
      ],
      ['the challenge of another account', key.make(await requested(other)), 400],
      ['the challenge of a login', key.make({ ...request, challenge: alone.challenge }), 400],
      ['no challenge', key.make({ ...request, challenge: 'AAAA' }), 400],
      ['an answer', key.make(request, { type: 'webauthn.get' }), 400],
      ['with certificates', key.make(request, { format: 'packed', statement: x5c }), 400],
      ['of another format', key.make(request, { format: 'apple', statement: x5c }), 400],
      ['no CBOR', { ...made, attestation: 'AAAA' }, 400],
      ['no base64url', { ...made, attestation: 'AA+A' }, 400],
      ['too long', { ...made, attestation: 'A'.repeat(8193) }, 400],
      ['keys without If-Match', { ...made, keys: 'next' }, 428],
    ];
    for (const [what, json, status] of cases) {
      const answer = await addWith(user, json);
      assert.equal(answer.status, status, `${what}: ${answer.excerpt}`);
    }
    assertError(await addWith(user, { ...made, keys: 'next' }, { 'if-match': '"x"' }), 412);
    assert.deepEqual(await passkeysOf(user), []);
    assertOk(await user.get(pathOf('readKeys')), { keys: 'first' });
    assertOk(await addWith(user, made));
    assertError(await addWith(user, made), 409);
    // An id that another account has, with keys: all or nothing.
    const same = key.make(await requested(other));
    assertError(await addWith(other, { ...same, keys: 'next' }, { 'if-match': await tagOf(other) }), 409);
    assertOk(await other.get(pathOf('readKeys')), { keys: 'first' });
    assert.deepEqual((await requested(user)).passkeys, [key.name]);
    assertError(await remove(other, key.name), 404);
    assertError(await remove(user, key.name, { password: 'not this one' }), 403);
    assertError(await remove(user, key.name, { keys: 'next' }), 428);
    assertOk(await remove(user, key.name, { keys: 'next' }, { 'if-match': await tagOf(user) }), { ok: true });
    assertOk(await user.get(pathOf('readKeys')), { keys: 'next' });
    assertError(await remove(user, key.name), 404);
    assertOk(await logIn(user));
    // What was made for that challenge is not taken a second time, whatever became of it.
    assertError(await addWith(user, made), 400);
    assertError(await addWith(user, new Authenticator(ORIGIN).make(request)), 400);
    assert.deepEqual(await passkeysOf(user), []);
  });

  test('take codes away, beside the password, each answer once', async () => {
    const [user, other] = [await register(service), await register(service)];
    const [key, foreign] = [await added(user, { counter: 0 }), await added(other)];
    const off = (more: object = {}, password = user.password) =>
      user.call('DELETE', pathOf('removeTotp'), { json: { password, ...more } });
    assertError(await off({ code: '123456' }), 404);
    const secret = 'B'.repeat(limits.totp.secretChars);
    const on = (code: string) => user.put(pathOf('setTotp'), { password: user.password, secret, code });
    assertOk(await on(codeOf(secret, stepAt(Date.now()))));
    const answer = await off();
    assertError(answer, 403);
    assert.deepEqual(answer.json['factors'], ['totp', 'passkey']);
    const request = answer.json['passkey'] as PasskeyRequest;
    const ofOther = (await logIn(other)).json['passkey'] as PasskeyRequest;
    const good = key.answer(request);
    for (const passkey of [
      foreign.answer(ofOther),
      foreign.answer(request),
      key.answer(await challenge()),
      { ...good, signature: 'AAAA' },
    ]) {
      const refused = await off({ passkey });
      assertError(refused, 403);
      assert.deepEqual(refused.json['factors'], ['totp', 'passkey']);
    }
    const wrong = await off({ passkey: good }, 'not this one');
    assertError(wrong, 403);
    assert.equal(wrong.json['factors'], undefined);
    const both = await Promise.all([off({ passkey: good }), off({ passkey: good })]);
    assert.equal(both.filter(({ status }) => status === 200).length, 1);
    assertAsked(await logIn(user), ['passkey']);
    // Codes that are on again are others: the answer was for those.
    assertOk(await on(codeOf(secret, stepAt(Date.now()))));
    assertError(await off({ passkey: good }), 403);
    assertAsked(await logIn(user), ['totp', 'passkey']);
  });

  test('go with a recovery, and when an operator turns second factors off; each is told in the log', async () => {
    const [username, password, recovery] = [freshName(), 'first password', 'R'.repeat(43)];
    const registered = await post(pathOf('register'), { username, password, recovery, keys: 'first' });
    const user = new User(service, username, password, String(registered.json['token']));
    await added(user, { name: 'one' });
    const of = { username };
    const shown = await admin(service).get(pathOf('showAccount', of));
    assert.equal(shown.json['passkeys'], 1);
    assertOk(await admin(service).post(pathOf('endAccountFactor', of)), { ok: true, was_on: true });
    assertOk(await logIn(user));
    const key = await added(user, { name: 'two', alone: true });
    const begun = await post(pathOf('recover'), { username, recovery });
    const all = { token: begun.json['token'], password: 'a third one', keys: 'third', recovery };
    assertOk(await post(pathOf('finishRecovery'), all, { 'if-match': String(begun.headers['etag']) }));
    assertOk(await logIn(new User(service, username, all.password, '')));
    assertError(await enter(key.answer(await challenge())), 401);
    const noted = await admin(service).get(`${pathOf('audit')}?account=${username}`);
    const entries = noted.json['entries'] as { actor: string; action: string; detail: string }[];
    assert.deepEqual(entries.map(({ actor, action, detail }) => [actor, action, detail]).slice(0, 5), [
      ['account', 'recovered', ''],
      ['account', 'factor on', 'passkey: two'],
      ['account', 'keys replaced', ''],
      ['system token', 'factor off', 'passkeys: 1'],
      ['account', 'factor on', 'passkey: one'],
    ]);
  });

  // Between other pairs of stores rows travel in the same way: see tests/engines.
  test('go along with migrate, and answers that were given before count for nothing there', {
    skip: usesPostgres() || !volumesInFolder(),
  }, async () => {
    const env = { SZ_ORIGIN: ORIGIN, SZ_WORKERS: '1' };
    const [before, after] = [new Service({ env }), new Service()];
    try {
      await before.start();
      const call = (at: Service, name: 'passkeyChallenge' | 'passkeyLogin', json: object = {}) =>
        at.call({ method: 'POST', path: pathOf(name), json });
      const asks = async (at: Service) =>
        (await call(at, 'passkeyChallenge')).json as unknown as PasskeyRequest;
      const json = { username: freshName(), password: 'a long password', keys: 'first' };
      const registered = await before.call({ method: 'POST', path: pathOf('register'), json });
      const user = new User(before, json.username, json.password, String(registered.json['token']));
      const key = await added(user, { alone: true, counter: 5 });
      const [used, unused] = [key.answer(await asks(before)), key.answer(await asks(before))];
      assertOk(await call(before, 'passkeyLogin', { passkey: used }));
      const listed = await passkeysOf(user);
      await before.terminate();
      const to = join(before.home, 'moved');
      const moved = await command(before, ['migrate', '--from', before.data, '--to', to]);
      assert.equal(moved.code, 0, moved.errors);
      after.set({ env: { ...env, SZ_DATA: to } });
      await after.start();
      assert.deepEqual(await passkeysOf(new User(after, user.username, user.password, user.token)), listed);
      for (const passkey of [used, unused]) assertError(await call(after, 'passkeyLogin', { passkey }), 401);
      const entered = await call(after, 'passkeyLogin', { passkey: key.answer(await asks(after)) });
      assertOk(entered);
      assert.equal(entered.json['username'], user.username);
    } finally {
      await after.stop();
      await before.stop();
    }
  });

  test('are asked of nobody by nonsense', async () => {
    const user = await register(service);
    const good = new Authenticator(ORIGIN).answer(await challenge());
    for (const passkey of [
      null,
      {},
      [],
      'x',
      { ...good, id: '' },
      { ...good, id: 'A'.repeat(1365) },
      { ...good, signature: 1 },
    ])
      assertError(await enter(passkey as PasskeyAnswer), 400);
    for (const json of [undefined, {}, []])
      assertError(await post(pathOf('passkeyLogin'), json as object), 400);
    assertError(await logIn(user, { passkey: 'x' }), 400);
    assertError(await admin(service).post(pathOf('newPasskey')), 403);
    assertError(
      await addWith(admin(service), { ...new Authenticator(ORIGIN).make({ ...(await requested(user)) }) }),
      403,
    );
    assertError(await remove(admin(service), 'x'), 403);
    assertError(await remove(user, 'A'.repeat(2000)), 404);
  });

  test('are not offered by a server that does not know its address', async () => {
    const user = await register(without);
    assertOk(await user.get(pathOf('factors')), { totp: false, passkeys: [], passkeys_offered: false });
    const [here, there] = [
      await service.call({ path: pathOf('service') }),
      await without.call({ path: pathOf('service') }),
    ];
    assert.deepEqual(here.json['features'], [...features, 'passkeys']);
    assert.equal(here.json['origin'], ORIGIN);
    assert.deepEqual(there.json['features'], features);
    assert.equal(there.json['origin'], undefined);
    assertError(await without.call({ method: 'POST', path: pathOf('passkeyChallenge') }), 404);
    assertError(await user.post(pathOf('newPasskey')), 404);
    const passkey = new Authenticator(ORIGIN).answer(await challenge());
    assertError(await without.call({ method: 'POST', path: pathOf('passkeyLogin'), json: { passkey } }), 404);
    const made = new Authenticator(ORIGIN).make(await requested(await register(service)));
    assertError(await addWith(user, made), 404);
    assertError(await remove(user, 'AAAA'), 404);
  });
});
