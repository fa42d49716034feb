/** The digests of a file's volumes: by which a reader knows a volume before it uses a byte of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headers, pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  begin,
  type MadeFile,
  makeFile,
  putAll,
  register,
  sha256,
  type User,
  upload,
  uploadStreamed,
} from '../harness/index.ts';
import { give, person, take as takeGiven } from './account-shares.ts';
import { end, listed, random, service, share } from './shares.ts';

const digestsOf = ({ volumes }: MadeFile) =>
  Buffer.from(volumes.map((bytes) => sha256(bytes)).join(''), 'hex');
const read = (user: User, file_id: string, more: Record<string, string> = {}) =>
  user.get(pathOf('readDigests', { file_id }), { headers: more });
const readShared = (id: string, number: number | string, ticket: string | undefined) =>
  service.call({
    method: 'GET',
    path: pathOf('readSharedDigests', { share_id: id, number }),
    headers: ticket === undefined ? {} : { [headers.shareTicket]: ticket },
  });

test('the digests of all volumes come in order, with an ETag, for any kind of upload and for a clone', async () => {
  const user = await register(service);
  const kinds: Record<string, (file: MadeFile) => Promise<{ fileId: string }>> = {
    declared: (file) => upload(user, file),
    sized: (file) => uploadStreamed(user, file, 'sized'),
    unsized: (file) => uploadStreamed(user, file, 'unsized'),
    clone: async (file) => {
      const { fileId } = await upload(user, file);
      const { json } = await user.post(pathOf('cloneFile', { file_id: fileId }), {});
      return { fileId: String(json['file_id']) };
    },
  };
  // More than a row of the database holds.
  const sizes = Array.from({ length: 35 }, (_, at) => 10 + at);
  for (const [kind, put] of Object.entries(kinds)) {
    const file = makeFile(sizes);
    const { fileId } = await put(file);
    const expected = digestsOf(file);
    const answer = await read(user, fileId);
    assert.equal(answer.status, 200, kind);
    assert.ok(answer.body.equals(expected), kind);
    assert.equal(answer.headers['content-type'], 'application/octet-stream');
    assert.equal(answer.headers['cache-control'], 'private, no-cache');
    assert.equal(answer.headers.etag, `"${sha256(expected)}"`);
    assert.equal((await read(user, fileId, { 'if-none-match': answer.headers.etag })).status, 304);
    const second = await read(user, fileId, { range: 'bytes=32-63' });
    assert.equal(second.status, 206);
    assert.ok(second.body.equals(expected.subarray(32, 64)));
  }
});

test('digests are for those who may read the volumes: no other account, no trash, no unfinished upload', async () => {
  const [user, other] = [await register(service), await register(service)];
  const { fileId } = await upload(user);
  assertDetail(await read(other, fileId), 403);
  assertDetail(await service.call({ method: 'GET', path: pathOf('readDigests', { file_id: fileId }) }), 401);
  for (const id of ['nosuch', '0'.repeat(32), '%00']) assertError(await read(user, id), 404);
  const open = makeFile([10, 20]);
  const transferId = await begin(user, open);
  await putAll(user, transferId, open);
  assertError(await read(user, transferId), 404);
  assertOk(await user.post(pathOf('trashFiles'), { files: [fileId] }));
  assertError(await read(user, fileId), 404);
});

test('a ticket reads the digests of a shared file, which counts as no download and ends with the share', async () => {
  const { owner, visitor, file, body } = await share({ downloads: 1 });
  const ticket = random(32);
  assertError(await readShared(body.id, 1, ticket), 404);
  assertOk(await visitor.take(ticket));
  for (let times = 0; times < 3; times++) {
    const answer = await readShared(body.id, 1, ticket);
    assert.equal(answer.status, 200);
    assert.ok(answer.body.equals(digestsOf(file)));
    assert.equal(answer.headers['x-enc-params'], undefined);
  }
  assert.equal((await listed(owner))[0]!.downloaded, 1);
  for (const number of [0, 2, 2 ** 40, 'x']) assertError(await readShared(body.id, number, ticket), 404);
  for (const wrong of [undefined, random(32)]) assertError(await readShared(body.id, 1, wrong), 404);
  assertOk(await end(owner, body.id));
  assertError(await readShared(body.id, 1, ticket), 404);
});

test('the account that files are shared with reads their digests with its ticket', async () => {
  const { bob, body, file } = await give(await person());
  const ticket = random(32);
  assertOk(await takeGiven(bob, body.id, ticket));
  const answer = await readShared(body.id, 1, ticket);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(digestsOf(file)));
});
