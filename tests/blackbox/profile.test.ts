/** The KDF profile of an account, which anyone may ask for, and headers in lists. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import { assertError, assertOk, freshName, register, User, upload, useService } from '../harness/index.ts';

const service = useService();
const ask = (json: unknown) => service.call({ method: 'POST', path: pathOf('readProfile'), json });

/** Of suite, MAC and this text. */
const bag = (text: string) => Buffer.concat([Buffer.alloc(33), Buffer.from(text)]).toString('base64url');

async function accountWith(keys: string | undefined): Promise<string> {
  const username = freshName();
  const json = { username, password: 'secret-word', ...(keys !== undefined && { keys }) };
  assertOk(await service.call({ method: 'POST', path: pathOf('register'), json }));
  return username;
}

test('profile: the number in the key bag; 1 for unknown names, accounts without a bag, and bags of other clients', async () => {
  const numbers: [keys: string | undefined, profile: number][] = [
    [undefined, 1],
    [bag(JSON.stringify({ profile: 1 })), 1],
    [bag(JSON.stringify({ profile: 7 })), 7],
    [bag(JSON.stringify({ profile: 0 })), 0],
    [bag(JSON.stringify({ profile: 2 ** 53 })), 1],
    [bag(JSON.stringify({ profile: '7' })), 1],
    [bag('null'), 1],
    [bag('no JSON'), 1],
    ['AAAA', 1],
  ];
  for (const [keys, profile] of numbers) {
    const username = await accountWith(keys);
    assertOk(await ask({ username }), { profile });
    assertOk(await ask({ username: ` ${username} ` }), { profile });
  }
  for (const username of [freshName(), '', 'x'.repeat(10_000), 'ż', 'admin', "'; --"])
    assertOk(await ask({ username }), { profile: 1 });
  for (const json of [{}, { username: 5 }, { username: null }, []]) assertError(await ask(json), 400);
  assertError(
    await service.call({ method: 'POST', path: pathOf('readProfile'), body: Buffer.from('{') }),
    400,
  );
});

test('lists with headers have what X-Enc-Params has, in smaller pages, and not for tokens that read no file', async () => {
  const user = await register(service);
  const { fileId: first } = await upload(user);
  const { fileId: second } = await upload(user);
  assertOk(await user.post(pathOf('trashFiles'), { files: [second] }));
  const read = async (path: string) => (await user.get(path)).json as { files: Record<string, string>[] };
  for (const [path, id] of [
    ['/api/files', first],
    ['/api/trash', second],
  ] as const) {
    const [plain] = (await read(path)).files;
    assert.ok(!('enc_params' in plain!));
    const [shown] = (await read(`${path}?headers=1`)).files;
    const { enc_params, ...rest } = shown!;
    assert.deepEqual(rest, plain);
    const header =
      path === '/api/files'
        ? (await user.get(`/api/files/${id}/chunk/1`)).headers['x-enc-params']
        : ((await user.get(`/api/trash/${id}`)).json as { enc_params: string }).enc_params;
    assert.equal(enc_params, header);
    assert.equal(((await user.get(`${path}?headers=1&limit=1`)).json as { files: object[] }).files.length, 1);
    assertError(await user.get(`${path}?headers=2`), 400);
    for (const [scope, status] of [
      ['read', 200],
      ['append', 403],
    ] as const) {
      const made = await user.post('/api/auth/tokens', { device: scope, scope });
      const { token } = made.json as { token: string };
      const other = new User(service, user.username, user.password, token);
      assert.equal((await other.get(`${path}?headers=1`)).status, status);
      assert.equal((await other.get(path)).status, 200);
    }
  }
  assert.ok(limits.headersPage * limits.encParamsBase64Bytes < 4 * 2 ** 20);
});
