import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits, pathOf, type TrashedFile, toBase64 } from '@szafa/protocol';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  checkInvariants,
  complete,
  listFiles,
  makeDir,
  makeFile,
  readVolume,
  register,
  sha256,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const trash = (user: User, ...files: string[]) => user.post(pathOf('trashFiles'), { files });
const restore = (user: User, ...files: string[]) => user.post(pathOf('restoreFiles'), { files });
const empty = (user: User, json?: object) => user.call('DELETE', pathOf('emptyTrash'), json ? { json } : {});

async function inTrash(user: User, query = ''): Promise<TrashedFile[]> {
  const answer = await user.get(`${pathOf('listTrash')}${query}`);
  assertOk(answer);
  return answer.json['files'] as TrashedFile[];
}

const digest = (text: string) => sha256(Buffer.from(text));
const DAYS_30 = 30 * 86_400_000;

test('into the trash and back: nothing else sees it meanwhile, and it is as it was', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'papers');
  const { fileId, file, transferId } = await upload(user, makeFile([500, 20], { dir_id: dirId }));
  const [record] = await listFiles(user);
  const used = (await user.get(pathOf('quota'))).json;
  const began = Date.now();
  assertOk(await trash(user, fileId), { ok: true });
  assertOk(await trash(user, fileId, fileId), { ok: true });
  assert.deepEqual(await listFiles(user), []);
  const [found, ...others] = await inTrash(user);
  assert.deepEqual(others, []);
  const { trashed_at, expires_at, ...rest } = found!;
  assert.deepEqual(rest, record);
  assert.ok(Date.parse(trashed_at) >= began - 1 && Date.parse(trashed_at) <= Date.now());
  assert.equal(Date.parse(expires_at) - Date.parse(trashed_at), DAYS_30);
  assert.deepEqual((await user.get(pathOf('quota'))).json, used, 'it still counts');
  const dirs = (await user.get(pathOf('listDirs'))).json['dirs'] as { file_count: number; size: number }[];
  assert.deepEqual(
    dirs.map(({ file_count, size }) => [file_count, size]),
    [[0, 0]],
  );
  assertError(await readVolume(user, fileId, 1), 404);
  assertError(await readVolume(user, fileId, 2, { range: 'bytes=0-1' }), 404);
  const head = await user.call('HEAD', pathOf('readHeader', { file_id: fileId, idx: 1 }));
  assert.equal(head.status, 404);
  assertError(await user.put(pathOf('moveFile', { file_id: fileId }), { dir_id: null }), 404);
  assertError(await user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: null }), 404);
  const name = { file_id: fileId, file_name: 'x', enc_params: btoa('{}'), match: '0'.repeat(64) };
  assertError(await user.post(pathOf('renameFiles'), { files: [name] }), 412);
  // The answer of an upload that was lost.
  assertOk(await complete(user, transferId), { status: 'done', file_id: fileId });
  assertOk(await restore(user, fileId), { ok: true });
  assertOk(await restore(user, fileId), { ok: true });
  assert.deepEqual(await listFiles(user), [record]);
  assert.deepEqual(await inTrash(user), []);
  await assertReadable(user, fileId, file);
  await checkInvariants(service, user.token);
});

