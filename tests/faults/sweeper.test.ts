import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  deliver,
  eventually,
  filesBelow,
  listFiles,
  makeFile,
  putAll,
  putVolume,
  received,
  register,
  Service,
  sha256,
  slowness,
  storedOfSize,
  upload,
} from '../harness/index.ts';
import { assertTidy, groupsOnDisk } from './disk.ts';
import { SlowClient } from './slow-client.ts';

/** What is used every half second lives on, also where a busy machine makes seconds of it. */
const LIFE_MS = 5000;
const LIFE = String(LIFE_MS / 1000);
/** One in a hurry, and one with the settings that everybody has. */
const hasty = new Service({
  env: { SZ_TRANSFER_TTL: LIFE, SZ_SESSION_TTL: LIFE, SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' },
});
const usual = new Service();

before(async () => {
  await Promise.all([hasty.start(), usual.start()]);
});
after(async () => {
  await Promise.all([hasty.stop(), usual.stop()]);
});

/** Uses something, and again, until the other thing is gone. */
async function useUntil(use: () => Promise<void>, isGone: () => Promise<boolean>): Promise<void> {
  const end = Date.now() + 60_000;
  for (const since = Date.now(); Date.now() - since < 2 * LIFE_MS || !(await isGone()); await sleep(500)) {
    assert.ok(Date.now() < end, 'what nobody uses is still there');
    await use();
  }
}

describe('lifetimes', { concurrency: 3 }, () => {
  test('an upload that nobody touches goes with its volumes; one that is touched stays', async () => {
    const user = await register(hasty);
    const size = 123_457;
    const abandoned = makeFile([size]);
    const abandonedId = await begin(user, abandoned);
    await putAll(user, abandonedId, abandoned);
    const active = makeFile([size + 1, 10]);
    const activeId = await begin(user, active);
    assertOk(await putVolume(user, activeId, 1, active.volumes[0]!));
    await useUntil(
      async () => assert.deepEqual(await received(user, activeId), [1]),
      async () => (await storedOfSize(hasty, size)) === 0,
    );
    assert.equal((await complete(user, abandonedId)).status, 404);
    assertOk(await putVolume(user, activeId, 2, active.volumes[1]!));
    assertOk(await complete(user, activeId));
    // With time for the others to end.
    await assertTidy(hasty, 60_000);
  });

  test('a volume that takes longer than the lifetime of its upload is a sign of life', async () => {
    const user = await register(hasty);
    const file = makeFile([400_000]);
    const [bytes] = file.volumes;
    const transferId = await begin(user, file);
    const put = await SlowClient.put(user, transferId, 1, bytes!.length, bytes!.subarray(0, 1000));
    let sent = 1000;
    for (const since = Date.now(); Date.now() - since < 2 * LIFE_MS; sent += 1000) {
      await sleep(500);
      await put.send(bytes!.subarray(sent, sent + 1000));
    }
    await put.send(bytes!.subarray(sent));
    assert.equal((await put.answer()).status, 200);
    put.destroy();
  });

  test('a token that is used lives on; one that is not ends, and its trace too', async () => {
    const [used, unused] = [await register(hasty), await register(hasty)];
    const sessions = () => {
      const database = new DatabaseSync(join(hasty.data, 'szafa.db'), { readOnly: true, timeout: 5000 });
      const rows = database.prepare('SELECT username FROM sessions').all() as { username: string }[];
      database.close();
      return rows.map(({ username }) => username);
    };
    assert.ok(sessions().includes(unused.username));
    await useUntil(
      async () => assertOk(await used.get(pathOf('me'))),
      async () => !sessions().includes(unused.username),
    );
    assertDetail(await unused.get(pathOf('me')), 401);
    assert.ok(sessions().includes(used.username));
  });
});

test('what landed for an upload that is no more goes; what landed for another stays', async () => {
  const user = await register(usual);
  const known = new Set(await groupsOnDisk(usual));
  const file = makeFile([10, 10]);
  const transferId = await begin(user, file);
  assertOk(await putVolume(user, transferId, 1, file.volumes[0]!));
  const fileId = (await groupsOnDisk(usual)).find((id) => !known.has(id))!;
  const landing = join(usual.data, 'landing');
  for (const id of [fileId, '0'.repeat(32)]) {
    await mkdir(join(landing, id), { recursive: true });
    await writeFile(join(landing, id, '1'), 'landed');
  }
  await eventually(async () => {
    assert.deepEqual([...(await filesBelow(landing)).keys()], [join(fileId, '1')]);
  });
  assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
  await eventually(async () => assert.deepEqual([...(await filesBelow(landing)).keys()], []));
});

test('the space of deleted files and of many cancelled uploads is free within ten seconds', async () => {
  const user = await register(usual);
  const size = 54_321;
  const { fileId } = await upload(user, makeFile([size]));
  const transfers = await Promise.all(
    Array.from({ length: 130 }, async () => {
      const file = makeFile([size]);
      const transferId = await begin(user, file);
      await putAll(user, transferId, file);
      return transferId;
    }),
  );
  assert.equal(await storedOfSize(usual, size), 131);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  await Promise.all(transfers.map((id) => user.delete(pathOf('cancel', { transfer_id: id }))));
  const limit = 10_000 * slowness();
  await eventually(async () => assert.equal(await storedOfSize(usual, size), 0, 'bytes are left'), limit);
  await assertTidy(usual);
});

test('a delivery on its way out by the trash: the server may be killed between the steps, and what nobody deletes ages', async () => {
  const owner = await register(usual);
  const [id, access] = [16, 32].map((bytes) => randomBytes(bytes).toString('base64url')) as [string, string];
  const texts = { header: 'aGVhZGVy', own: 'b3du', access: sha256(Buffer.from(access)) };
  assertOk(await owner.post(pathOf('createRequest'), { id, ...texts, max_files: 3, max_bytes: 100_000 }));
  const [dropped, aged] = [12_345, 23_456];
  const [first, second] = [
    await deliver(usual, { id, access }, makeFile([dropped])),
    await deliver(usual, { id, access }, makeFile([aged])),
  ];
  const ids = async (list: 'listFiles' | 'listTrash') =>
    ((await owner.get(pathOf(list))).json['files'] as { file_id: string }[]).map(({ file_id }) => file_id);
  const again = async () => {
    await usual.kill9();
    await usual.start();
  };

  // In the trash, and no further: it is there as it came, and comes back.
  assertOk(await owner.post(pathOf('trashFiles'), { files: [first.fileId] }));
  await again();
  assert.deepEqual([await ids('listFiles'), await ids('listTrash')], [[second.fileId], [first.fileId]]);
  assertOk(await owner.post(pathOf('restoreFiles'), { files: [first.fileId] }));
  await assertReadable(owner, first.fileId, first.file);
  assert.ok((await listFiles(owner)).every(({ file_name }) => file_name === `delivery-${id}`));

  // Deleted, and killed before anything of it is freed.
  assertOk(await owner.post(pathOf('trashFiles'), { files: [first.fileId, second.fileId] }));
  assertOk(await owner.call('DELETE', pathOf('emptyTrash'), { json: { files: [first.fileId] } }), {
    ok: true,
    removed: 1,
  });
  await again();
  assert.deepEqual(await ids('listTrash'), [second.fileId]);
  await eventually(async () => assert.equal(await storedOfSize(usual, dropped), 0));

  // A day older than it may become.
  const database = new DatabaseSync(join(usual.data, 'szafa.db'), { timeout: 5000 });
  const day = 86_400_000;
  database
    .prepare('UPDATE files SET trashed_at = ? WHERE file_id = ?')
    .run(Date.now() - 31 * day, second.fileId);
  database.close();
  await again();
  await eventually(async () => assert.deepEqual(await ids('listTrash'), []));
  await eventually(async () => assert.equal(await storedOfSize(usual, aged), 0));
  assertError(await owner.post(pathOf('restoreFiles'), { files: [second.fileId] }), 404);
  assert.equal((await owner.get(pathOf('quota'))).json['used_bytes'], 0);
  // They came, whatever became of them: one more may.
  await deliver(usual, { id, access }, makeFile([10]));
  const [request] = (await owner.get(pathOf('listRequests'))).json['requests'] as { delivered: number }[];
  assert.equal(request!.delivered, 3);
  await checkInvariants(usual, owner.token);
  await assertTidy(usual);
});
