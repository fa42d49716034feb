import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  putVolume,
  readVolume,
  received,
  register,
  storedOfSize,
  testInFolder,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const cancel = (user: User, transferId: string) => user.delete(pathOf('cancel', { transfer_id: transferId }));

test('complete with volumes missing is 409 incomplete with the received list, and changes nothing', async () => {
  const user = await register(service);
  const file = makeFile([10, 20, 30]);
  const transferId = await begin(user, file);
  const none = await complete(user, transferId);
  assert.equal(none.status, 409, none.text);
  assert.deepEqual(none.json, { status: 'incomplete', received: [], error: none.json['error'] });
  assert.equal(typeof none.json['error'], 'string');
  await putVolume(user, transferId, 3, file.volumes[2] as Buffer);
  await putVolume(user, transferId, 1, file.volumes[0] as Buffer);
  const some = await complete(user, transferId);
  assert.equal(some.status, 409);
  assert.deepEqual(some.json['received'], [1, 3]);
  assert.deepEqual(await listFiles(user), []);
  assertOk(await putVolume(user, transferId, 2, file.volumes[1] as Buffer));
  assertOk(await complete(user, transferId));
});

test('complete answers status done and the file_id of a record with every field', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'letters');
  const file = makeFile([10, 20], { dir_id: dirId, file_size: 777 });
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const answer = await complete(user, transferId);
  const fileId = answer.json['file_id'];
  assertOk(answer, { status: 'done', file_id: fileId });
  const [record] = await listFiles(user);
  assert.deepEqual(record, {
    file_id: fileId,
    file_name: file.init.file_name,
    size: 777,
    sha256: file.init.total_sha256,
    user_id: user.username,
    dir_id: dirId,
    dir_name: 'letters',
    chunk_count: 2,
    created_at: record?.created_at,
  });
  assert.match(String(record?.created_at), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/);
  assert.ok(Math.abs(Date.parse(String(record?.created_at)) - Date.now()) < 60_000);
  await assertReadable(user, String(fileId), file);
});

test('complete takes a body, empty or not, and looks at none', async () => {
  const user = await register(service);
  for (const body of ['', '{}', '{"dir_id": 5}']) {
    const file = makeFile([10]);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const headers = { 'content-type': 'application/json' };
    const path = pathOf('complete', { transfer_id: transferId });
    assertOk(await user.call('POST', path, { body, headers }));
  }
});

test('complete again returns the same file_id and makes no second record', async () => {
  const user = await register(service);
  const { transferId, fileId } = await upload(user);
  for (let i = 0; i < 3; i++) assertOk(await complete(user, transferId), { status: 'done', file_id: fileId });
  assert.equal((await listFiles(user)).length, 1);
});

test('20 completes at once make one record', async () => {
  const user = await register(service);
  const file = makeFile([1000, 2000, 3000]);
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const answers = await Promise.all(Array.from({ length: 20 }, () => complete(user, transferId)));
  const [first] = answers;
  for (const answer of answers) assertOk(answer, { status: 'done', file_id: first?.json['file_id'] });
  assert.equal((await listFiles(user)).length, 1);
  await checkInvariants(service, user.token);
});

test('completes that race with the last PUT never file a group with a hole', async () => {
  const user = await register(service);
  const file = makeFile([1000, 200_000]);
  const transferId = await begin(user, file);
  await putVolume(user, transferId, 1, file.volumes[0] as Buffer);
  const [put, ...answers] = await Promise.all([
    putVolume(user, transferId, 2, file.volumes[1] as Buffer),
    ...Array.from({ length: 10 }, () => complete(user, transferId)),
  ]);
  assertOk(put);
  for (const answer of answers) assert.ok([200, 409].includes(answer.status), answer.text);
  assertOk(await complete(user, transferId));
  assert.equal((await listFiles(user)).length, 1);
  await checkInvariants(service, user.token);
});

test('a done transfer is gone with its file: complete is 404 and brings nothing back', async () => {
  const user = await register(service);
  const { transferId, fileId } = await upload(user);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  assertError(await complete(user, transferId), 404);
  assertError(await user.get(pathOf('received', { transfer_id: transferId })), 404);
  assertError(await user.get(pathOf('pullStatus', { transfer_id: transferId })), 404);
  assert.deepEqual(await listFiles(user), []);
  assertError(await readVolume(user, fileId, 1), 404);
});

