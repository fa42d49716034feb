import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import { assertBytes } from '../harness/bytes.ts';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  checkInvariants,
  listFiles,
  makeDir,
  makeFile,
  RawConnection,
  register,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const PATH = pathOf('renameFiles');
const base64 = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64');
const paramsOf = async (user: User, fileId: string) => {
  const answer = await user.get(pathOf('readVolume', { file_id: fileId, idx: 1 }));
  return String(answer.headers['x-enc-params']);
};
const digest = (text: string) => createHash('sha256').update(text).digest('hex');
const matchOf = async (user: User, fileId: string) => digest(await paramsOf(user, fileId));
const post = (user: User, files: unknown) => user.post(PATH, { files });
const nameOf = async (user: User, fileId: string) =>
  (await listFiles(user)).find(({ file_id }) => file_id === fileId)?.file_name;

async function renamed(user: User, fileId: string, over: object = {}) {
  const match = await matchOf(user, fileId);
  return { file_id: fileId, file_name: 'new', enc_params: base64({ new: 1 }), match, ...over };
}

test('names and enc_params change together, and exactly to what was sent', async () => {
  const user = await register(service);
  const made = [await upload(user, makeFile([10])), await upload(user, makeFile([20, 5]))];
  const ids = made.map(({ fileId }) => fileId);
  const odd = '{ "n": 1.50, "n": 12345678901234567890, "t": "\\u00e9/é" }';
  const files = [
    await renamed(user, ids[0]!, { file_name: ' a/b\\c ', enc_params: base64(odd) }),
    await renamed(user, ids[1]!),
  ];
  files[1]!.match = files[1]!.match.toUpperCase();
  assertOk(await post(user, files), { ok: true });
  assert.equal(await nameOf(user, ids[0]!), 'abc');
  assert.equal(await nameOf(user, ids[1]!), 'new');
  assert.equal(await paramsOf(user, ids[0]!), base64(odd));
  for (const { fileId, file } of made) {
    const volume = await user.get(pathOf('readVolume', { file_id: fileId, idx: 1 }));
    assertBytes(volume.body, file.volumes[0]!);
  }
  // Said again it is not what was expected any more.
  const again = await post(user, files);
  assertError(again, 412);
  assert.deepEqual(again.json['files'], ids);
  await checkInvariants(service, user.token);
});

test('one that is not as it was seen, is gone, or is not the caller’s, refuses all', async () => {
  const [user, other] = [await register(service), await register(service)];
  const { fileId } = await upload(user, makeFile([10]));
  const { fileId: foreign } = await upload(other, makeFile([10]));
  const gone = await upload(user, makeFile([10]));
  const own = await renamed(user, fileId);
  const unknown = [
    await renamed(other, foreign),
    { ...own, file_id: gone.fileId, match: await matchOf(user, gone.fileId) },
    ...['0'.repeat(32), '', 'x', '\0', '\ud800', '../..', 'a'.repeat(5000)].map((file_id) => ({
      ...own,
      file_id,
    })),
  ];
  assertOk(await user.delete(pathOf('deleteFile', { file_id: gone.fileId })));
  for (const bad of [...unknown, { ...own, match: '0'.repeat(64) }]) {
    const files = bad.file_id === fileId ? [bad] : [own, bad];
    const answer = await post(user, files);
    assertError(answer, 412);
    assert.deepEqual(answer.json['files'], [bad.file_id]);
  }
  assert.notEqual(await nameOf(user, fileId), 'new');
  assert.notEqual(await nameOf(other, foreign), 'new');
  assertOk(await post(user, [own]), { ok: true });
});

test('what is no batch of names is refused, and changes nothing', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([10]));
  const own = await renamed(user, fileId);
  for (const files of [
    undefined,
    null,
    {},
    [],
    [null],
    [7],
    [{ ...own, file_id: 7 }],
    [{ ...own, match: undefined }],
    [{ ...own, match: own.match.slice(1) }],
    [{ ...own, match: `${own.match.slice(1)}g` }],
    [{ ...own, file_name: '' }],
    [{ ...own, file_name: ' /\\ ' }],
    [{ ...own, file_name: undefined }],
    [{ ...own, enc_params: { new: 1 } }],
    ...['', '{}', '%', base64('[]'), base64('null'), base64('7'), base64('{'), base64('\ufeff{}')].map(
      (enc_params) => [{ ...own, enc_params }],
    ),
    [{ ...own, enc_params: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]).toString('base64') }],
    [{ ...own, enc_params: base64({ long: 'x'.repeat(limits.encParamsBase64Bytes) }) }],
    [own, own],
    Array.from({ length: limits.filesPerBatch + 1 }, (_, at) => ({ ...own, file_id: String(at) })),
  ]) {
    assertError(await post(user, files), 400);
  }
  assert.notEqual(await nameOf(user, fileId), 'new');
  assertDetail(await service.call({ method: 'POST', path: PATH, json: { files: [own] } }), 401);
  const long = { ...own, enc_params: base64({ long: 'x'.repeat(9000) }) };
  const most = await post(
    user,
    Array.from({ length: 1000 }, (_, at) => ({ ...long, file_id: String(at) })),
  );
  assertError(most, 412);
  const connection = await RawConnection.open(service.url);
  try {
    connection.write(
      `POST ${PATH} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\n` +
        `Content-Length: ${limits.namesBodyBytes + 1}\r\n\r\n`,
    );
    const answer = await connection.until((now) => now.statuses.length > 0, 3000);
    assert.deepEqual(answer.statuses, [413]);
  } finally {
    connection.destroy();
  }
  assertOk(await post(user, [own]), { ok: true });
});

