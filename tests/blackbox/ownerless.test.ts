import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Directory, pathOf } from '@szafa/protocol';
import { readConfig } from '../../server/src/config.ts';
import { repairUsage } from '../../server/src/files/quota-recount.ts';
import { openDatabase } from '../../server/src/stores.ts';
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
  storeEnvironment,
  type Uploaded,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const root = admin(service);

/** As an old one is: no request makes a file that has no owner. */
async function uploadOwnerless(): Promise<Uploaded> {
  const made = await upload(root, makeFile([300, 40]));
  const sql = await openDatabase(readConfig({ SZ_DATA: service.data, ...storeEnvironment(service.id) }));
  try {
    await sql.execute("UPDATE files SET owner = '' WHERE file_id = ?", made.fileId);
    for (const owner of ['admin', '']) await repairUsage(sql, owner);
  } finally {
    await sql.close();
  }
  return made;
}

const recordOf = async (fileId: string) => (await listFiles(root)).find((file) => file.file_id === fileId);
const used = async () => Number((await root.get(pathOf('quota'))).json['used_bytes']);

test('a file without an owner is the administrator to list, read, move, clone and delete', async () => {
  const before = await used();
  const { fileId, file } = await uploadOwnerless();
  const record = await recordOf(fileId);
  assert.deepEqual([record?.user_id, record?.dir_id, record?.dir_name], [null, null, '']);
  await assertReadable(root, fileId, file);
  assert.equal(await used(), before + 340);

  const dirId = await makeDir(root, `of admin ${fileId}`);
  assertOk(await root.put(pathOf('moveFile', { file_id: fileId }), { dir_id: dirId }), {
    ok: true,
    file_id: fileId,
    dir_id: dirId,
  });
  const moved = await recordOf(fileId);
  assert.deepEqual([moved?.user_id, moved?.dir_id, moved?.dir_name], [null, dirId, `of admin ${fileId}`]);
  assert.deepEqual(
    (await listFiles(root, `?dir_id=${dirId}`)).map((found) => [found.file_id, found.dir_name]),
    [[fileId, `of admin ${fileId}`]],
  );
  const dirs = (await root.get(pathOf('listDirs'))).json['dirs'] as Directory[];
  const dir = dirs.filter((found) => found.dir_id === dirId);
  assert.deepEqual(
    dir.map(({ file_count, size }) => [file_count, size]),
    [[1, 340]],
  );

  const copy = await root.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId });
  assertOk(copy);
  const copyId = String(copy.json['file_id']);
  assert.equal((await recordOf(copyId))?.user_id, 'admin', 'a copy is its maker to own');
  await assertReadable(root, copyId, file);
  await checkInvariants(service, service.systemToken);

  assertOk(await root.delete(pathOf('deleteDir', { dir_id: dirId })));
  const left = await recordOf(fileId);
  assert.deepEqual([left?.dir_id, left?.dir_name], [null, '']);
  for (const id of [fileId, copyId]) {
    assertOk(await root.delete(pathOf('deleteFile', { file_id: id })), { ok: true, file_id: id });
    assertError(await readVolume(root, id, 1), 404);
  }
  assert.equal(await used(), before);
});

test('a file without an owner is not for anybody else: 403 {detail}, and in no list', async () => {
  const user = await register(service);
  const { fileId, file } = await uploadOwnerless();
  assert.deepEqual(await listFiles(user), []);
  assertDetail(await readVolume(user, fileId, 1), 403);
  assertDetail(await user.delete(pathOf('deleteFile', { file_id: fileId })), 403);
  assertDetail(await user.put(pathOf('moveFile', { file_id: fileId }), {}), 403);
  assertDetail(await user.post(pathOf('cloneFile', { file_id: fileId }), {}), 403);
  assertOk(await user.get(pathOf('quota')));
  await assertReadable(root, fileId, file);
  assertOk(await root.delete(pathOf('deleteFile', { file_id: fileId })));
});
