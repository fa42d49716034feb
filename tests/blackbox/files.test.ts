import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FileRecord, pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  inPieces,
  listFiles,
  makeDir,
  makeFile,
  readVolume,
  register,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const UNKNOWN = 'nosuchfile0123456789abcdef';
const remove = (user: User, fileId: string) => user.delete(pathOf('deleteFile', { file_id: fileId }));
const move = (user: User, fileId: string, body?: unknown) =>
  user.put(pathOf('moveFile', { file_id: fileId }), body);
const names = (files: FileRecord[]) => files.map((file) => file.file_name);
const used = async (user: User) => (await user.get(pathOf('quota'))).json['used_bytes'];

async function uploadNamed(user: User, count: number, dirId: number | null = null): Promise<string[]> {
  const made: string[] = [];
  for (let i = 0; i < count; i++) {
    const name = `${dirId ?? 'root'}-${i}`;
    await upload(user, makeFile([1], { file_name: name, dir_id: dirId }));
    made.unshift(name);
  }
  return made;
}

test('a new account has no files', async () => {
  assertOk(await (await register(service)).get(pathOf('listFiles')), { files: [] });
});

test("the list shows the caller's files only, newest first", async () => {
  const [user, other] = [await register(service), await register(service)];
  const made = await uploadNamed(user, 5);
  await uploadNamed(other, 1);
  assert.deepEqual(names(await listFiles(user)), made);
});

test('dir_name is the directory of now, and empty in the root', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'letters');
  await uploadNamed(user, 1);
  await uploadNamed(user, 1, dirId);
  assert.deepEqual(
    (await listFiles(user)).map((file) => [file.dir_id, file.dir_name]),
    [
      [dirId, 'letters'],
      [null, ''],
    ],
  );
});

test('the list never tells enc_params', async () => {
  const user = await register(service);
  await upload(user, makeFile([1], { enc_params: { hidden: 'parameter' } }));
  const answer = await user.get(pathOf('listFiles'));
  assert.ok(!answer.text.includes('hidden'));
});

test('pages of limit and cursor add up to the whole list', async () => {
  const user = await register(service);
  const made = await uploadNamed(user, 7);
  for (const limit of [1, 3, 7, 100]) {
    const seen: string[] = [];
    let query = `?limit=${limit}`;
    for (let page = 0; page < 10; page++) {
      const answer = await user.get(`${pathOf('listFiles')}${query}`);
      assertOk(answer);
      const files = answer.json['files'] as FileRecord[];
      assert.ok(files.length > 0 && files.length <= limit, 'no page is empty');
      seen.push(...names(files));
      const cursor = answer.json['next_cursor'];
      if (cursor === undefined) break;
      assert.equal(files.length, limit, 'only the last page is short');
      query = `?limit=${limit}&cursor=${cursor}`;
    }
    assert.deepEqual(seen, made, `limit ${limit}`);
  }
});

test('a file that comes between two pages shifts nothing', async () => {
  const user = await register(service);
  const made = await uploadNamed(user, 4);
  const first = await user.get(`${pathOf('listFiles')}?limit=2`);
  await upload(user, makeFile([1], { file_name: 'late' }));
  const rest = await listFiles(user, `?limit=10&cursor=${first.json['next_cursor']}`);
  assert.deepEqual([...names(first.json['files'] as FileRecord[]), ...names(rest)], made);
});

test('dir_id keeps to one directory, 0 to the root, and pages too', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  const inRoot = await uploadNamed(user, 3);
  const inDir = await uploadNamed(user, 3, dirId);
  assert.deepEqual(names(await listFiles(user, '?dir_id=0')), inRoot);
  assert.deepEqual(names(await listFiles(user, `?dir_id=${dirId}`)), inDir);
  assert.deepEqual(names(await listFiles(user, `?dir_id=${dirId}&limit=2`)), inDir.slice(0, 2));
});

test("dir_id of another user's directory shows nothing of it", async () => {
  const [user, other] = [await register(service), await register(service)];
  const dirId = await makeDir(other);
  await uploadNamed(other, 1, dirId);
  const answer = await user.get(`${pathOf('listFiles')}?dir_id=${dirId}`);
  assert.ok(!answer.text.includes('file_id'), answer.text);
});

for (const query of [
  'limit=0',
  'limit=-1',
  'limit=abc',
  'limit=1.5',
  'limit=',
  'limit=99999999999',
  'cursor=abc',
  'cursor=-1',
  'dir_id=abc',
  'dir_id=-1',
  'limit=1&limit=2',
]) {
  test(`the list with ${query} is 400`, async () => {
    assertError(await (await sharedUser(service)).get(`${pathOf('listFiles')}?${query}`), 400);
  });
}

test('delete answers ok and the id, removes the record and frees the quota', async () => {
  const user = await register(service);
  const [gone, kept] = [await upload(user, makeFile([700])), await upload(user, makeFile([300]))];
  assert.equal(await used(user), 1000);
  assertOk(await remove(user, gone.fileId), { ok: true, file_id: gone.fileId });
  assert.equal(await used(user), 300);
  assertError(await readVolume(user, gone.fileId, 1), 404);
  assertError(await remove(user, gone.fileId), 404);
  assertError(await move(user, gone.fileId, {}), 404);
  await checkInvariants(service, user.token);
  await assertReadable(user, kept.fileId, kept.file);
});