test('names take files to other directories; one that is not the caller’s refuses all', async () => {
  const [user, other] = [await register(service), await register(service)];
  const [a, b] = [await makeDir(user, 'a'), await makeDir(user, 'b')];
  const foreign = await makeDir(other);
  const ids = [
    (await upload(user, makeFile([10], { dir_id: a }))).fileId,
    (await upload(user, makeFile([20]))).fileId,
  ];
  const placeOf = async () =>
    Promise.all(ids.map(async (id) => (await listFiles(user)).find((one) => one.file_id === id)?.dir_id));
  const moved = async (first?: unknown, second?: unknown) => [
    await renamed(user, ids[0]!, { dir_id: first }),
    await renamed(user, ids[1]!, { dir_id: second }),
  ];
  for (const dir of [foreign, -1, 999_999_999]) assertError(await post(user, await moved(b, dir)), 403);
  for (const dir of ['1', 1.5, {}, true]) assertError(await post(user, await moved(b, dir)), 400);
  assert.deepEqual(await placeOf(), [a, null]);
  assertOk(await post(user, await moved(undefined, b)), { ok: true });
  assert.deepEqual(await placeOf(), [a, b]);
  assertOk(await post(user, await moved(null, 0)), { ok: true });
  assert.deepEqual(await placeOf(), [null, null]);
  assertOk(await post(user, await moved(b, a)), { ok: true });
  assert.deepEqual(await placeOf(), [b, a]);
  await checkInvariants(service, user.token);
});

test('two batches at once in two orders: each file has the names of one of them', async () => {
  const user = await register(service);
  const made = await Promise.all(Array.from({ length: 12 }, () => upload(user, makeFile([5]))));
  const batch = async (name: string, ids: string[]) =>
    Promise.all(ids.map((id) => renamed(user, id, { file_name: name, enc_params: base64({ name }) })));
  const ids = made.map(({ fileId }) => fileId);
  const [one, two] = [await batch('one', ids), await batch('two', ids.toReversed())];
  const answers = await Promise.all([post(user, one), post(user, two)]);
  assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 412]);
  const names = new Set((await listFiles(user)).map(({ file_name }) => file_name));
  assert.deepEqual([...names], [answers[0]!.status === 200 ? 'one' : 'two']);
});

test('the system token renames its own files', async () => {
  const system = admin(service);
  const { fileId } = await upload(system, makeFile([10]));
  assertOk(await post(system, [await renamed(system, fileId)]), { ok: true });
  assert.equal(await nameOf(system, fileId), 'new');
});

test('a directory gets another name; one that is taken, unknown, or not as it was seen does not', async () => {
  const [user, other] = [await register(service), await register(service)];
  const dirs = [await makeDir(user, 'first'), await makeDir(user, 'second')];
  const { fileId } = await upload(user, makeFile([10], { dir_id: dirs[0]! }));
  const put = (who: User, dirId: number | string, json: unknown) =>
    who.put(pathOf('renameDir', { dir_id: dirId }), json);
  const answer = await put(user, dirs[0]!, { name: ' third ', match: 'first' });
  assertOk(answer, { ok: true, dir_id: dirs[0], name: 'third' });
  assert.equal((await listFiles(user)).find(({ file_id }) => file_id === fileId)?.dir_name, 'third');
  assertOk(await put(user, dirs[0]!, { name: 'third', match: 'third' }));
  assertError(await put(user, dirs[0]!, { name: 'second', match: 'third' }), 409);
  assertError(await put(user, dirs[0]!, { name: 'fourth', match: 'first' }), 412);
  assertError(await put(other, dirs[0]!, { name: 'fourth', match: 'third' }), 404);
  for (const unknown of [0, -1, 999_999_999, '9'.repeat(30), 'x']) {
    assertError(await put(user, unknown, { name: 'fourth', match: 'third' }), 404);
  }
  for (const json of [
    {},
    { name: 'a' },
    { match: 'third' },
    { name: '', match: 'third' },
    { name: 'a/b', match: 'third' },
  ]) {
    assertError(await put(user, dirs[0]!, json), 400);
  }
  for (const name of ['x'.repeat(65), 'nul\0', 7]) {
    assertError(await put(user, dirs[0]!, { name, match: 'third' }), 400);
  }
  assertError(await put(user, dirs[0]!, { name: 'a', match: 'third\0' }), 412);
  const listed = (await user.get(pathOf('listDirs'))).json['dirs'] as { dir_id: number; name: string }[];
  assert.deepEqual(
    listed.map(({ dir_id, name }) => [dir_id, name]),
    [
      [dirs[0], 'third'],
      [dirs[1], 'second'],
    ],
  );
  // The name is free again, and whoever takes it at the same time wins or is told.
  const both = await Promise.all([
    put(user, dirs[1]!, { name: 'first', match: 'second' }),
    user.post(pathOf('createDir'), { name: 'first' }),
  ]);
  assert.deepEqual(both.map(({ status }) => status).sort(), [200, 409]);
});
