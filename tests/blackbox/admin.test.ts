import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Directory, pathOf } from '@szafa/protocol';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  listFiles,
  makeDir,
  makeFile,
  readVolume,
  register,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();

test('the system token is admin', async () => {
  assertOk(await admin(service).get(pathOf('me')), { username: 'admin' });
});

test('admin has files, directories and a quota like anyone', async () => {
  const root = admin(service);
  const dirId = await makeDir(root);
  const { fileId, file } = await upload(root, makeFile([10, 20], { dir_id: dirId }));
  const record = (await listFiles(root)).find((found) => found.file_id === fileId);
  assert.equal(record?.user_id, 'admin');
  assert.equal(record?.dir_id, dirId);
  await assertReadable(root, fileId, file);
  await checkInvariants(service, service.systemToken);
});

test("admin sees nothing of a user's", async () => {
  const [root, user] = [admin(service), await register(service)];
  const dirId = await makeDir(user);
  const { fileId, file } = await upload(user, makeFile([10], { dir_id: dirId }));
  assert.ok((await listFiles(root)).every((found) => found.file_id !== fileId));
  const dirs = (await root.get(pathOf('listDirs'))).json['dirs'] as Directory[];
  assert.ok(dirs.every((dir) => dir.owner === 'admin'));
  assertDetail(await readVolume(root, fileId, 1), 403);
  assertDetail(await root.delete(pathOf('deleteFile', { file_id: fileId })), 403);
  assertDetail(await root.put(pathOf('moveFile', { file_id: fileId }), {}), 403);
  assertDetail(await root.post(pathOf('cloneFile', { file_id: fileId }), {}), 403);
  assertError(await root.delete(pathOf('deleteDir', { dir_id: dirId })), 404);
  assertError(await root.post(pathOf('init'), makeFile([1], { dir_id: dirId }).init), 403);
  await assertReadable(user, fileId, file);
});

test("a user sees nothing of admin's", async () => {
  const [root, user] = [admin(service), await register(service)];
  const dirId = await makeDir(root);
  const { fileId, file } = await upload(root);
  assertDetail(await readVolume(user, fileId, 1), 403);
  assertDetail(await user.delete(pathOf('deleteFile', { file_id: fileId })), 403);
  assertDetail(await user.put(pathOf('moveFile', { file_id: fileId }), {}), 403);
  assertDetail(await user.post(pathOf('cloneFile', { file_id: fileId }), {}), 403);
  assertError(await user.delete(pathOf('deleteDir', { dir_id: dirId })), 404);
  assertOk(await user.get(pathOf('listFiles')), { files: [] });
  await assertReadable(root, fileId, file);
});
