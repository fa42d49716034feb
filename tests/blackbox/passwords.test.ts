import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
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
const secret = (bytes = 32) => randomBytes(bytes).toString('base64url');
const tagOf = (answer: Answer) => String(answer.headers['etag']);
const post = (path: string, json: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  service.call({ method: 'POST', path, json, headers });
const logIn = (username: string, password: string) => post(pathOf('login'), { username, password });
const me = (user: User) => user.get(pathOf('me'));
const change = (user: User, json: unknown, headers: Record<string, string> = {}) =>
  user.call('POST', pathOf('changePassword'), { json, headers });

interface Account {
  user: User;
  keys: string;
  recovery: string;
  match: { 'if-match': string };
}

/** With a key bag and a recovery key. */
async function made(): Promise<Account> {
  const [username, password, keys, recovery] = [freshName(), secret(), secret(300), secret()];
  const answer = await post(pathOf('register'), { username, password, keys, recovery });
  assertOk(answer);
  assert.deepEqual(Object.keys(answer.json).sort(), ['token', 'username']);
  const user = new User(service, username, password, String(answer.json['token']));
  return { user, keys, recovery, match: { 'if-match': tagOf(await user.get(pathOf('readKeys'))) } };
}

async function another({ username, password }: User): Promise<User> {
  const answer = await logIn(username, password);
  assertOk(answer);
  return new User(service, username, password, String(answer.json['token']));
}

describe('a change of password', () => {
  test('sets password and keys together, and ends all other sessions', async () => {
    const { user, match } = await made();
    const other = await another(user);
    const [next, keys] = [secret(), secret(300)];
    const changed = await change(user, { current: user.password, next, keys }, match);
    assertOk(changed, { ok: true });
    assert.equal(tagOf(await user.get(pathOf('readKeys'))), tagOf(changed));
    assertOk(await user.get(pathOf('readKeys')), { keys });
    assertOk(await me(user), { username: user.username });
    assertDetail(await me(other), 401);
    assertError(await logIn(user.username, user.password), 401);
    assertOk(await logIn(user.username, next));
  });

  test('of an account without keys takes none', async () => {
    const user = await register(service);
    const other = await another(user);
    const next = secret();
    const body = { current: user.password, next };
    assertError(await change(user, { ...body, keys: secret() }), 412);
    assertError(await change(user, { ...body, recovery: secret() }), 400);
    assertError(await change(user, body, { 'if-match': '*' }), 412);
    assertOk(await me(other));
    const changed = await change(user, body);
    assertOk(changed, { ok: true });
    assert.equal(changed.headers['etag'], undefined);
    assertDetail(await me(other), 401);
    assertError(await user.get(pathOf('readKeys')), 404);
    assertOk(await logIn(user.username, next));
  });

  test('that is refused changes nothing', async () => {
    const { user, keys, match } = await made();
    const other = await another(user);
    const right = { current: user.password, next: secret(), keys: secret(300) };
    for (const [body, headers, status] of [
      [right, {}, 428],
      [right, { 'if-none-match': '*' }, 412],
      [right, { 'if-match': '"x"' }, 412],
      [right, { 'if-match': `W/${match['if-match']}` }, 412],
      [{ ...right, keys: undefined }, match, 400],
      [{ ...right, current: secret() }, match, 403],
      [{ ...right, next: 'short' }, match, 400],
      [{ ...right, next: 'x'.repeat(limits.passwordChars.max + 1) }, match, 400],
      [{ ...right, next: 7 }, match, 400],
      [{ ...right, next: undefined }, match, 400],
      [{ ...right, current: undefined }, match, 400],
      [{ ...right, current: null }, match, 400],
      [{ ...right, keys: 'A+B' }, match, 400],
      [{ ...right, keys: 'A'.repeat(limits.keysChars + 1) }, match, 400],
      [{ ...right, recovery: 'short' }, match, 400],
      [{ ...right, recovery: `${secret()}\n` }, match, 400],
      [{ ...right, recovery: 7 }, match, 400],
      [[], match, 400],
      [null, match, 400],
    ] as const) {
      assertError(await change(user, body, headers as Record<string, string>), status);
    }
    assertOk(await me(other));
    assertOk(await user.get(pathOf('readKeys')), { keys });
    assertOk(await logIn(user.username, user.password));
  });

  test('by many devices at once is won by one, and all others are told', async () => {
    for (const withKeys of [true, false]) {
      const { user, match } = withKeys
        ? await made()
        : { user: await register(service), match: {} as Record<string, string> };
      const devices = [user, ...(await Promise.all([1, 2, 3].map(() => another(user))))];
      const nexts = devices.map(() => ({ next: secret(), ...(withKeys ? { keys: secret(300) } : {}) }));
      const answers = await Promise.all(
        devices.map((device, at) => change(device, { current: user.password, ...nexts[at]! }, match)),
      );
      const won = answers.flatMap(({ status }, at) => (status === 200 ? [at] : []));
      assert.equal(won.length, 1, JSON.stringify(answers.map(({ status }) => status)));
      for (const [at, answer] of answers.entries()) {
        if (at === won[0]) continue;
        // Whoever came later has no session or another password already.
        if (answer.status === 401) assertDetail(answer, 401);
        else assertError(answer, 412, 403);
        assertDetail(await me(devices[at]!), 401);
      }
      assertOk(await me(devices[won[0]!]!));
      assertOk(await logIn(user.username, nexts[won[0]!]!.next));
    }
  });

  test('asks for the password as a login does', async () => {
    const { user, match } = await made();
    for (let i = 0; i < 10; i++) {
      const body = { current: `wrong ${i}`, next: secret(), keys: secret() };
      assertError(await change(user, body, match), 403);
    }
    const right = { current: user.password, next: secret(), keys: secret() };
    assertError(await change(user, right, match), 429);
    assertError(await logIn(user.username, user.password), 429);
  });
});

describe('a recovery', () => {
  const recover = (username: unknown, recovery: unknown) => post(pathOf('recover'), { username, recovery });
  const finish = (json: unknown, headers: Record<string, string>) =>
    post(pathOf('finishRecovery'), json, headers);

  test('gives the keys to whoever has the recovery key, and sets everything anew, once', async () => {
    const { user, keys, recovery } = await made();
    const begun = await recover(user.username, recovery);
    assertOk(begun);
    assert.equal(begun.json['keys'], keys);
    assert.equal(begun.json['expires_in'], limits.recoverySeconds);
    assert.equal(tagOf(begun), tagOf(await user.get(pathOf('readKeys'))));
    assert.equal(begun.headers['cache-control'], 'no-store');
    assertDetail(await me(new User(service, user.username, '', String(begun.json['token']))), 401);
    const next = { password: secret(), keys: secret(300), recovery: secret() };
    const body = { token: begun.json['token'], ...next, device: 'new phone' };
    const match = { 'if-match': tagOf(begun) };
    const ended = await finish(body, match);
    assertOk(ended);
    assert.deepEqual(Object.keys(ended.json).sort(), ['token', 'username']);
    assertDetail(await me(user), 401);
    const again = new User(service, user.username, next.password, String(ended.json['token']));
    assertOk(await again.get(pathOf('readKeys')), { keys: next.keys });
    const { sessions } = (await again.get(pathOf('listSessions'))).json as { sessions: { device: string }[] };
    assert.deepEqual(
      sessions.map(({ device }) => device),
      ['new phone'],
    );
    assertError(await finish(body, { 'if-match': tagOf(ended) }), 401);
    assertError(await logIn(user.username, user.password), 401);
    assertOk(await logIn(user.username, next.password));
    assertError(await recover(user.username, recovery), 401);
    assertOk(await recover(user.username, next.recovery));
  });

  test('neither begins nor ends while an operator has disabled the account', async () => {
    const { user, recovery } = await made();
    const begun = await recover(user.username, recovery);
    assertOk(begun);
    const act = (name: 'disableAccount' | 'enableAccount') =>
      admin(service).post(pathOf(name, { username: user.username }));
    assertOk(await act('disableAccount'));
    const body = { token: begun.json['token'], password: secret(), keys: secret(300), recovery: secret() };
    assertError(await recover(user.username, recovery), 403);
    assertError(await finish(body, { 'if-match': tagOf(begun) }), 403);
    assertOk(await act('enableAccount'));
    assertOk(await logIn(user.username, user.password));
    assertOk(await finish(body, { 'if-match': tagOf(begun) }));
  });

  test('the recovery key can be set with the keys and with the password, and stays otherwise', async () => {
    const user = await register(service);
    const [first, second] = [secret(), secret()];
    const put = (json: object, headers: Record<string, string>) =>
      user.call('PUT', pathOf('writeKeys'), { json: { password: user.password, ...json }, headers });
    assertError(await recover(user.username, first), 401);
    const stored = await put({ keys: secret(), recovery: first }, { 'if-none-match': '*' });
    assertOk(stored);
    assertOk(await recover(user.username, first));
    const replaced = await put({ keys: secret() }, { 'if-match': tagOf(stored) });
    assertOk(replaced);
    assertOk(await recover(user.username, first));
    const body = { current: user.password, next: secret(), keys: secret() };
    const changed = await change(user, { ...body, recovery: second }, { 'if-match': tagOf(replaced) });
    assertOk(changed);
    assertError(await recover(user.username, first), 401);
    assertOk(await recover(user.username, second));
    assertError(await put({ keys: secret(), recovery: 'x' }, { 'if-match': tagOf(changed) }), 400);
  });

  test('what is wrong, unknown or not there is answered alike', async () => {
    const { user } = await made();
    const without = await register(service);
    const texts = new Set<string>();
    for (const name of [user.username, without.username, freshName(), 'admin', '', 'x'.repeat(5000)]) {
      const answer = await recover(name, secret());
      assertError(answer, 401);
      texts.add(answer.text);
    }
    assert.equal(texts.size, 1);
    for (const [name, recovery] of [
      [7, secret()],
      [user.username, 7],
      [user.username, undefined],
      [undefined, secret()],
      [null, null],
    ]) {
      assertError(await recover(name, recovery), 400);
    }
  });

  test('is limited and counted as a login is', async () => {
    const { user, recovery } = await made();
    for (let i = 0; i < 5; i++) assertError(await recover(user.username, secret()), 401);
    for (let i = 0; i < 5; i++) assertError(await logIn(user.username, `wrong ${i}`), 401);
    const limited = await recover(user.username, recovery);
    assertError(limited, 429);
    assert.match(String(limited.headers['retry-after']), /^[1-9]\d*$/);
  });

  test('that is refused changes nothing, and its token can be used again', async () => {
    const { user, keys, recovery } = await made();
    const begun = await recover(user.username, recovery);
    const match = { 'if-match': tagOf(begun) };
    const right = { token: begun.json['token'], password: secret(), keys: secret(), recovery: secret() };
    for (const [body, headers, status] of [
      [right, {}, 428],
      [right, { 'if-match': '"x"' }, 412],
      [{ ...right, token: secret() }, match, 401],
      [{ ...right, token: '' }, match, 401],
      [{ ...right, token: user.token }, match, 401],
      [{ ...right, token: 7 }, match, 400],
      [{ ...right, password: 'short' }, match, 400],
      [{ ...right, keys: '' }, match, 400],
      [{ ...right, keys: undefined }, match, 400],
      [{ ...right, recovery: undefined }, match, 400],
      [{ ...right, recovery: 'short' }, match, 400],
      [{ ...right, device: 7 }, match, 400],
      [{ ...right, device: 'x'.repeat(101) }, match, 400],
    ] as const) {
      assertError(await finish(body, headers as Record<string, string>), status);
    }
    assertOk(await me(user));
    assertOk(await user.get(pathOf('readKeys')), { keys });
    // A later one takes its place.
    const later = await recover(user.username, recovery);
    assertError(await finish(right, match), 401);
    const body = { ...right, token: later.json['token'] };
    // Of many at once one is the first.
    const answers = await Promise.all([1, 2, 3, 4].map(() => finish(body, match)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    for (const answer of answers) if (answer.status !== 200) assertError(answer, 401, 412);
  });

  test('ends with a change of password', async () => {
    const { user, recovery, match } = await made();
    const begun = await recover(user.username, recovery);
    const changed = await change(user, { current: user.password, next: secret(), keys: secret() }, match);
    assertOk(changed);
    const body = { token: begun.json['token'], password: secret(), keys: secret(), recovery: secret() };
    assertError(await finish(body, { 'if-match': tagOf(changed) }), 401);
  });

  test('ends when the recovery key is replaced, whatever keys it says to know', async () => {
    const { user, keys, recovery, match } = await made();
    const begun = await recover(user.username, recovery);
    const stays = { password: user.password, keys };
    assertOk(await user.call('PUT', pathOf('writeKeys'), { json: stays, headers: match }));
    const next = { ...stays, recovery: secret() };
    assertOk(await user.call('PUT', pathOf('writeKeys'), { json: next, headers: match }));
    const body = { token: begun.json['token'], password: secret(), keys: secret(), recovery: secret() };
    for (const condition of [match, { 'if-match': '*' }]) assertError(await finish(body, condition), 401);
    assertOk(await me(user));
  });

  test('a recovery key without keys is refused at the registration', async () => {
    const json = { username: freshName(), password: secret(), recovery: secret() };
    assertError(await post(pathOf('register'), json), 400);
    assertError(await logIn(json.username, json.password), 401);
  });
});

test('the administrator has no password and no recovery, and nobody without a token does', async () => {
  const system = admin(service);
  const body = { current: 'x', next: secret() };
  assertError(await change(system, body), 403);
  assertDetail(await post(pathOf('changePassword'), body), 401);
});