test('of many deletes at once one is 200, the others 404', async () => {
  const user = await register(service);
  const { fileId } = await upload(user);
  const answers = await Promise.all(Array.from({ length: 10 }, () => remove(user, fileId)));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array<number>(9).fill(404)]);
});

test('an unknown file is 404 {error} on every call', async () => {
  const user = await register(service);
  for (const id of [UNKNOWN, '0', '-1', '..%2f..', '%00', '%2e%2e', 'a'.repeat(5000), "'%20or%201=1"]) {
    assertError(await user.delete(`/api/files/${id}`), 404);
    assertError(await user.put(`/api/files/${id}/move`, {}), 404);
    assertError(await user.post(`/api/files/${id}/clone`, {}), 404);
    assertError(await user.get(`/api/files/${id}/chunk/1`), 404);
  }
});

test("another user's file is 403 {detail} on every call, and stays as it was", async () => {
  const [owner, other] = [await register(service), await register(service)];
  const { fileId, file } = await upload(owner);
  assertDetail(await remove(other, fileId), 403);
  assertDetail(await move(other, fileId, {}), 403);
  assertDetail(await move(other, fileId), 403);
  assertDetail(await other.post(pathOf('cloneFile', { file_id: fileId }), {}), 403);
  assertDetail(await readVolume(other, fileId, 1), 403);
  assert.equal((await other.call('HEAD', pathOf('readVolume', { file_id: fileId, idx: 1 }))).status, 403);
  assert.deepEqual(await listFiles(other), []);
  await assertReadable(owner, fileId, file);
  await checkInvariants(service, owner.token);
});

test('move answers ok, the id and the directory', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'letters');
  const { fileId, file } = await upload(user);
  assertOk(await move(user, fileId, { dir_id: dirId }), { ok: true, file_id: fileId, dir_id: dirId });
  const [record] = await listFiles(user);
  assert.deepEqual([record?.dir_id, record?.dir_name], [dirId, 'letters']);
  await assertReadable(user, fileId, file);
  await checkInvariants(service, user.token);
});

test('move within the same directory is 200', async () => {
  const user = await register(service);
  const { fileId } = await upload(user);
  assertOk(await move(user, fileId, { dir_id: null }), { ok: true, file_id: fileId, dir_id: null });
});

const json = { 'content-type': 'application/json' };
for (const [what, options] of [
  ['null', { json: { dir_id: null } }],
  ['0', { json: { dir_id: 0 } }],
  ['a missing key', { json: {} }],
  ['only unknown keys', { json: { directory: 5 } }],
  ['no body', {}],
  ['no body under a JSON content type', { body: '', headers: json }],
  ['an empty chunked body', { body: inPieces(new Uint8Array()), headers: json }],
] as const) {
  test(`move with ${what} goes to the root`, async () => {
    const user = await register(service);
    const { fileId } = await upload(user, makeFile([1], { dir_id: await makeDir(user) }));
    const answer = await user.call('PUT', pathOf('moveFile', { file_id: fileId }), options);
    assertOk(answer);
    assert.ok(answer.json['dir_id'] === null || answer.json['dir_id'] === 0, answer.text);
    assert.equal((await listFiles(user))[0]?.dir_id, null);
  });
}

const broken = ['{', 'null', '[]', '"x"', '5', 'dir_id=1', '{"dir_id": 1,}'];
const wrong = ['"1"', '1.5', 'true', '[]', '{}', '""', 'NaN'].map((value) => `{"dir_id": ${value}}`);
for (const body of [...broken, ...wrong]) {
  test(`move and clone with the body ${body} are 400`, async () => {
    const user = await register(service);
    const { fileId } = await upload(user);
    const path = { file_id: fileId };
    assertError(await user.call('PUT', pathOf('moveFile', path), { body, headers: json }), 400);
    assertError(await user.call('POST', pathOf('cloneFile', path), { body, headers: json }), 400);
    assert.equal((await listFiles(user)).length, 1);
  });
}

test('move to an unknown or foreign directory is 403 {error} and moves nothing', async () => {
  const [user, other] = [await register(service), await register(service)];
  const foreign = await makeDir(other);
  const mine = await makeDir(user);
  const { fileId } = await upload(user, makeFile([1], { dir_id: mine }));
  assertError(await move(user, fileId, { dir_id: foreign }), 403);
  assertError(await move(user, fileId, { dir_id: 999_999_999 }), 403);
  assertError(await move(user, fileId, { dir_id: Number.MAX_SAFE_INTEGER }), 403);
  assert.equal((await listFiles(user))[0]?.dir_id, mine);
});

test('many moves at once end in one of the directories', async () => {
  const user = await register(service);
  const dirs = [await makeDir(user), await makeDir(user), 0];
  const { fileId } = await upload(user);
  const answers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => move(user, fileId, { dir_id: dirs[at % 3] })),
  );
  for (const answer of answers) assertOk(answer);
  assert.equal((await listFiles(user)).length, 1);
  await checkInvariants(service, user.token);
});