test('sealed anew in the trash: its header is read, and names change there, for those alone that are in it', async () => {
  const [user, other] = [await register(service), await sharedUser(service)];
  const dirId = await makeDir(user, 'papers');
  const { fileId } = await upload(user, makeFile([500], { dir_id: dirId, enc_params: { is: 'ours' } }));
  const { fileId: outside } = await upload(user, makeFile([500]));
  const at = (id: string) => pathOf('readTrashed', { file_id: id });
  for (const id of [fileId, 'nosuch', '%00']) assertError(await user.get(at(id)), 404);
  assertOk(await trash(user, fileId));
  assertError(await other.get(at(fileId)), 404);
  const answer = await user.get(at(fileId));
  const was = toBase64(JSON.stringify({ is: 'ours' }));
  assertOk(answer, { enc_params: was });
  const name = { file_name: 'new', enc_params: toBase64('{"is":"new"}'), match: digest(was) };
  const change = (of: User, json: object) => of.post(pathOf('renameFiles'), { in_trash: true, ...json });
  assertError(await change(other, { files: [{ file_id: fileId, ...name }] }), 412);
  assertError(await change(user, { files: [{ file_id: fileId, ...name, dir_id: null }] }), 400);
  assertError(await change(user, { files: [{ file_id: fileId, ...name }], in_trash: 'yes' }), 400);
  const head = await user.call('HEAD', pathOf('readHeader', { file_id: outside, idx: 1 }));
  const seen = { ...name, match: digest(String(head.headers['x-enc-params'])) };
  const both = await change(user, {
    files: [
      { file_id: fileId, ...name },
      { file_id: outside, ...seen },
    ],
  });
  assertError(both, 412);
  assert.deepEqual(both.json['files'], [outside], 'it is not in the trash');
  assertError(await change(user, { in_trash: false, files: [{ file_id: fileId, ...name }] }), 412);
  assertOk(await change(user, { files: [{ file_id: fileId, ...name }] }), { ok: true });
  const [found] = await inTrash(user);
  assert.deepEqual([found?.file_name, found?.dir_id], ['new', dirId]);
  assertOk(await restore(user, fileId));
  const restored = await user.call('HEAD', pathOf('readHeader', { file_id: fileId, idx: 1 }));
  assert.equal(restored.headers['x-enc-params'], name.enc_params);
  assert.equal((await listFiles(user)).find(({ file_id }) => file_id === fileId)?.dir_id, dirId);
  await checkInvariants(service, user.token);
});

test('a directory that is gone meanwhile: the file comes back to the root', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  const { fileId, file } = await upload(user, makeFile([10], { dir_id: dirId }));
  assertOk(await trash(user, fileId));
  assertOk(await user.delete(pathOf('deleteDir', { dir_id: dirId })));
  const [found] = await inTrash(user);
  assert.deepEqual([found?.dir_id, found?.dir_name], [null, '']);
  assertOk(await restore(user, fileId));
  assert.equal((await listFiles(user))[0]?.dir_id, null);
  await assertReadable(user, fileId, file);
  await checkInvariants(service, user.token);
});

test('deleted for good: one, or these', async () => {
  const user = await register(service);
  const made = await Promise.all(Array.from({ length: 5 }, () => upload(user, makeFile([10]))));
  const ids = made.map(({ fileId }) => fileId);
  assertOk(await trash(user, ...ids.slice(0, 4)));
  assertOk(await user.delete(pathOf('deleteFile', { file_id: ids[0]! })));
  assertOk(await empty(user, { files: [ids[1]!, ids[4]!, 'nosuch'] }), { ok: true, removed: 1 });
  assert.equal((await listFiles(user)).length, 1, 'what is not in the trash stays');
  assertOk(await empty(user, { files: ids }), { ok: true, removed: 2 });
  assertOk(await empty(user, { files: ids }), { ok: true, removed: 0 });
  for (const id of ids.slice(0, 4)) assertError(await restore(user, id), 404);
  for (const { transferId } of made.slice(0, 4)) assertError(await complete(user, transferId), 404);
  assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], 10);
  await checkInvariants(service, user.token);
});

