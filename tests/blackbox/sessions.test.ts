import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ListedSession, pathOf } from '@szafa/protocol';
import {
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
const PATH = pathOf('listSessions');
const one = (id: string) => pathOf('endSession', { session_id: id });

async function logIn({ username, password }: User, device?: unknown): Promise<User> {
  const answer = await service.call({
    method: 'POST',
    path: pathOf('login'),
    json: { username, password, device },
  });
  assertOk(answer);
  return new User(service, username, password, String(answer.json['token']));
}

async function list(user: User): Promise<ListedSession[]> {
  const answer = await user.get(PATH);
  assertOk(answer);
  return answer.json['sessions'] as unknown as ListedSession[];
}

test('sessions are listed with their devices, the latest first, without their tokens', async () => {
  const user = await register(service);
  const before = Date.now();
  const phone = await logIn(user, '  telefon \u0000\u001b[31mżółw\n ');
  const listed = await list(phone);
  assert.deepEqual(
    listed.map(({ device, current }) => [device, current]),
    [
      ['telefon [31mżółw', true],
      ['', false],
    ],
  );
  for (const session of listed) {
    assert.deepEqual(Object.keys(session).sort(), [
      ...['created_at', 'current', 'device', 'dir_id', 'expires_at', 'id', 'made_by', 'passkey', 'scope'],
      'used_at',
    ]);
    assert.match(session.id, /^[0-9a-f]{32}$/);
    assert.deepEqual([session.scope, session.dir_id, session.expires_at], ['full', null, null]);
    assert.equal(new Date(session.created_at).toISOString(), session.created_at);
    assert.ok(Date.parse(session.used_at) >= Date.parse(session.created_at));
  }
  assert.ok(Date.parse(listed[0]!.created_at) >= before - 1000);
  const text = JSON.stringify(listed);
  for (const { token } of [user, phone]) assert.ok(!text.includes(token));
  assert.deepEqual(
    (await list(user)).map(({ current }) => current),
    [false, true],
  );
});

test('a registration names its device too', async () => {
  const json = { username: freshName(), password: 'secret-word', device: 'x'.repeat(100) };
  const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
  assertOk(answer);
  const user = new User(service, json.username, json.password, String(answer.json['token']));
  assert.deepEqual(
    (await list(user)).map(({ device }) => device),
    [json.device],
  );
});

for (const [what, device] of [
  ['of 101 characters', '🐢'.repeat(101)],
  ['that is a number', 7],
  ['that is null', null],
  ['that is an object', {}],
] as const) {
  test(`a device ${what} is 400, and makes neither account nor session`, async () => {
    const user = await register(service);
    const call = (path: string, username: string) =>
      service.call({ method: 'POST', path, json: { username, password: user.password, device } });
    assertError(await call(pathOf('login'), user.username), 400);
    assert.equal((await list(user)).length, 1);
    const name = freshName();
    assertError(await call(pathOf('register'), name), 400);
    await register(service, name);
  });
}

test('one session is ended by its id, and only by its own account', async () => {
  const [user, other] = [await register(service), await register(service)];
  const [phone, tablet] = [await logIn(user, 'phone'), await logIn(user, 'tablet')];
  const { id } = (await list(user)).find(({ device }) => device === 'phone')!;
  assertError(await other.delete(one(id)), 404);
  assertOk(await phone.get(pathOf('me')));
  assertOk(await user.delete(one(id)), { ok: true });
  assertDetail(await phone.get(pathOf('me')), 401);
  for (const still of [user, tablet, other]) assertOk(await still.get(pathOf('me')));
  for (const unknown of [id, 'x', '0'.repeat(32), '%00', 'x'.repeat(5000)]) {
    assertError(await user.delete(`${PATH}/${unknown}`), 404);
  }
  const own = (await list(user)).find(({ current }) => current)!;
  assertOk(await user.delete(one(own.id)), { ok: true });
  assertDetail(await user.get(PATH), 401);
  assertOk(await tablet.get(pathOf('me')));
});

test('all others are ended at once', async () => {
  const [user, stranger] = [await register(service), await register(service)];
  const others = await Promise.all([1, 2, 3].map(() => logIn(user)));
  assertOk(await user.delete(PATH), { ok: true, ended: 3 });
  for (const other of others) assertDetail(await other.get(pathOf('me')), 401);
  assertOk(await stranger.get(pathOf('me')));
  assert.equal((await list(user)).length, 1);
  assertOk(await user.delete(PATH), { ok: true, ended: 0 });
  await logIn(user);
});

test('an ended token is refused wherever it is used, also for volumes', async () => {
  const user = await register(service);
  const phone = await logIn(user);
  assertOk(await user.delete(PATH));
  for (const [method, path] of [
    ['GET', PATH],
    ['DELETE', PATH],
    ['GET', pathOf('listFiles')],
    ['PUT', pathOf('writeVolume', { transfer_id: 'x', idx: 1 })],
    ['PUT', pathOf('writeFile', { transfer_id: 'x' })],
    ['POST', pathOf('writeFiles')],
    ['POST', pathOf('init')],
  ] as const) {
    assertDetail(await phone.call(method, path, method === 'PUT' ? { body: 'x' } : { json: {} }), 401);
  }
});

test('a logout ends one session and leaves no trace of it', async () => {
  const user = await register(service);
  const phone = await logIn(user, 'phone');
  assertOk(await phone.post(pathOf('logout')), { ok: true });
  assert.deepEqual(
    (await list(user)).map(({ current }) => current),
    [true],
  );
});

test('a token ends with the session that made it; after a logout it stays until it is ended itself', async () => {
  const user = await register(service);
  const makeToken = async (by: User) => {
    const answer = await by.post(pathOf('createToken'), { device: 'made', scope: 'full' });
    assertOk(answer);
    return { id: String(answer.json['id']), user: new User(service, '', '', String(answer.json['token'])) };
  };
  const stolen = await logIn(user, 'stolen');
  const first = await makeToken(stolen);
  const second = await makeToken(first.user);
  const own = await makeToken(user);
  const listed = await list(user);
  const stolenId = listed.find(({ device }) => device === 'stolen')!.id;
  const makers = new Map(listed.map(({ id, made_by }) => [id, made_by]));
  assert.equal(makers.get(first.id), stolenId);
  assert.equal(makers.get(second.id), first.id);
  assertOk(await user.delete(one(stolenId)));
  for (const ended of [stolen, first.user, second.user]) assertDetail(await ended.get(pathOf('me')), 401);
  assertOk(await own.user.get(pathOf('me')));
  const phone = await logIn(user, 'phone');
  const kept = await makeToken(phone);
  assertOk(await phone.post(pathOf('logout')));
  assertOk(await kept.user.get(pathOf('me')));
  assertOk(await user.delete(one(kept.id)));
  assertDetail(await kept.user.get(pathOf('me')), 401);
});

test('the administrator has no sessions, and nobody without a token does', async () => {
  const system = admin(service);
  assertError(await system.get(PATH), 403);
  assertError(await system.delete(PATH), 403);
  assertError(await system.delete(one('0'.repeat(32))), 403);
  for (const method of ['GET', 'DELETE']) assertDetail(await service.call({ method, path: PATH }), 401);
});