test('the caller of complete owns the file; it counts toward his quota alone', async () => {
  const [creator, other] = [await register(service), await register(service)];
  const dirId = await makeDir(creator, "the creator's");
  const file = makeFile([500], { dir_id: dirId });
  const transferId = await begin(creator, file);
  await putAll(creator, transferId, file);
  const answer = await complete(other, transferId);
  const fileId = String(answer.json['file_id']);
  assertOk(answer);
  const [record] = await listFiles(other);
  assert.equal(record?.user_id, other.username);
  assert.equal(record?.dir_name, '', 'a directory of another user has no name here');
  assert.deepEqual(await listFiles(creator), []);
  assert.equal((await creator.get(pathOf('quota'))).json['used_bytes'], 0);
  assert.equal((await other.get(pathOf('quota'))).json['used_bytes'], 500);
  await assertReadable(other, fileId, file);
  assertDetail(await readVolume(creator, fileId, 1), 403);
  // The creator may still ask, and learns the same id.
  assertOk(await complete(creator, transferId), { status: 'done', file_id: fileId });
  assertOk(await creator.delete(pathOf('deleteDir', { dir_id: dirId })));
  await assertReadable(other, fileId, file);
});

test('many transfers of the same bytes make files that live apart', async () => {
  const user = await register(service);
  const file = makeFile([100]);
  const [one, two] = [await upload(user, file), await upload(user, file)];
  assert.notEqual(one.fileId, two.fileId);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: one.fileId })));
  await assertReadable(user, two.fileId, file);
});

test('cancel is 200 {ok: true} for the creator, and then everything is 404', async () => {
  const user = await register(service);
  const file = makeFile([10, 20]);
  const transferId = await begin(user, file);
  await putVolume(user, transferId, 1, file.volumes[0] as Buffer);
  assertOk(await cancel(user, transferId), { ok: true });
  const path = { transfer_id: transferId };
  assertError(await user.get(pathOf('received', path)), 404);
  assertError(await user.get(pathOf('pullStatus', path)), 404);
  assertError(await putVolume(user, transferId, 1, file.volumes[0] as Buffer), 404);
  assertError(await complete(user, transferId), 404);
  assertError(await user.post(pathOf('pull', path), { base_url: 'http://127.0.0.1:1', token: 't' }), 404);
  assertError(await cancel(user, transferId), 404);
});

test('cancel by anyone else is 403 {error} and harms nothing', async () => {
  const [creator, other] = [await register(service), await register(service)];
  const file = makeFile([10]);
  const transferId = await begin(creator, file);
  await putAll(creator, transferId, file);
  assertError(await cancel(other, transferId), 403);
  assert.deepEqual(await received(creator, transferId), [1]);
  assertOk(await complete(creator, transferId));
});

test('a done transfer cannot be cancelled; its file stays', async () => {
  const user = await register(service);
  const { transferId, fileId, file } = await upload(user);
  assertError(await cancel(user, transferId), 409);
  await assertReadable(user, fileId, file);
});

testInFolder(
  'the bytes of a cancelled transfer and of a deleted file are free within ten seconds',
  async () => {
    const user = await register(service);
    const [sizeA, sizeB] = [1_234_567, 1_234_577];
    const pending = makeFile([sizeA, 1]);
    const transferId = await begin(user, pending);
    await putVolume(user, transferId, 1, pending.volumes[0] as Buffer);
    const { fileId } = await upload(user, makeFile([sizeB]));
    assert.ok((await storedOfSize(service, sizeA)) >= 1);
    assert.ok((await storedOfSize(service, sizeB)) >= 1);
    assertOk(await cancel(user, transferId));
    assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    await eventually(async () => {
      assert.equal(await storedOfSize(service, sizeA), 0, 'of the cancelled transfer');
      assert.equal(await storedOfSize(service, sizeB), 0, 'of the deleted file');
    });
  },
);
