import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Directory, pathOf, strip } from '@szafa/protocol';
import {
  assertError,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  register,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const create = (user: User, name: unknown) => user.post(pathOf('createDir'), { name });
const list = async (user: User) => (await user.get(pathOf('listDirs'))).json['dirs'] as Directory[];
const remove = (user: User, dirId: number | string) => user.delete(pathOf('deleteDir', { dir_id: dirId }));

/** An account of this file's own that never gets a directory, so that a refused name shows in its list. */
let refused: Promise<User> | undefined;
const untouched = () => {
  refused ??= register(service);
  return refused;
};

test('create answers ok, an integer id and the cleaned name', async () => {
  const user = await register(service);
  const answer = await create(user, ' \t\u0085\u001c Letters 2026\u001f\u3000\n');
  assertOk(answer, { ok: true, dir_id: answer.json['dir_id'], name: 'Letters 2026' });
  assert.ok(Number.isSafeInteger(answer.json['dir_id']));
  assert.ok(Number(answer.json['dir_id']) > 0, 'null and 0 are the root');
});

for (const [what, name, status] of [
  ['nothing', '', 400],
  ['blanks only', ' \t\n ', 400],
  ['one character', 'x', 200],
  ['64 characters', 'd'.repeat(64), 200],
  ['65 characters', 'd'.repeat(65), 400],
  ['64 characters in blanks', `  ${'d'.repeat(64)}  `, 200],
  ['64 characters beyond the BMP', '🗄'.repeat(64), 200],
  ['65 characters beyond the BMP', '🗄'.repeat(65), 400],
  ['a slash', 'a/b', 400],
  ['a backslash', 'a\\b', 400],
  ['a slash only', '/', 400],
  ['two dots', '..', 200],
  ['other letters', 'żółta szafa', 200],
  ['quotes', `'; drop table dirs; --"`, 200],
  ['a tab inside', 'a\tb', 200],
  ['other control characters inside', 'a\u0001\u001f\u007f\u0085\nb', 200],
  ['a byte order mark', '\ufeff', 200],
  ['a NUL', 'a\0b', 400],
  ['blanks of every kind', '\u001c\u001d\u001e\u001f\u0085\u00a0\u2003\u2028\u3000', 400],
  ['70,000 characters', 'd'.repeat(70_000), 400],
  ['1,000,000 characters', 'd'.repeat(1_000_000), 400],
] as const) {
  test(`a name of ${what} is ${status}`, async () => {
    const user = status === 400 ? await untouched() : await register(service);
    const answer = await create(user, name);
    if (status === 400) {
      assertError(answer, 400);
      assert.deepEqual(await list(user), []);
    } else {
      assertOk(answer);
      assert.deepEqual(
        (await list(user)).map((dir) => dir.name),
        [strip(name)],
      );
    }
  });
}

for (const [what, body] of [
  ['no name', {}],
  ['null', { name: null }],
  ['a number', { name: 5 }],
  ['a boolean', { name: true }],
  ['an array', { name: ['a'] }],
  ['an object', { name: {} }],
  ['a bare string', 'letters'],
  ['a bare null', null],
  ['a bare array', []],
] as const) {
  test(`create with ${what} is 400`, async () => {
    const user = await untouched();
    assertError(await user.post(pathOf('createDir'), body), 400);
    assert.deepEqual(await list(user), []);
  });
}

test('create with an absent or malformed body is 400', async () => {
  const user = await register(service);
  const headers = { 'content-type': 'application/json' };
  assertError(await user.call('POST', pathOf('createDir')), 400);
  assertError(await user.call('POST', pathOf('createDir'), { body: '', headers }), 400);
  assertError(await user.call('POST', pathOf('createDir'), { body: '{"name": "x"', headers }), 400);
});

test('a name is unique within one user and after cleaning; another user may have it', async () => {
  const [one, two] = [await register(service), await register(service)];
  assertOk(await create(one, 'letters'));
  assertError(await create(one, 'letters'), 409);
  assertError(await create(one, '  letters '), 409);
  assertOk(await create(two, 'letters'));
  assert.equal((await list(one)).length, 1);
});

test('of many creations of one name at once, one wins', async () => {
  const user = await register(service);
  const answers = await Promise.all(Array.from({ length: 10 }, () => create(user, 'letters')));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array<number>(9).fill(409)]);
  assert.equal((await list(user)).length, 1);
});

test('a name is free again after the directory is deleted; its id is not given anew', async () => {
  const user = await register(service);
  const first = await makeDir(user, 'letters');
  assertOk(await remove(user, first));
  const second = await makeDir(user, 'letters');
  assert.notEqual(second, first);
});

test("the list shows the caller's directories only, with every field of the record", async () => {
  const [one, two] = [await register(service), await register(service)];
  assert.deepEqual(await list(one), []);
  const dirId = await makeDir(one, 'letters');
  await makeDir(two, 'bills');
  await upload(one, makeFile([700], { dir_id: dirId }));
  await upload(one, makeFile([300], { dir_id: dirId }));
  await upload(one, makeFile([50]));
  const dirs = await list(one);
  assert.equal(dirs.length, 1);
  const { created_at: createdAt, ...rest } = dirs[0] as Directory;
  assert.deepEqual(rest, {
    dir_id: dirId,
    name: 'letters',
    owner: one.username,
    file_count: 2,
    size: 1000,
  });
  assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.ok(Math.abs(Date.parse(createdAt) - Date.now()) < 60_000);
});

test('delete answers ok and the id, once', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  assertOk(await remove(user, dirId), { ok: true, dir_id: dirId });
  assertError(await remove(user, dirId), 404);
  assert.deepEqual(await list(user), []);
});

test("another user's directory is 404 on delete and stays", async () => {
  const [one, two] = [await register(service), await register(service)];
  const dirId = await makeDir(one);
  assertError(await remove(two, dirId), 404);
  assert.equal((await list(one)).length, 1);
});

for (const dirId of [
  '0',
  '-1',
  '1.5',
  'abc',
  '1e3',
  '999999999',
  '9007199254740993',
  '99999999999999999999999',
  '%00',
  '..%2f..',
]) {
  test(`delete of directory ${dirId} is 404`, async () => {
    const user = await untouched();
    assertError(await user.delete(`/api/dirs/${dirId}`), 404);
  });
}

test('deleting a directory moves its files to the root and loses no byte', async () => {
  const user = await register(service);
  const [dirId, other] = [await makeDir(user), await makeDir(user, 'other')];
  const inside = await upload(user, makeFile([500, 100], { dir_id: dirId }));
  const elsewhere = await upload(user, makeFile([10], { dir_id: other }));
  assertOk(await remove(user, dirId));
  const files = await listFiles(user);
  const moved = files.find((file) => file.file_id === inside.fileId);
  assert.deepEqual([moved?.dir_id, moved?.dir_name], [null, '']);
  assert.equal(files.find((file) => file.file_id === elsewhere.fileId)?.dir_id, other);
  await assertReadable(user, inside.fileId, inside.file);
  await checkInvariants(service, user.token);
});

test('deleting a directory moves its pending transfers to the root', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  const file = makeFile([500, 100], { dir_id: dirId });
  const transferId = await begin(user, file);
  assertOk(await remove(user, dirId));
  await putAll(user, transferId, file);
  assertOk(await complete(user, transferId));
  assert.deepEqual(
    (await listFiles(user)).map((found) => [found.dir_id, found.dir_name]),
    [[null, '']],
  );
});
