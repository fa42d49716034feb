/** Passwords: one address does not hold up, and does not lock out, anybody else. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { fillDatabase } from '../../bench/src/cells/fill.ts';
import {
  type Answer,
  assertError,
  assertOk,
  eventually,
  freshName,
  listFiles,
  makeFile,
  newTransferId,
  putFile,
  register,
  useService,
  usually,
} from '../harness/index.ts';
import { AS_USERS_START_IT } from '../harness/main.ts';

const BEHIND_PROXY = { SZ_TRUST_PROXY: '127.0.0.0/8' };
// A flood keeps it busy only with what passwords cost users.
const service = useService({ env: BEHIND_PROXY, main: AS_USERS_START_IT });
const tight = useService({
  env: { ...BEHIND_PROXY, SZ_LOGIN_ATTEMPTS: '3', SZ_LOGIN_ADDRESS_ATTEMPTS: '5' },
});
const unnamed = useService({ env: { SZ_LOGIN_ADDRESS_ATTEMPTS: '5' } });

type Credentials = { username: string; password: string };
const post =
  (at: typeof service) =>
  (path: 'login' | 'register', from: string, json: Credentials): Promise<Answer> =>
    at.call({
      method: 'POST',
      path: pathOf(path),
      json,
      headers: { 'x-forwarded-for': from },
      timeoutMs: 120_000,
    });
const wrong = () => ({ username: freshName(), password: 'wrong-password' });

/** Many requests of one address, and how many of them are not answered yet. */
function flood(count: number, one: () => Promise<Answer>) {
  let open = count;
  const first = Promise.withResolvers<void>();
  const answers = Promise.all(
    Array.from({ length: count }, async () => {
      const answer = await one();
      open--;
      first.resolve();
      return answer;
    }),
  );
  return { answers, begun: first.promise, open: () => open };
}

test('a right login does not wait for many registrations of another address, none of which is refused', async () => {
  const { username, password } = await register(service);
  const count = usually(60, 300);
  const others = flood(count, () =>
    post(service)('register', '192.0.2.1', { username: freshName(), password: 'password-1' }),
  );
  await others.begun;
  assertOk(await post(service)('login', '198.51.100.7', { username, password }));
  assert.ok(others.open() > count / 2, `${count - others.open()} of ${count} came first`);
  for (const answer of await others.answers) assertOk(answer);
});

test('nor for many wrong logins of other names from another address', async () => {
  const { username, password } = await register(service);
  const count = usually(40, 80);
  const others = flood(count, () => post(service)('login', '192.0.2.2', wrong()));
  await others.begun;
  assertOk(await post(service)('login', '198.51.100.7', { username, password }));
  assert.ok(others.open() > count / 2, `${count - others.open()} of ${count} came first`);
  for (const answer of await others.answers) assertError(answer, 401);
});

test('a thousand files meet no limit; a page of their list is bounded, the whole list is whole', async () => {
  const user = await register(service);
  await fillDatabase(service.data, user.username, 1000);
  assertOk(await putFile(user, newTransferId(), makeFile([1])));
  const page = await user.get(`${pathOf('listFiles')}?limit=999999`);
  assertOk(page);
  assert.equal((page.json['files'] as unknown[]).length, 1000);
  const rest = await listFiles(user, `?limit=999999&cursor=${page.json['next_cursor']}`);
  assert.equal(rest.length, 1);
  assert.equal((await listFiles(user)).length, 1001);
});

test('failed logins from one address are limited over all names, and nobody else is locked out', async () => {
  const { username, password } = await register(tight);
  const login = post(tight);
  for (let at = 0; at < 5; at++) assertError(await login('login', '192.0.2.5', wrong()), 401);
  const limited = await login('login', '192.0.2.5', { username, password });
  assertError(limited, 429);
  const seconds = Number(limited.headers['retry-after']);
  assert.ok(seconds >= 1 && seconds <= 60, `Retry-After ${seconds}`);
  assertError(await login('login', '192.0.2.6', wrong()), 401);
  assertOk(await login('login', '192.0.2.6', { username, password }));
});

test('a success from the same address, with a name of the attacker, does not buy more attempts', async () => {
  const own = await register(tight);
  const login = post(tight);
  for (let at = 0; at < 5; at++) {
    assertError(await login('login', '192.0.2.15', wrong()), 401);
    if (at < 4) assertOk(await login('login', '192.0.2.15', own));
  }
  assertError(await login('login', '192.0.2.15', wrong()), 429);
});

test('a name is locked for the address that failed, never for its owner elsewhere', async () => {
  const { username, password } = await register(tight);
  const login = post(tight);
  for (let at = 0; at < 3; at++) {
    assertError(await login('login', '192.0.2.25', { username, password: 'wrong-password' }), 401);
  }
  assertError(await login('login', '192.0.2.25', { username, password }), 429);
  assertOk(await login('login', '192.0.2.26', { username, password }));
});

test('of IPv6 a /64 is one address', async () => {
  const login = post(tight);
  for (let at = 1; at <= 5; at++) assertError(await login('login', `2001:db8:1:2::${at}`, wrong()), 401);
  assertError(await login('login', '2001:db8:1:2:ffff::1', wrong()), 429);
  assertError(await login('login', '2001:db8:1:3::1', wrong()), 401);
});

test('behind a proxy that is not named, one who fails does not lock the others out; directly, it is one address', async () => {
  const { username, password } = await register(unnamed);
  const proxied = post(unnamed);
  for (let at = 0; at < 6; at++) assertError(await proxied('login', '192.0.2.1', wrong()), 401);
  assertOk(await proxied('login', '192.0.2.9', { username, password }));
  // It is a limit all the same: anyone inside can send such a header.
  for (let at = 6; at < 50; at++) assertError(await proxied('login', '192.0.2.1', wrong()), 401);
  for (const headers of [{ 'x-real-ip': '8.8.8.8' }, { host: 'files.example' }]) {
    const json = { username, password };
    assertError(await unnamed.call({ method: 'POST', path: pathOf('login'), json, headers }), 429);
  }
  const direct = () => unnamed.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
  assertError(await direct(), 429);
  await eventually(async () => assert.match(unnamed.log, /a proxy that is not in SZ_TRUST_PROXY/));
});
