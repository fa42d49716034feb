import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { contentDigest, headers, limits, pathOf, type ReadThumbnail } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  checkInvariants,
  makeFile,
  readVolume,
  received,
  register,
  sha256,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const at = (file_id: string) => pathOf('writeThumbnail', { file_id });
const put = (user: User, fileId: string, body: Buffer, digest: string = contentDigest(sha256(body))) =>
  user.call('PUT', at(fileId), { body, headers: { [headers.contentDigest]: digest } });
const get = (user: User, fileId: string, more: Record<string, string> = {}) =>
  user.get(at(fileId), { headers: more });

test('a thumbnail comes back byte for byte, once and for all, and counts nowhere', async () => {
  const user = await register(service);
  const { fileId, transferId } = await upload(user, makeFile([300, 20]));
  assertError(await get(user, fileId), 404);
  const used = (await user.get(pathOf('quota'))).json;
  const rev = async () => (await user.get(pathOf('changes'))).json['rev'];
  const before = await rev();
  const [bytes, other] = [randomBytes(limits.thumbnailBytes), randomBytes(10)];
  assertOk(await put(user, fileId, bytes), { ok: true });
  assertOk(await put(user, fileId, bytes), { ok: true });
  assertError(await put(user, fileId, other), 409);
  assert.notEqual(await rev(), before, 'other devices are told');
  const answer = await get(user, fileId);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(bytes));
  assert.equal(answer.headers.etag, `"${sha256(bytes)}"`);
  assert.equal(answer.headers['content-type'], 'application/octet-stream');
  assert.equal(answer.headers['x-enc-params'], undefined);
  assert.equal((await get(user, fileId, { 'if-none-match': `"${sha256(bytes)}"` })).status, 304);
  const part = await get(user, fileId, { range: 'bytes=5-9' });
  assert.deepEqual([part.status, part.body], [206, bytes.subarray(5, 10)]);
  assert.deepEqual((await user.get(pathOf('quota'))).json, used);
  // It is no volume.
  assertError(await readVolume(user, fileId, 0), 404);
  assert.deepEqual(await received(user, transferId), [1, 2]);
  await checkInvariants(service, user.token);
});

test('of two at once one is kept, and the other is told', async () => {
  const user = await sharedUser(service);
  const { fileId } = await upload(user, makeFile([30]));
  const bodies = Array.from({ length: 6 }, (_, turn) => Buffer.from(`thumbnail ${turn % 3}`));
  const answers = await Promise.all(bodies.map((body) => put(user, fileId, body)));
  const kept = (await get(user, fileId)).body;
  for (const [turn, { status }] of answers.entries()) {
    assert.equal(status, bodies[turn]!.equals(kept) ? 200 : 409);
  }
});

test('what is no thumbnail, or of no file of the caller, is refused and leaves nothing', async () => {
  const [user, other] = [await register(service), await sharedUser(service)];
  const { fileId } = await upload(user, makeFile([30]));
  const bytes = randomBytes(50);
  const digest = contentDigest(sha256(bytes));
  assertError(await user.call('PUT', at(fileId), { body: bytes }), 400);
  for (const bad of [
    '',
    'x',
    'sha-256=:AAAA:',
    `md5=:${'A'.repeat(24)}:`,
    contentDigest(sha256(Buffer.from('x'))),
  ]) {
    assertError(await put(user, fileId, bytes, bad), 400);
  }
  assertError(await put(user, fileId, Buffer.alloc(0)), 400);
  assertError(await put(user, fileId, randomBytes(limits.thumbnailBytes + 1)), 413);
  for (const unknown of ['nosuch', '0'.repeat(32), '\0', '../x']) {
    assertError(await put(user, unknown, bytes), 404);
    assertError(await get(user, unknown), 404);
  }
  assertDetail(await put(other, fileId, bytes), 403);
  assertDetail(await service.call({ method: 'PUT', path: at(fileId), body: bytes }), 401);
  assertError(await get(user, fileId), 404);
  assertOk(await put(user, fileId, bytes, `${digest}, md5=:AAAA:`));
  assertDetail(await get(other, fileId), 403);
  assertDetail(await service.call({ path: at(fileId) }), 401);
});

test('it goes with its file: into the trash and back, to a copy, and away', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([30]));
  const bytes = randomBytes(100);
  assertOk(await put(user, fileId, bytes));
  assertOk(await user.post(pathOf('trashFiles'), { files: [fileId] }));
  assertError(await get(user, fileId), 404);
  assertError(await put(user, fileId, bytes), 404);
  assertOk(await user.post(pathOf('restoreFiles'), { files: [fileId] }));
  const clone = await user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: null });
  assertOk(clone);
  const copy = String(clone.json['file_id']);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  assertError(await get(user, fileId), 404);
  assert.ok((await get(user, copy)).body.equals(bytes));
  assertError(await put(user, copy, randomBytes(3)), 409);
  await checkInvariants(service, user.token);
});

test('several at once: of the own files that are there, each with its enc_params', async () => {
  const [user, other] = [await register(service), await sharedUser(service)];
  const ask = (files: unknown, by: User = user) => by.post(pathOf('readThumbnails'), { files });
  const found = async (files: string[], by: User = user) => {
    const answer = await ask(files, by);
    assertOk(answer);
    const all = answer.json['thumbnails'] as ReadThumbnail[];
    return new Map(all.map((one) => [one.file_id, one]));
  };
  const files = await Promise.all(
    [300, 20, 0, 1].map(async (size) => (await upload(user, makeFile([size]))).fileId),
  );
  const [large, small, trashed, none] = files as [string, string, string, string];
  const pictures = new Map([large, small, trashed].map((id) => [id, randomBytes(limits.thumbnailBytes)]));
  for (const [id, bytes] of pictures) assertOk(await put(user, id, bytes));
  assertOk(await user.post(pathOf('trashFiles'), { files: [trashed] }));

  const all = await found([large, none, trashed, small, small, 'nosuch', '0'.repeat(32), '\0']);
  assert.deepEqual(new Set(all.keys()), new Set([large, none, small]), 'each once, without the others');
  for (const id of [large, small]) {
    assert.ok(Buffer.from(all.get(id)!.thumbnail!, 'base64').equals(pictures.get(id)!));
    const { headers: sent } = await readVolume(user, id, 1);
    assert.equal(all.get(id)!.enc_params, sent[headers.encParams.toLowerCase()]);
  }
  assert.equal(all.get(none)!.thumbnail, null);
  assert.equal((await found([large], other)).size, 0, 'of nobody else');
  assert.equal((await found(Array.from({ length: limits.thumbnailsPerBatch }, () => large))).size, 1);

  for (const bad of [
    [],
    Array.from({ length: limits.thumbnailsPerBatch + 1 }, () => large),
    'x',
    [5],
    null,
  ]) {
    assertError(await ask(bad), 400);
  }
  assertDetail(await service.call({ method: 'POST', path: pathOf('readThumbnails'), json: { files } }), 401);
});
