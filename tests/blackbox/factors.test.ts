import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { codeOf, stepAt, stepOf } from '../../server/src/platform/totp.ts';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  freshName,
  register,
  User,
  useService,
} from '../harness/index.ts';

const service = useService();
const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const newSecret = () => Array.from(randomBytes(32), (byte) => LETTERS[byte & 31]).join('');
const logIn = ({ username, password }: User, code?: unknown): Promise<Answer> =>
  service.call({ method: 'POST', path: pathOf('login'), json: { username, password, code } });
const off = (user: User, code: unknown, password: unknown = user.password) =>
  user.call('DELETE', pathOf('removeTotp'), { json: { password, code } });
const factors = (totp: boolean) => ({ totp, passkeys: [], passkeys_offered: false });
const set = (user: User, json: object) => user.put(pathOf('setTotp'), json);
const wrongFor = (secret: string) =>
  ['000000', '000001', '000002', '000003', '000004', '000005', '000006'].find(
    (one) => !stepOf(secret, one, Date.now()) && !stepOf(secret, one, Date.now() + 90_000),
  )!;

interface Guard {
  secret: string;
  /** That turned it on. */
  first: string;
  /** A later one that counts now. */
  next(): string;
}

async function guarded(user: User): Promise<Guard> {
  const secret = newSecret();
  const step = stepAt(Date.now());
  const first = codeOf(secret, step);
  const next = () => codeOf(secret, Math.max(step + 1, stepAt(Date.now())));
  assertOk(await set(user, { password: user.password, secret, code: first }), { ok: true });
  return { secret, first, next };
}

function assertAsked(answer: Answer, status: number): void {
  assertError(answer, status);
  assert.deepEqual(Object.keys(answer.json).sort(), ['error', 'factors']);
  assert.deepEqual(answer.json['factors'], ['totp']);
}

