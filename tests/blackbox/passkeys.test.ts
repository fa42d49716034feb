/** Passkeys: as a second factor, and by themselves. */
import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { NewPasskeyRequest, Passkey, PasskeyAnswer, PasskeyRequest } from '@szafa/protocol';
import { features, limits, pathOf } from '@szafa/protocol';
import { codeOf, stepAt } from '../../server/src/domain/totp.ts';
import {
  type Answer,
  Authenticator,
  admin,
  assertDetail,
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

const ORIGIN = 'https://files.szafa.test';
const service = useService({ env: { SZ_ORIGIN: ORIGIN } });
const without = useService();

const post = (path: string, json?: object, headers = {}) =>
  service.call({ method: 'POST', path, ...(json && { json }), headers });
const logIn = ({ username, password }: User, more: object = {}) =>
  post(pathOf('login'), { username, password, ...more });
const enter = (passkey: PasskeyAnswer, more: object = {}) =>
  post(pathOf('passkeyLogin'), { passkey, ...more });

async function challenge(): Promise<PasskeyRequest> {
  const answer = await post(pathOf('passkeyChallenge'));
  assertOk(answer);
  return answer.json as unknown as PasskeyRequest;
}

/** What a login with the password asks for. */
async function asked(user: User): Promise<PasskeyRequest> {
  const answer = await logIn(user);
  assertAsked(answer, ['passkey']);
  return answer.json['passkey'] as PasskeyRequest;
}

function assertAsked(answer: Answer, factors: string[]): void {
  assertError(answer, 401);
  assert.deepEqual(Object.keys(answer.json).sort(), ['error', 'factors', 'passkey']);
  assert.deepEqual(answer.json['factors'], factors);
}

/** An account with a key bag, as the server sees one. */
async function withKeys(): Promise<User> {
  const [username, password] = [freshName(), randomBytes(12).toString('base64url')];
  const answer = await post(pathOf('register'), { username, password, keys: 'first' });
  assertOk(answer);
  return new User(service, username, password, String(answer.json['token']));
}

const requested = async (user: User) => {
  const answer = await user.post(pathOf('newPasskey'));
  assertOk(answer);
  return answer.json as unknown as NewPasskeyRequest;
};
const tagOf = async (user: User) => String((await user.get(pathOf('readKeys'))).headers['etag']);
const addWith = async (user: User, json: object, headers = {}) =>
  user.call('POST', pathOf('addPasskey'), {
    json: { password: user.password, name: 'key', ...json },
    headers,
  });
const remove = (user: User, id: string, json: object = {}, headers = {}) => {
  const body = { password: user.password, ...json };
  return user.call('DELETE', pathOf('removePasskey', { passkey_id: id }), { json: body, headers });
};

/** `alone`: with an entry in the key bag, which nobody here can read. */
async function added(user: User, { alone = false, counter = 1, name = 'key' } = {}): Promise<Authenticator> {
  const key = new Authenticator(ORIGIN, counter);
  const made = { name, ...key.make(await requested(user)) };
  const answer = alone
    ? await addWith(user, { ...made, keys: `bag${key.name.slice(0, 8)}` }, { 'if-match': await tagOf(user) })
    : await addWith(user, made);
  assertOk(answer, { ok: true, id: key.name });
  return key;
}

const passkeysOf = async (user: User) => {
  const answer = await user.get(pathOf('factors'));
  assertOk(answer);
  return answer.json['passkeys'] as Passkey[];
};

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
