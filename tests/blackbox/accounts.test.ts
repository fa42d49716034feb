import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
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
const post = (path: string, json: unknown, headers?: Record<string, string>): Promise<Answer> =>
  service.call({ method: 'POST', path, json, ...(headers ? { headers } : {}) });
const signUp = (json: unknown) => post(pathOf('register'), json);
const logIn = (json: unknown, headers?: Record<string, string>) => post(pathOf('login'), json, headers);
const me = (token: string) => service.call({ path: pathOf('me'), token });

test('register answers the username and a token that works', async () => {
  const username = freshName();
  const answer = await signUp({ username, password: 'secret-word' });
  assertOk(answer);
  assert.deepEqual(Object.keys(answer.json).sort(), ['token', 'username']);
  assert.equal(answer.json['username'], username);
  assertOk(await me(String(answer.json['token'])), { username });
});

test('whitespace around a username is removed at register and at login', async () => {
  const username = freshName();
  const answer = await signUp({
    username: ` \t\u001c\u001f\u0085${username}\u3000\n `,
    password: 'secret-word',
  });
  assertOk(answer);
  assert.equal(answer.json['username'], username);
  assert.equal(
    (await logIn({ username: `\u0085 ${username}\u001d `, password: 'secret-word' })).json['username'],
    username,
  );
});

for (const [what, body] of [
  ['no username', { password: 'secret-word' }],
  ['no password', { username: 'somebody' }],
  ['an empty object', {}],
  ['null', null],
  ['an array', ['somebody', 'secret-word']],
  ['a string', 'somebody'],
  ['a number as username', { username: 12345, password: 'secret-word' }],
  ['a number as password', { username: 'somebody', password: 12345678 }],
  ['null as password', { username: 'somebody', password: null }],
  ['an object as username', { username: { $gt: '' }, password: 'secret-word' }],
  ['an array as password', { username: 'somebody', password: ['secret-word'] }],
] as const) {
  test(`register and login with ${what} are 400`, async () => {
    assertError(await signUp(body), 400);
    assertError(await logIn(body), 400);
  });
}

for (const [what, body] of [
  ['malformed JSON', '{"username": "somebody", '],
  ['no body', ''],
  ['text', 'username=somebody&password=secret-word'],
] as const) {
  test(`register and login with ${what} are 400`, async () => {
    const headers = { 'content-type': 'application/json' };
    for (const path of [pathOf('register'), pathOf('login')]) {
      assertError(await service.call({ method: 'POST', path, body, headers }), 400);
    }
  });
}

for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'nonsense', '']) {
  test(`a JSON body under the content type ${JSON.stringify(type)} is read as JSON`, async () => {
    const body = JSON.stringify({ username: freshName(), password: 'secret-word' });
    const headers: Record<string, string> = type ? { 'content-type': type } : {};
    assertOk(await service.call({ method: 'POST', path: pathOf('register'), body, headers }));
  });
}

test('register without any body is 400', async () => {
  assertError(await service.call({ method: 'POST', path: pathOf('register') }), 400);
});

const tail = () => freshName().slice(-8);
for (const [what, username, status] of [
  ['2 characters', 'ab', 400],
  ['3 characters', `${tail().slice(-3)}`, 200],
  ['32 characters', `${tail()}${'x'.repeat(24)}`, 200],
  ['33 characters', `${tail()}${'x'.repeat(25)}`, 400],
  ['70,000 characters', 'x'.repeat(70_000), 400],
  ['1,000,000 characters', 'x'.repeat(1_000_000), 400],
  ['a million blanks between two letters', `a${' '.repeat(1_000_000)}b`, 400],
  ['only blanks', '     ', 400],
  ['2 characters in blanks', '  ab  ', 400],
  ['a blank inside', 'some body', 400],
  ['a hyphen', 'some-body', 400],
  ['a dot', 'some.body', 400],
  ['a slash', 'some/body', 400],
  ['a letter beyond ASCII', 'żółwik', 400],
  ['a digit beyond ASCII', 'user١٢٣', 400],
  ['a NUL', 'some\u0000body', 400],
  ['digits and underscores only', `__${tail()}_0`, 200],
  ['upper-case letters', `ABC${tail()}`, 200],
] as const) {
  test(`a username of ${what} is ${status}`, async () => {
    const answer = await signUp({ username, password: 'secret-word' });
    if (status === 200) assertOk(answer);
    else assertError(answer, status);
  });
}

