import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
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
const PATH = pathOf('readKeys');
const FIRST = { 'if-none-match': '*' };
const bag = (bytes = 300) => randomBytes(bytes).toString('base64url');
const put = (user: User, json: unknown, headers: Record<string, string>) =>
  user.call('PUT', PATH, { json, headers });
const putFirst = (user: User, keys: unknown) => put(user, { password: user.password, keys }, FIRST);
const tagOf = (answer: Answer) => String(answer.headers['etag']);

/** An account that has this bag from its registration. */
async function registerWith(keys: unknown): Promise<{ user: User; answer: Answer }> {
  const [username, password] = [freshName(), 'secret-word'];
  const json = { username, password, keys };
  const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
  const token = answer.status === 200 ? String(answer.json['token']) : '';
  return { user: new User(service, username, password, token), answer };
}

test('the service says which one it is, to everybody, and always the same', async () => {
  const answer = await service.call({ path: pathOf('service') });
  assertOk(answer);
  const { service_id, version, features } = answer.json;
  assert.match(String(service_id), /^[0-9a-f]{32}$/);
  assert.match(String(version), /^\d+\.\d+\.\d+/);
  assert.ok((features as string[]).includes('keys'));
  // A wrong token does not matter where none is needed.
  for (let i = 0; i < 5; i++)
    assertOk(await service.call({ path: pathOf('service'), token: 'x' }), answer.json);
});

test('an account has no keys until it is given some, and then exactly these', async () => {
  const user = await register(service);
  assertError(await user.get(PATH), 404);
  const keys = bag();
  const stored = await putFirst(user, keys);
  assertOk(stored, { ok: true });
  const read = await user.get(PATH);
  assertOk(read, { keys });
  assert.match(tagOf(read), /^"[^"]+"$/);
  assert.equal(tagOf(read), tagOf(stored));
  assert.equal(read.headers['cache-control'], 'private, no-cache');
  assertError(await (await register(service)).get(PATH), 404);
});

test('a registration that carries keys stores them with the account', async () => {
  const keys = bag();
  const { user, answer } = await registerWith(keys);
  assertOk(answer);
  assert.deepEqual(Object.keys(answer.json).sort(), ['token', 'username']);
  assertOk(await user.get(PATH), { keys });
  assertError(await putFirst(user, bag()), 412);
  // A name that is taken keeps the keys that it has.
  const json = { username: user.username, password: 'secret-word', keys: bag() };
  assertError(await service.call({ method: 'POST', path: pathOf('register'), json }), 409);
  assertOk(await user.get(PATH), { keys });
});

test('keys are replaced only by somebody who knows which ones are there', async () => {
  const { user } = await registerWith(bag());
  const first = tagOf(await user.get(PATH));
  const { password } = user;
  const [next, other] = [bag(), bag()];
  const replaced = await put(user, { password, keys: next }, { 'if-match': `"elsewhere", ${first}` });
  assertOk(replaced, { ok: true });
  assertOk(await user.get(PATH), { keys: next });
  assert.notEqual(tagOf(replaced), first);
  for (const headers of [
    { 'if-match': first },
    { 'if-match': '"x"' },
    { 'if-match': `W/${tagOf(replaced)}` },
    { 'if-match': '' },
    FIRST,
    { ...FIRST, 'if-match': tagOf(replaced) },
  ]) {
    const refused = await put(user, { password, keys: other }, headers);
    assertError(refused, 412);
    assertOk(await user.get(PATH), { keys: next });
  }
  for (const headers of [{}, { 'if-none-match': first }, { 'if-none-match': '"*"' }]) {
    assertError(await put(user, { password, keys: other }, headers as Record<string, string>), 428);
  }
  assertOk(await user.get(PATH), { keys: next });
  assertOk(await put(user, { password, keys: other }, { 'if-match': '*' }), { ok: true });
  assertOk(await user.get(PATH), { keys: other });
  const nobody = await register(service);
  for (const match of ['*', tagOf(replaced)]) {
    assertError(await put(nobody, { password: nobody.password, keys: other }, { 'if-match': match }), 412);
  }
  assertError(await nobody.get(PATH), 404);
});

