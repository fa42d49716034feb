import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { contentDigest, limits, pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  checkInvariants,
  complete,
  completeBody,
  completeStreamed,
  eventually,
  inPieces,
  type Length,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  putStreamed,
  putVolume,
  received,
  register,
  STRICT_QUOTA,
  sha256,
  sharedUser,
  storedOfSize,
  streamedInit,
  testInFolder,
  uploadStreamed,
  useService,
} from '../harness/index.ts';

const service = useService();
const strict = useService(STRICT_QUOTA);
const lengths: Length[] = ['sized', 'unsized'];

const digestOf = (bytes: Uint8Array) => contentDigest(sha256(bytes));
const pathOfComplete = (transferId: string) => pathOf('complete', { transfer_id: transferId });

for (const length of lengths) {
  test(`${length}: init without digests, volumes in any order, complete with the rest, and it is a file as any other`, async () => {
    const user = await register(service);
    const dirId = await makeDir(user);
    const file = makeFile([1000, 0, 70_000, 300_000], { dir_id: dirId });
    const transferId = await beginStreamed(user, file, length);
    for (const idx of [3, 1, 4, 2])
      assertOk(await putStreamed(user, transferId, idx, file.volumes[idx - 1]!));
    const answer = await completeStreamed(user, transferId, file);
    const fileId = String(answer.json['file_id']);
    assertOk(answer, { status: 'done', file_id: fileId });
    const [record] = await listFiles(user);
    assert.deepEqual(record, {
      file_id: fileId,
      file_name: file.init.file_name,
      size: file.init.file_size,
      sha256: file.init.total_sha256,
      user_id: user.username,
      dir_id: dirId,
      dir_name: record!.dir_name,
      chunk_count: 4,
      created_at: record!.created_at,
    });
    await assertReadable(user, fileId, file);
    const copy = await user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: null });
    await assertReadable(user, String(copy.json['file_id']), file);
    await checkInvariants(service, user.token);
  });

  test(`${length}: complete again returns the file, with other values it is 409, and nothing changes`, async () => {
    const user = await register(service);
    const file = makeFile([100, 200]);
    const { transferId, fileId } = await uploadStreamed(user, file, length);
    assertOk(await completeStreamed(user, transferId, file), { status: 'done', file_id: fileId });
    for (const other of [
      { file_name: 'another' },
      { file_size: file.init.file_size + 1 },
      { total_sha256: '0'.repeat(64) },
      { enc_params: {} },
      { chunk_count: 1 },
    ]) {
      assertError(await completeStreamed(user, transferId, file, other), 409);
    }
    assertError(await user.call('POST', pathOfComplete(transferId)), 400);
    assert.equal((await listFiles(user)).length, 1);
    await assertReadable(user, fileId, file);
    // Renamed by another device before the answer was heard.
    const head = await user.call('HEAD', pathOf('readHeader', { file_id: fileId, idx: 1 }));
    const match = sha256(Buffer.from(String(head.headers['x-enc-params'])));
    const enc_params = Buffer.from('{"other":1}').toString('base64');
    const renamed = { file_id: fileId, file_name: 'renamed', enc_params, match };
    assertOk(await user.post(pathOf('renameFiles'), { files: [renamed] }));
    assertOk(await completeStreamed(user, transferId, file), { status: 'done', file_id: fileId });
    assert.equal((await listFiles(user))[0]!.file_name, 'renamed');
  });

  test(`${length}: the same volume again is 200, another of its number 409, and the first stays`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([5000, 5000]);
    const transferId = await beginStreamed(user, file, length);
    for (let times = 0; times < 2; times++) {
      assertOk(await putStreamed(user, transferId, 1, file.volumes[0]!));
    }
    assertError(await putStreamed(user, transferId, 1, randomBytes(5000)), 409);
    // At once, where the second one may be past the first look.
    const rivals = [file.volumes[1]!, randomBytes(5000), randomBytes(5000), file.volumes[1]!];
    const answers = await Promise.all(rivals.map((bytes) => putStreamed(user, transferId, 2, bytes)));
    const won = rivals.filter((_, at) => answers[at]!.status === 200);
    assert.ok(won.length > 0);
    assert.deepEqual(new Set(won.map((bytes) => sha256(bytes))).size, 1);
    assert.ok(answers.every(({ status }) => status === 200 || status === 409));
    file.volumes[1] = won[0]!;
    const done = await completeStreamed(user, transferId, file);
    await assertReadable(user, String(done.json['file_id']), file);
  });

  testInFolder(`${length}: what lost against another volume of its number takes no space`, async () => {
    const user = await sharedUser(service);
    const size = 43_219 + lengths.indexOf(length);
    const file = makeFile([size]);
    const transferId = await beginStreamed(user, file, length);
    await Promise.all(Array.from({ length: 6 }, () => putStreamed(user, transferId, 1, randomBytes(size))));
    await eventually(async () => assert.equal(await storedOfSize(service, size), 1));
  });

  test(`${length}: complete with gaps is 409 incomplete with what was received, and changes nothing`, async () => {
    const user = await register(service);
    const file = makeFile([10, 20, 30]);
    const transferId = await beginStreamed(user, file, length);
    const incomplete = async (numbers: number[], answer: Answer) => {
      assert.equal(answer.status, 409, answer.text);
      assert.deepEqual(answer.json, { status: 'incomplete', received: numbers, error: answer.json['error'] });
    };
    await incomplete([], await completeStreamed(user, transferId, file));
    await putStreamed(user, transferId, 3, file.volumes[2]!);
    await putStreamed(user, transferId, 1, file.volumes[0]!);
    await incomplete([1, 3], await completeStreamed(user, transferId, file));
    await incomplete([1, 3], await completeStreamed(user, transferId, file, { chunk_count: 1 }));
    await incomplete([1, 3], await completeStreamed(user, transferId, file, { chunk_count: 2 }));
    await putStreamed(user, transferId, 2, file.volumes[1]!);
    await incomplete([1, 2, 3], await completeStreamed(user, transferId, file, { chunk_count: 2 }));
    await incomplete([1, 2, 3], await completeStreamed(user, transferId, file, { chunk_count: 4 }));
    assert.deepEqual(await listFiles(user), []);
    assertOk(await completeStreamed(user, transferId, file));
  });

  test(`${length}: complete without its fields is 400, and changes nothing`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([10]);
    const transferId = await beginStreamed(user, file, length);
    await putStreamed(user, transferId, 1, file.volumes[0]!);
    const body = completeBody(file);
    for (const key of Object.keys(body)) {
      assertError(await user.post(pathOfComplete(transferId), { ...body, [key]: undefined }), 400);
      assertError(await user.post(pathOfComplete(transferId), { ...body, [key]: null }), 400);
    }
    const values = { file_name: ' / ', file_size: -1, total_sha256: 'ab', chunk_count: 0, enc_params: [] };
    for (const [key, value] of Object.entries(values)) {
      assertError(await user.post(pathOfComplete(transferId), { ...body, [key]: value }), 400);
    }
    const long = { k: 'x'.repeat(limits.encParamsBase64Bytes) };
    assertError(await user.post(pathOfComplete(transferId), { ...body, enc_params: long }), 400);
    for (const text of ['', '{', 'null', '[]', '"x"', '\xff']) {
      const sent = Buffer.from(text, 'latin1');
      assertError(await user.call('POST', pathOfComplete(transferId), { body: sent }), 400);
    }
    assertOk(await completeStreamed(user, transferId, file));
  });

  test(`${length}: a volume needs its digest, its length and a number in range`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([1000, 1000]);
    const transferId = await beginStreamed(user, file, length);
    const bytes = file.volumes[0]!;
    assertError(await putVolume(user, transferId, 1, bytes), 400);
    const base64 = createHash('sha256').update(bytes).digest('base64');
    for (const digest of [
      '',
      base64,
      `sha-256=${base64}`,
      `sha-256=:${base64}`,
      `SHA-256=:${base64}:`,
      `sha-256=:${base64.slice(0, -4)}:`,
      `sha-256=:${base64.replace('=', '')}:`,
      `sha-256=:${base64}:, sha-256=:${base64}:`,
      `sha-512=:${createHash('sha512').update(bytes).digest('base64')}:`,
      `sha-256=:${base64}:;x`,
    ]) {
      assertError(await putStreamed(user, transferId, 1, bytes, digest), 400);
    }
    assertError(await putStreamed(user, transferId, 1, bytes, digestOf(randomBytes(9))), 409);
    const headers = { 'Content-Digest': digestOf(bytes) };
    assertError(await putVolume(user, transferId, 1, inPieces(bytes), headers), 411);
    const beyond = length === 'sized' ? 3 : limits.volumesPerFile + 1;
    for (const idx of [0, -1, '1.5', 'x', '01', beyond]) {
      assertError(await putStreamed(user, transferId, idx, bytes), 409);
    }
    if (length === 'sized') assertError(await putStreamed(user, transferId, 1, randomBytes(999)), 409);
    assert.deepEqual(await received(user, transferId), []);
    const both = `sha-512=:AAAA:, ${digestOf(bytes)}`;
    assertOk(await putStreamed(user, transferId, 1, bytes, both));
    assertOk(await putStreamed(user, transferId, 2, file.volumes[1]!));
    assertOk(await completeStreamed(user, transferId, file));
    assertError(await putStreamed(user, transferId, 1, bytes), 409);
  });

  test(`${length}: what was received is told with sizes and digests, until and after complete`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([300, 0, 200]);
    const transferId = await beginStreamed(user, file, length);
    const ask = () => user.get(pathOf('received', { transfer_id: transferId }));
    assertOk(await ask(), { received: [], volumes: [] });
    const volumes = file.volumes.map((bytes, at) => ({
      idx: at + 1,
      size: bytes.length,
      sha256: sha256(bytes),
    }));
    for (const { idx } of [...volumes].reverse())
      await putStreamed(user, transferId, idx, file.volumes[idx - 1]!);
    assertOk(await ask(), { received: [1, 2, 3], volumes });
    assertOk(await completeStreamed(user, transferId, file));
    assertOk(await ask(), { received: [1, 2, 3], volumes });
  });

  test(`${length}: anybody who knows the id may send and complete, and owns the file`, async () => {
    const [user, other] = [await register(service), await register(service)];
    const file = makeFile([10]);
    const transferId = await beginStreamed(user, file, length);
    assertOk(await putStreamed(other, transferId, 1, file.volumes[0]!));
    const { file_id } = (await completeStreamed(other, transferId, file)).json;
    assert.deepEqual(await listFiles(user), []);
    await assertReadable(other, String(file_id), file);
  });

  test(`${length}: a pull is 409, cancel works, and both are 404 afterwards`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([10]);
    const transferId = await beginStreamed(user, file, length);
    await putStreamed(user, transferId, 1, file.volumes[0]!);
    const pull = { base_url: 'http://127.0.0.1:1', token: 't' };
    assertError(await user.post(pathOf('pull', { transfer_id: transferId }), pull), 409);
    assertOk(await user.get(pathOf('pullStatus', { transfer_id: transferId })), { pulled: 1, total: 1 });
    assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
    assertError(await putStreamed(user, transferId, 1, file.volumes[0]!), 404);
    assertError(await completeStreamed(user, transferId, file), 404);
  });
}

