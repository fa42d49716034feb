import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertDetail,
  assertOk,
  begin,
  complete,
  eventually,
  filesBelow,
  makeFile,
  putAll,
  putVolume,
  received,
  register,
  Service,
  storedOfSize,
  upload,
} from '../harness/index.ts';
import { assertTidy, groupsOnDisk } from './disk.ts';
import { SlowClient } from './slow-client.ts';

/** One in a hurry, and one with the settings that everybody has. */
const hasty = new Service({
  env: { SZ_TRANSFER_TTL: '2', SZ_SESSION_TTL: '3', SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' },
});
const usual = new Service();

before(async () => {
  await Promise.all([hasty.start(), usual.start()]);
});
after(async () => {
  await Promise.all([hasty.stop(), usual.stop()]);
});

test('an upload that nobody touches goes with its volumes; one that is touched stays', async () => {
  const user = await register(hasty);
  const size = 123_457;
  const abandoned = makeFile([size]);
  const abandonedId = await begin(user, abandoned);
  await putAll(user, abandonedId, abandoned);
  const active = makeFile([size + 1, 10]);
  const activeId = await begin(user, active);
  assertOk(await putVolume(user, activeId, 1, active.volumes[0]!));
  for (let rounds = 0; rounds < 10; rounds++) {
    await sleep(500);
    assert.deepEqual(await received(user, activeId), [1]);
  }
  assert.equal((await complete(user, abandonedId)).status, 404);
  await eventually(async () => assert.equal(await storedOfSize(hasty, size), 0));
  assertOk(await putVolume(user, activeId, 2, active.volumes[1]!));
  assertOk(await complete(user, activeId));
  await assertTidy(hasty);
});

test('a volume that takes longer than the lifetime of its upload is a sign of life', async () => {
  const user = await register(hasty);
  const file = makeFile([400_000]);
  const [bytes] = file.volumes;
  const transferId = await begin(user, file);
  const put = await SlowClient.put(user, transferId, 1, bytes!.length, bytes!.subarray(0, 1000));
  for (let sent = 1000; sent < 6000; sent += 1000) {
    await sleep(900);
    await put.send(bytes!.subarray(sent, sent + 1000));
  }
  await put.send(bytes!.subarray(6000));
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
  for (let rounds = 0; rounds < 6; rounds++) {
    await sleep(800);
    assertOk(await used.get(pathOf('me')));
  }
  assertDetail(await unused.get(pathOf('me')), 401);
  await eventually(async () => assert.equal(sessions().includes(unused.username), false));
  assert.ok(sessions().includes(used.username));
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
  await eventually(async () => assert.equal(await storedOfSize(usual, size), 0, 'bytes are left'), 10_000);
  await assertTidy(usual);
});