test('of many first keys at once one is stored, of many replacements one', async () => {
  const user = await register(service);
  let before: Record<string, string> = FIRST;
  for (let round = 0; round < 2; round++) {
    const bags = Array.from({ length: 8 }, () => bag());
    const answers = await Promise.all(
      bags.map((keys) => put(user, { password: user.password, keys }, before)),
    );
    const won = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []));
    assert.equal(won.length, 1);
    for (const answer of answers) if (answer.status !== 200) assertError(answer, 412);
    assertOk(await user.get(PATH), { keys: bags[won[0]!] });
    before = { 'if-match': tagOf(answers[won[0]!]!) };
  }
});

test('a token alone replaces no keys: the password is needed, and limited as at a login', async () => {
  const { user } = await registerWith(bag());
  const headers = { 'if-match': tagOf(await user.get(PATH)) };
  for (let i = 0; i < 10; i++) {
    assertError(await put(user, { password: `wrong-word ${i}`, keys: bag() }, headers), 403);
  }
  const limited = await put(user, { password: user.password, keys: bag() }, headers);
  assertError(limited, 429);
  assert.match(String(limited.headers['retry-after']), /^[1-9]\d*$/);
  const login = { username: user.username, password: user.password };
  assertError(await service.call({ method: 'POST', path: pathOf('login'), json: login }), 429);
  assert.equal(tagOf(await user.get(PATH)), headers['if-match']);
});

test('without a valid token, and for the administrator, there are none', async () => {
  for (const method of ['GET', 'PUT']) {
    assertDetail(await service.call({ method, path: PATH, json: {}, headers: FIRST }), 401);
    assertDetail(await service.call({ method, path: PATH, json: {}, headers: FIRST, token: 'x' }), 401);
  }
  const system = admin(service);
  assertError(await system.get(PATH), 403);
  assertError(await put(system, { password: 'secret-word', keys: bag() }, FIRST), 403);
});

for (const [what, keys, status] of [
  ['nothing', '', 400],
  ['one character', 'A', 200],
  [`${limits.keysChars} characters`, 'A'.repeat(limits.keysChars), 200],
  ['one character more', 'A'.repeat(limits.keysChars + 1), 400],
  ['a million characters', 'A'.repeat(1_000_000), 400],
  ['padding', 'AAA=', 400],
  ['other letters', 'A+/B', 400],
  ['a line end', 'AAAA\n', 400],
  ['a NUL', 'A\u0000', 400],
  ['letters beyond ASCII', 'żółw', 400],
  ['a number', 7, 400],
  ['null', null, 400],
  ['an object', { a: 1 }, 400],
] as const) {
  test(`keys of ${what} are ${status}, at the registration and later`, async () => {
    const user = await register(service);
    const { answer } = await registerWith(keys);
    for (const one of [answer, await putFirst(user, keys)]) {
      if (status === 200) assertOk(one);
      else assertError(one, status);
    }
    if (status === 200) assertOk(await user.get(PATH), { keys });
    else assertError(await user.get(PATH), 404);
  });
}

test('a body of another kind is 400, and one that is too long 413', async () => {
  const user = await register(service);
  for (const json of [
    null,
    [],
    'x',
    {},
    { keys: bag() },
    { password: user.password },
    { password: 7, keys: bag() },
  ]) {
    assertError(await put(user, json, FIRST), 400);
  }
  assertError(await user.call('PUT', PATH, { body: '{', headers: FIRST }), 400);
  assertError(await user.call('PUT', PATH, { headers: FIRST }), 400);
  assertError(await putFirst(user, 'A'.repeat(limits.jsonBodyBytes)), 413);
  assertError(await user.get(PATH), 404);
});
