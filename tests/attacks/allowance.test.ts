/** Empty files, thumbnails and enc_params do not pass an enforced quota for free: they have an allowance. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { contentDigest, extraAllowance, headers, pathOf } from '@szafa/protocol';
import {
  admin,
  assertError,
  assertOk,
  begin,
  checkInvariants,
  makeFile,
  newTransferId,
  putFile,
  register,
  sha256,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const QUOTA = 1_000_000;
const service = useService({ env: { SZ_QUOTA: String(QUOTA), SZ_QUOTA_ENFORCE: '1', SZ_WORKERS: '2' } });
const big = () => ({ sealed: randomBytes(6000).toString('base64') });
const small = { k: 1 };

async function extraOf({ username }: User): Promise<number> {
  const answer = await admin(service).get(pathOf('showAccount', { username }));
  assertOk(answer);
  return Number(answer.json['extra_bytes']);
}

/** Pretends that the account has used up its allowance but for some bytes. */
function leave({ username }: User, bytes: number, more = 0): void {
  const database = new DatabaseSync(join(service.data, 'szafa.db'), { timeout: 20_000 });
  const extra = extraAllowance(QUOTA) - bytes + more;
  const text = 'UPDATE usage SET extra_bytes = ? WHERE owner = ? AND dir_id = -1';
  assert.equal(database.prepare(text).run(extra, username).changes, 1);
  database.close();
}

const writeThumbnail = (user: User, fileId: string, bytes: Buffer) =>
  user.call('PUT', pathOf('writeThumbnail', { file_id: fileId }), {
    body: bytes,
    headers: { [headers.contentDigest]: contentDigest(sha256(bytes)) },
  });
const rename = (user: User, file_id: string, before: object, after: object) =>
  user.post(pathOf('renameFiles'), {
    files: [
      { file_id, file_name: 'x', enc_params: encoded(after).toString(), match: sha256(encoded(before)) },
    ],
  });
const encoded = (params: object) => Buffer.from(Buffer.from(JSON.stringify(params)).toString('base64'));

test('the sum is that of the files, whatever happens to them', async () => {
  const user = await register(service);
  const made = await upload(user, makeFile([10], { enc_params: small }));
  assertOk(await putFile(user, newTransferId(), makeFile([0], { enc_params: big() })));
  assertOk(await writeThumbnail(user, made.fileId, randomBytes(500)));
  const copy = await user.post(pathOf('cloneFile', { file_id: made.fileId }));
  assertOk(copy);
  await checkInvariants(service, user.token);
  assertOk(await rename(user, made.fileId, small, big()));
  await checkInvariants(service, user.token);
  const before = await extraOf(user);
  assertOk(await user.post(pathOf('trashFiles'), { files: [made.fileId] }));
  assert.equal(await extraOf(user), before);
  assertOk(await user.post(pathOf('restoreFiles'), { files: [made.fileId] }));
  await checkInvariants(service, user.token);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: String(copy.json['file_id']) })));
  await checkInvariants(service, user.token);
  for (const { file_id } of (await user.get(pathOf('listFiles'))).json['files'] as { file_id: string }[])
    assertOk(await user.delete(pathOf('deleteFile', { file_id })));
  assert.equal(await extraOf(user), 0);
  assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], 0);
});

test('beyond the allowance empty files, thumbnails and longer headers are refused, and nothing else', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([10], { enc_params: small }));
  const open = await begin(user, makeFile([5], { enc_params: small }));
  leave(user, 5000);
  const put = (enc_params: object) => putFile(user, newTransferId(), makeFile([0], { enc_params }));
  assertError(await put(big()), 507);
  assertError(await user.post(pathOf('init'), makeFile([0], { enc_params: big() }).init), 507);
  assertError(await writeThumbnail(user, fileId, randomBytes(6000)), 507);
  assertError(await user.get(pathOf('readThumbnail', { file_id: fileId })), 404);
  assertError(await rename(user, fileId, small, big()), 507);
  assertOk(await rename(user, fileId, small, { k: 2 }));
  assertOk(await put(small));
  assertOk(await user.put(pathOf('moveFile', { file_id: fileId }), {}));
  // What is over already, as after a lower quota, can still be given back.
  leave(user, 0, 100_000);
  assertError(await put(small), 507);
  assertOk(await rename(user, fileId, { k: 2 }, { k: 3 }));
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  assertOk(await user.delete(pathOf('cancel', { transfer_id: open })));
});

test('many at once do not pass it together', async () => {
  const user = await register(service);
  await upload(user, makeFile([1], { enc_params: small }));
  const ids: string[] = [];
  for (let at = 0; at < 8; at++) ids.push((await upload(user, makeFile([1], { enc_params: small }))).fileId);
  leave(user, 50_000);
  const answers = await Promise.all([
    ...ids.map((id) => writeThumbnail(user, id, randomBytes(20_000))),
    ...ids.map(() => putFile(user, newTransferId(), makeFile([0], { enc_params: big() }))),
  ]);
  const extra = answers.reduce(
    (sum, { status }, at) => sum + (status === 200 ? (at < 8 ? 20_000 : 8_000) : 0),
    0,
  );
  assert.ok(extra > 20_000 && extra <= 50_000, `${extra} bytes`);
  for (const answer of answers) if (answer.status !== 200) assertError(answer, 507);
  assert.ok((await extraOf(user)) <= extraAllowance(QUOTA));
});