test('only "streamed": true makes a streamed transfer, and it obeys its own rules', async () => {
  const user = await sharedUser(service);
  const file = makeFile([10, 20]);
  for (const streamed of [false, 1, 'true', null, [true], {}]) {
    const transferId = await begin(user, { ...file, init: { ...file.init, streamed } as never });
    await putAll(user, transferId, file);
    assertOk(await complete(user, transferId));
    assertError(await user.post(pathOf('init'), { streamed }), 400);
  }
  const { chunk_count, chunks } = streamedInit(file, 'sized');
  for (const wrong of [
    { chunk_count },
    { chunks },
    { chunk_count: 1, chunks },
    { chunk_count: 0, chunks: [] },
    { chunk_count, chunks: [{ size: 10 }, { size: -1 }] },
    {
      chunk_count,
      chunks: [
        { size: 10, idx: 1 },
        { size: 10, idx: 1 },
      ],
    },
    { chunk_count, chunks: [{ size: 10 }, {}] },
    { chunk_count: 1, chunks: [{ size: 2 ** 50 }] },
    { dir_id: 'x' },
  ]) {
    assertError(await user.post(pathOf('init'), { streamed: true, ...wrong }), 400);
  }
  assertError(await user.post(pathOf('init'), { streamed: true, dir_id: 123456 }), 403);
  // What an init of the specification says beside it is ignored.
  const transferId = await begin(user, { ...file, init: { ...file.init, streamed: true } as never });
  assertError(await putVolume(user, transferId, 1, file.volumes[0]!), 400);
});