for (const [what, password, status] of [
  ['5 characters', 'abcde', 400],
  ['6 characters', 'abcdef', 200],
  ['128 characters', 'p'.repeat(128), 200],
  ['129 characters', 'p'.repeat(129), 400],
  ['70,000 characters', 'p'.repeat(70_000), 400],
  ['1,000,000 characters', 'p'.repeat(1_000_000), 400],
  ['6 characters beyond the BMP', '🔑'.repeat(6), 200],
  ['3 characters beyond the BMP', '🔑'.repeat(3), 400],
  ['128 characters beyond the BMP', '🔑'.repeat(128), 200],
  ['nothing', '', 400],
] as const) {
  test(`a password of ${what} is ${status}`, async () => {
    const username = freshName();
    const answer = await signUp({ username, password });
    if (status === 400) {
      assertError(answer, 400);
    } else {
      assertOk(answer);
      assertOk(await logIn({ username, password }));
    }
  });
}

test('blanks around a password belong to it', async () => {
  const username = freshName();
  assertOk(await signUp({ username, password: ' secret-word ' }));
  assertError(await logIn({ username, password: 'secret-word' }), 401);
  assertOk(await logIn({ username, password: ' secret-word ' }));
});

test('a taken username is 409 and its password stays', async () => {
  const user = await register(service);
  assertError(await signUp({ username: user.username, password: 'another-word' }), 409);
  assertError(await signUp({ username: ` ${user.username} `, password: 'another-word' }), 409);
  assertError(await logIn({ username: user.username, password: 'another-word' }), 401);
  assertOk(await logIn({ username: user.username, password: user.password }));
});

test('of many registrations of one name at once, one wins', async () => {
  const username = freshName();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => signUp({ username, password: 'secret-word' })),
  );
  const statuses = answers.map((answer) => answer.status).sort();
  assert.deepEqual(statuses, [200, ...Array<number>(7).fill(409)]);
});

for (const username of ['admin', 'Admin', 'ADMIN', ' aDmIn ']) {
  test(`${JSON.stringify(username)} cannot be registered, and cannot log in`, async () => {
    assertError(await signUp({ username, password: 'secret-word' }), 409);
    assertError(await logIn({ username, password: service.systemToken }), 401);
  });
}

test('login with a wrong password, an unknown user or an impossible name is 401', async () => {
  const user = await register(service);
  assertError(await logIn({ username: user.username, password: 'wrong-word' }), 401);
  assertError(await logIn({ username: user.username, password: 'x' }), 401);
  assertError(await logIn({ username: user.username, password: '' }), 401);
  assertError(await logIn({ username: freshName(), password: user.password }), 401);
  assertError(await logIn({ username: "no' or '1'='1", password: user.password }), 401);
  // The rules of length are those of register; here such a name is one that nobody has.
  for (const length of [1000, 70_000, 1_000_000]) {
    assertError(await logIn({ username: 'x'.repeat(length), password: user.password }), 401);
    assertError(await logIn({ username: user.username, password: 'x'.repeat(length) }), 401);
  }
});

test('an unknown user and a wrong password are told apart by nothing', async () => {
  const user = await register(service);
  const wrong = await logIn({ username: user.username, password: 'wrong-word' });
  const unknown = await logIn({ username: freshName(), password: 'wrong-word' });
  assert.deepEqual(wrong.json, unknown.json);
});

test('each login has a fresh token; none ends another; logout ends only its own', async () => {
  const first = await register(service);
  const credentials = { username: first.username, password: first.password };
  const second = String((await logIn(credentials)).json['token']);
  const third = String((await logIn(credentials)).json['token']);
  assert.equal(new Set([first.token, second, third]).size, 3);
  for (const token of [first.token, second, third]) assertOk(await me(token), { username: first.username });
  assertOk(await service.call({ method: 'POST', path: pathOf('logout'), token: second }), { ok: true });
  assertDetail(await me(second), 401);
  assertDetail(await service.call({ method: 'POST', path: pathOf('logout'), token: second }), 401);
  assertOk(await me(first.token));
  assertOk(await me(third));
});