describe('a second factor by code', () => {
  test('is asked for at each login, after the password, and each code counts once', async () => {
    const user = await register(service);
    assertOk(await user.get(pathOf('factors')), factors(false));
    assertOk(await logIn(user, '123456'));
    const { secret, first, next } = await guarded(user);
    assertOk(await user.get(pathOf('factors')), factors(true));
    assertAsked(await logIn(user), 401);
    assertAsked(await logIn(user, first), 401);
    assertAsked(await logIn(user, wrongFor(secret)), 401);
    // Nobody learns of it without the password.
    const guess = new User(service, user.username, 'wrong password', '');
    const nobody = new User(service, freshName(), 'wrong password', '');
    const told = [await logIn(guess), await logIn(guess, next()), await logIn(nobody)];
    for (const answer of told) {
      assertError(answer, 401);
      assert.deepEqual(answer.json, told[2]!.json);
    }
    const code = next();
    const opened = await Promise.all(Array.from({ length: 4 }, () => logIn(user, code)));
    const [session, ...more] = opened.filter(({ status }) => status === 200);
    assert.deepEqual(more, []);
    assert.deepEqual(Object.keys(session!.json).sort(), ['token', 'username']);
    for (const answer of opened) if (answer !== session) assertAsked(answer, 401);
  });

  test('is turned off with password and code', async () => {
    const user = await register(service);
    assertError(await off(user, '123456'), 404);
    const { secret, first, next } = await guarded(user);
    assertError(await set(user, { password: user.password, secret: newSecret(), code: next() }), 409);
    assertAsked(await off(user, first), 403);
    assertAsked(await off(user, wrongFor(secret)), 403);
    const refused = await off(user, next(), 'wrong password');
    assertError(refused, 403);
    assert.deepEqual(Object.keys(refused.json), ['error']);
    assertOk(await user.get(pathOf('factors')), factors(true));
    assertOk(await off(user, next()), { ok: true });
    assertOk(await user.get(pathOf('factors')), factors(false));
    assertOk(await logIn(user));
  });

  test('needs the password, a secret of the right form and a right code', async () => {
    const user = await register(service);
    const secret = newSecret();
    const right = { password: user.password, secret, code: codeOf(secret, stepAt(Date.now())) };
    for (const [body, status] of [
      [{ ...right, password: 'wrong password' }, 403],
      [{ ...right, password: undefined }, 400],
      [{ ...right, secret: secret.slice(1) }, 400],
      [{ ...right, secret: `${secret.slice(1)}1` }, 400],
      [{ ...right, secret: secret.toLowerCase() }, 400],
      [{ ...right, secret: `${secret}\n` }, 400],
      [{ ...right, secret: null }, 400],
      [{ ...right, code: '12345' }, 400],
      [{ ...right, code: '１２３４５６' }, 400],
      [{ ...right, code: 123456 }, 400],
      [{ ...right, code: undefined }, 400],
      [[], 400],
    ] as const)
      assertError(await set(user, body), status);
    assertAsked(await set(user, { ...right, code: wrongFor(secret) }), 403);
    for (const code of ['12345', '1234567', 123456, {}, '']) assertError(await logIn(user, code), 400);
    for (const code of ['12345', null]) assertError(await off(user, code), 400);
    assertOk(await user.get(pathOf('factors')), factors(false));
    assertDetail(await service.call({ path: pathOf('factors') }), 401);
    assertError(await admin(service).get(pathOf('factors')), 403);
    assertError(await set(admin(service), right), 403);
    assertError(await off(admin(service), '123456', 'x'), 403);
  });

  test('stays through a change of password, which does not ask for it; a recovery turns it off', async () => {
    const username = freshName();
    const [password, recovery] = [0, 1].map(() => randomBytes(24).toString('base64url'));
    const post = (path: string, json: object, headers = {}) =>
      service.call({ method: 'POST', path, json, headers });
    const registered = await post(pathOf('register'), { username, password, recovery, keys: 'first' });
    const user = new User(service, username, password!, String(registered.json['token']));
    await guarded(user);
    const [tag, next] = [(await user.get(pathOf('readKeys'))).headers['etag'], 'another password'];
    const headers = { 'if-match': String(tag) };
    const change = { current: password, next, keys: 'second' };
    assertOk(await user.call('POST', pathOf('changePassword'), { json: change, headers }));
    const later = new User(service, username, next, user.token);
    assertAsked(await logIn(later), 401);
    const begun = await post(pathOf('recover'), { username, recovery });
    assertOk(begun);
    const all = { token: begun.json['token'], password: 'a third one', keys: 'third', recovery };
    assertOk(await post(pathOf('finishRecovery'), all, { 'if-match': String(begun.headers['etag']) }));
    assertOk(await logIn(new User(service, username, all.password, '')));
  });

  test('is turned off by the operator for whoever has lost the device', async () => {
    const user = await register(service);
    const of = { username: user.username };
    const shown = async () => (await admin(service).get(pathOf('showAccount', of))).json['totp'];
    assert.equal(await shown(), false);
    await guarded(user);
    assert.equal(await shown(), true);
    const path = pathOf('endAccountFactor', of);
    assertError(await user.post(path), 403);
    assertAsked(await logIn(user), 401);
    assertOk(await admin(service).post(path), { ok: true, was_on: true });
    assertOk(await logIn(user));
    assertOk(await admin(service).post(path), { ok: true, was_on: false });
    assertError(await admin(service).post(pathOf('endAccountFactor', { username: freshName() })), 404);
    const noted = await admin(service).get(`${pathOf('audit')}?account=${user.username}`);
    const entries = noted.json['entries'] as { actor: string; action: string; detail: string }[];
    assert.deepEqual(entries.map(({ actor, action, detail }) => [actor, action, detail]).slice(0, 2), [
      ['system token', 'factor off', 'totp'],
      ['account', 'factor on', 'totp'],
    ]);
  });

  test('of an account does not keep it from leaving with the password alone', async () => {
    const user = await register(service);
    await guarded(user);
    const json = { password: user.password };
    assertOk(await user.call('DELETE', pathOf('leave'), { json }), { ok: true });
    const again = await register(service, user.username);
    assertOk(await again.get(pathOf('factors')), factors(false));
  });
});