test('on other transfers Content-Digest and a body of complete are ignored', async () => {
  const user = await sharedUser(service);
  const file = makeFile([10, 20]);
  const transferId = await begin(user, file);
  for (const digest of ['nonsense', digestOf(randomBytes(1)), '']) {
    assertOk(await putStreamed(user, transferId, 1, file.volumes[0]!, digest));
  }
  assertOk(await putStreamed(user, transferId, 2, file.volumes[1]!, 'sha-256=:x:'));
  const other = completeBody(file, { file_name: 'another', chunk_count: 7 });
  for (const body of [Buffer.from('{'), Buffer.from('\xff', 'latin1'), Buffer.from(JSON.stringify(other))]) {
    assertOk(await user.call('POST', pathOfComplete(transferId), { body }));
  }
  const [record] = (await listFiles(user)).filter(({ file_name }) => file_name === file.init.file_name);
  assert.equal(record?.chunk_count, 2);
});

test('under a quota the sizes count from init on, and volumes of no known length before their bodies', async () => {
  const quota = Number(STRICT_QUOTA.env!['SZ_QUOTA']);
  const user = await register(strict);
  const half = Math.floor(quota / 2);
  const file = makeFile([half, half]);
  const sized = await beginStreamed(user, file, 'sized');
  assertError(await user.post(pathOf('init'), streamedInit(makeFile([quota - 2 * half + 1]), 'sized')), 507);
  assertOk(await user.delete(pathOf('cancel', { transfer_id: sized })));
  const unsized = await beginStreamed(user, file, 'unsized');
  assertOk(await putStreamed(user, unsized, 1, file.volumes[0]!));
  // Again, and one that turns out to be wrong: neither counts for anything.
  assertOk(await putStreamed(user, unsized, 1, file.volumes[0]!));
  assertError(await putStreamed(user, unsized, 2, file.volumes[1]!, digestOf(randomBytes(1))), 409);
  assertError(await putStreamed(user, unsized, 2, randomBytes(quota - half + 1)), 507);
  assertError(await user.post(pathOf('init'), streamedInit(makeFile([quota - half + 1]), 'sized')), 507);
  assertOk(await putStreamed(user, unsized, 2, file.volumes[1]!));
  assertError(await completeStreamed(user, unsized, file, { file_size: quota + 1 }), 507);
  assertOk(await completeStreamed(user, unsized, file));
  assertError(
    await putStreamed(user, await beginStreamed(user, file, 'unsized'), 1, randomBytes(quota)),
    507,
  );
});