test('a token tells its own user only', async () => {
  const [one, two] = [await register(service), await register(service)];
  assertOk(await one.get(pathOf('me')), { username: one.username });
  assertOk(await two.get(pathOf('me')), { username: two.username });
});

test('tokens cannot be guessed from one another', async () => {
  const tokens = [(await register(service)).token, (await register(service)).token];
  for (const token of tokens) assert.ok(token.length >= 22, 'at least 128 bits');
  assert.notEqual(tokens[0]?.slice(0, 12), tokens[1]?.slice(0, 12));
});

test('logout of admin answers the same and ends nothing', async () => {
  const root = admin(service);
  assertOk(await root.post(pathOf('logout')), { ok: true });
  assertOk(await root.get(pathOf('me')), { username: 'admin' });
});

test('logout takes an empty body of any kind', async () => {
  const user = await register(service);
  const headers = { 'content-type': 'application/json' };
  assertOk(await user.call('POST', pathOf('logout'), { body: '', headers }), { ok: true });
});

for (const [what, authorization] of [
  ['no header', undefined],
  ['an empty header', ''],
  ['Bearer alone', 'Bearer'],
  ['Bearer and a blank', 'Bearer '],
  ['an unknown token', 'Bearer nosuchtoken0123456789'],
  ['a very long token', `Bearer ${'x'.repeat(4000)}`],
  ['bytes beyond ASCII', 'Bearer \u00e9\u00ff'],
  ['Basic', `Basic ${Buffer.from('admin:admin').toString('base64')}`],
] as const) {
  test(`${what} is 401 {detail}`, async () => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    assertDetail(await service.call({ path: pathOf('me'), headers }), 401);
  });
}

test('a good token under another scheme, in lower case, cut, or in the query is 401', async () => {
  const { token } = await register(service);
  for (const authorization of [token, `Token ${token}`, `bearer ${token}`, `Bearer ${token.slice(0, -1)}`]) {
    assertDetail(await service.call({ path: pathOf('me'), headers: { authorization } }), 401);
  }
  assertDetail(await service.call({ path: `${pathOf('me')}?token=${token}&access_token=${token}` }), 401);
  assertDetail(await service.call({ path: pathOf('me'), token: service.systemToken.slice(0, -1) }), 401);
});

test('after 10 failed logins in a row 429 with Retry-After, for that username only', async () => {
  const [user, other] = [await register(service), await register(service)];
  const wrong = { username: user.username, password: 'wrong-word' };
  for (let i = 0; i < 10; i++) assertError(await logIn(wrong), 401);
  const limited = await logIn(wrong);
  assertError(limited, 429);
  assert.match(String(limited.headers['retry-after']), /^[1-9]\d*$/);
  // The right password does not help while the limit holds, nor does a forged address.
  assertError(await logIn({ username: user.username, password: user.password }), 429);
  assertError(await logIn(wrong, { 'x-forwarded-for': '192.0.2.77', forwarded: 'for=192.0.2.77' }), 429);
  assertError(await logIn({ ...wrong, username: ` ${user.username} ` }), 429);
  assertOk(await logIn({ username: other.username, password: other.password }));
  assertOk(await new User(service, user.username, '', user.token).get(pathOf('me')));
});

test('a success ends the row of failed logins, and successes never count', async () => {
  const user = await register(service);
  const right = { username: user.username, password: user.password };
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 9; i++) assertError(await logIn({ ...right, password: 'wrong-word' }), 401);
    assertOk(await logIn(right));
  }
  for (let i = 0; i < 12; i++) assertOk(await logIn(right));
});

test('failed logins of an unknown name are limited too', async () => {
  const wrong = { username: freshName(), password: 'wrong-word' };
  for (let i = 0; i < 10; i++) assertError(await logIn(wrong), 401);
  assertError(await logIn(wrong), 429);
});