test('one that is unknown, or another account’s, refuses all; and what is no list of ids', async () => {
  const [user, other] = [await register(service), await sharedUser(service)];
  const { fileId } = await upload(user, makeFile([10]));
  const { fileId: foreign } = await upload(other, makeFile([10]));
  const bad = [foreign, '0'.repeat(32), '', '\0', '\ud800', '../x', 'a'.repeat(5000)];
  for (const act of [trash, restore]) {
    const answer = await act(user, fileId, ...bad);
    assertError(answer, 404);
    assert.deepEqual(answer.json['files'], bad);
  }
  assert.equal((await listFiles(user)).length, 1);
  const lists: unknown[] = [
    ...[undefined, null, {}, 'x', [], [7], [null], [[fileId]], fileId],
    Array.from({ length: limits.filesPerBatch + 1 }, () => fileId),
  ];
  for (const files of lists) {
    for (const path of [pathOf('trashFiles'), pathOf('restoreFiles')]) {
      assertError(await user.post(path, { files }), 400);
    }
    assertError(await empty(user, { files }), 400);
  }
  // Nothing means all of it: not what is misspelt, and not a body that was lost on the way.
  for (const json of [undefined, [], {}, { file: [fileId] }]) assertError(await empty(user, json), 400);
  for (const query of [
    '?limit=0',
    '?limit=x',
    '?cursor=5',
    '?cursor=1-',
    '?cursor=-',
    '?cursor=x-y',
    '?dir_id=x',
  ]) {
    assertError(await user.get(`${pathOf('listTrash')}${query}`), 400);
  }
  assertDetail(await service.call({ path: pathOf('listTrash') }), 401);
  assertOk(await trash(user, fileId));
  assertError(await restore(other, fileId), 404);
  assertOk(await empty(other, { files: [fileId] }), { ok: true, removed: 0 });
  assertDetail(await other.delete(pathOf('deleteFile', { file_id: fileId })), 403);
  assert.equal((await inTrash(user)).length, 1);
});

test('the list of the trash comes in pages, latest first', async () => {
  const user = await register(service);
  const dirId = await makeDir(user, 'd');
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) {
    const { fileId } = await upload(user, makeFile([1], at % 2 ? { dir_id: dirId } : {}));
    ids.push(fileId);
  }
  assertOk(await trash(user, ids[0]!, ids[4]!));
  assertOk(await trash(user, ...ids));
  const whole = await inTrash(user);
  assert.deepEqual(new Set(whole.map(({ file_id }) => file_id)), new Set(ids));
  const times = whole.map(({ trashed_at }) => trashed_at);
  assert.deepEqual(times, times.toSorted().toReversed());
  const paged: TrashedFile[] = [];
  for (let cursor = ''; ; ) {
    const answer = await user.get(`${pathOf('listTrash')}?limit=2${cursor}`);
    assertOk(answer);
    const files = answer.json['files'] as TrashedFile[];
    assert.ok(files.length <= 2);
    paged.push(...files);
    if (answer.json['next_cursor'] === undefined) break;
    cursor = `&cursor=${answer.json['next_cursor']}`;
  }
  assert.deepEqual(paged, whole);
  assert.equal((await inTrash(user, `?dir_id=${dirId}`)).length, 2);
  assert.equal((await inTrash(user, '?dir_id=0&limit=9')).length, 3);
});

test('the system token has a trash of its own', async () => {
  const system = admin(service);
  const { fileId } = await upload(system, makeFile([10]));
  assertOk(await trash(system, fileId));
  assert.ok((await inTrash(system)).some(({ file_id }) => file_id === fileId));
  assertOk(await restore(system, fileId));
  assertOk(await system.delete(pathOf('deleteFile', { file_id: fileId })));
});

test('the state of changes is another one after a change, and the same without', async () => {
  const user = await register(service);
  const rev = async () => {
    const answer = await user.get(pathOf('changes'));
    assertOk(answer);
    return String(answer.json['rev']);
  };
  const seen = [await rev()];
  const { fileId } = await upload(user, makeFile([10]));
  seen.push(await rev());
  assertOk(await trash(user, fileId));
  seen.push(await rev());
  await makeDir(user);
  seen.push(await rev());
  assert.equal(new Set(seen).size, seen.length);
  await upload(await sharedUser(service), makeFile([10]));
  await listFiles(user);
  assert.equal(await rev(), seen.at(-1));
  assertOk(await admin(service).get(pathOf('changes')));
  assertDetail(await service.call({ path: pathOf('changes') }), 401);
});
