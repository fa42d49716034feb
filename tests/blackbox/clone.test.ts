import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  listFiles,
  makeDir,
  makeFile,
  readVolume,
  register,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const clone = (user: User, fileId: string, body?: unknown): Promise<Answer> =>
  user.post(pathOf('cloneFile', { file_id: fileId }), body);
const remove = (user: User, fileId: string) => user.delete(pathOf('deleteFile', { file_id: fileId }));
const used = async (user: User) => (await user.get(pathOf('quota'))).json['used_bytes'];

async function cloned(user: User, fileId: string, body?: unknown): Promise<string> {
  const answer = await clone(user, fileId, body);
  const copy = String(answer.json['file_id']);
  assertOk(answer, { ok: true, file_id: copy });
  return copy;
}

test('clone makes a new record with the same content in the target directory', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'copies');
  const source = await upload(user, makeFile([500, 600, 0], { enc_params: { key: 'ż' }, file_size: 99 }));
  const copy = await cloned(user, source.fileId, { dir_id: dirId });
  assert.notEqual(copy, source.fileId);
  const files = await listFiles(user);
  const [first, second] = [copy, source.fileId].map((id) => files.find((file) => file.file_id === id));
  assert.equal(files.length, 2);
  assert.deepEqual(
    { ...first, file_id: '', created_at: '' },
    { ...second, file_id: '', created_at: '', dir_id: dirId, dir_name: 'copies' },
  );
  assert.equal(files[0]?.file_id, copy, 'the copy is the newest');
  await assertReadable(user, copy, source.file);
  const header = async (id: string) => (await readVolume(user, id, 1)).headers['x-enc-params'];
  assert.equal(await header(copy), await header(source.fileId));
});

for (const [what, options] of [
  ['null', { json: { dir_id: null } }],
  ['0', { json: { dir_id: 0 } }],
  ['a missing key', { json: {} }],
  ['no body', {}],
  ['no body under a JSON content type', { body: '', headers: { 'content-type': 'application/json' } }],
] as const) {
  test(`clone with ${what} goes to the root`, async () => {
    const user = await register(service);
    const { fileId } = await upload(user, makeFile([1], { dir_id: await makeDir(user) }));
    assertOk(await user.call('POST', pathOf('cloneFile', { file_id: fileId }), options));
    assert.equal((await listFiles(user))[0]?.dir_id, null);
  });
}

test('a copy lives on when its source is deleted, and the source when its copy is', async () => {
  const user = await register(service);
  const one = await upload(user, makeFile([5000, 100]));
  const two = await upload(user, makeFile([300]));
  const [copyOne, copyTwo] = [await cloned(user, one.fileId), await cloned(user, two.fileId)];
  assert.equal(await used(user), 2 * 5400);
  assertOk(await remove(user, one.fileId));
  assert.equal(await used(user), 2 * 5400 - 5100);
  assertOk(await remove(user, copyTwo));
  assert.equal(await used(user), 5400);
  await assertReadable(user, copyOne, one.file);
  await assertReadable(user, two.fileId, two.file);
  await checkInvariants(service, user.token);
});

test('a clone of a clone outlives both', async () => {
  const user = await register(service);
  const source = await upload(user, makeFile([700, 800]));
  const copy = await cloned(user, source.fileId);
  const copyOfCopy = await cloned(user, copy);
  assert.equal(new Set([source.fileId, copy, copyOfCopy]).size, 3);
  assertOk(await remove(user, source.fileId));
  assertOk(await remove(user, copy));
  await assertReadable(user, copyOfCopy, source.file);
  await checkInvariants(service, user.token);
});

test('a second clone of a file into the same directory is 409 while the first copy is there', async () => {
  const user = await register(service);
  const [a, b] = [await makeDir(user), await makeDir(user)];
  const { fileId } = await upload(user, makeFile([100]));
  const inA = await cloned(user, fileId, { dir_id: a });
  assertError(await clone(user, fileId, { dir_id: a }), 409);
  assert.equal(await used(user), 200);
  await cloned(user, fileId, { dir_id: b });
  await cloned(user, fileId);
  const second = await clone(user, fileId, { dir_id: 0 });
  assertError(second, 409);
  assert.equal(second.headers['x-conflict'], 'exists');
  assert.deepEqual(Object.keys(second.json), ['error']);
  assert.equal(await used(user), 400);
  assertOk(await remove(user, inA));
  await cloned(user, fileId, { dir_id: a });
  await checkInvariants(service, user.token);
});

test('of many clones at once one is 200, the others 409', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([1000, 1000]));
  const answers = await Promise.all(Array.from({ length: 10 }, () => clone(user, fileId)));
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [200, ...Array<number>(9).fill(409)]);
  assert.equal((await listFiles(user)).length, 2);
  await checkInvariants(service, user.token);
});

test('clones that race with the delete of their source are whole or not there', async () => {
  const user = await register(service);
  const dirs = await Promise.all(Array.from({ length: 4 }, () => makeDir(user)));
  const { fileId } = await upload(user, makeFile([50_000, 50_000]));
  const [gone, ...answers] = await Promise.all([
    remove(user, fileId),
    ...dirs.map((dirId) => clone(user, fileId, { dir_id: dirId })),
  ]);
  assertOk(gone);
  for (const answer of answers) assert.ok([200, 404].includes(answer.status), answer.text);
  const won = answers.filter((answer) => answer.status === 200);
  assert.equal((await listFiles(user)).length, won.length);
  await checkInvariants(service, user.token);
});

test('clone into an unknown or foreign directory is 403 {error} and copies nothing', async () => {
  const [user, other] = [await register(service), await register(service)];
  const foreign = await makeDir(other);
  const { fileId } = await upload(user);
  assertError(await clone(user, fileId, { dir_id: foreign }), 403);
  assertError(await clone(user, fileId, { dir_id: 999_999_999 }), 403);
  assert.equal((await listFiles(user)).length, 1);
});
