import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  bytesSource,
  downloadToFile,
  fileJournal,
  nodeEngine,
  nodeTransport,
  Szafa,
} from '@szafa/client/node';
import { pathOf } from '@szafa/protocol';
import {
  answersIn,
  assertOk,
  assertReadable,
  batched,
  begin,
  checkInvariants,
  complete,
  freshName,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  putAll,
  putFile,
  putFiles,
  putVolume,
  readVolume,
  received,
  register,
  upload,
  usually,
} from '../harness/index.ts';
import { Actor, seeded } from './actor.ts';
import { assertTidyAfterCrash } from './disk.ts';
import { Disk, MountedService } from './mounts.ts';

let disk: Disk;
let service: MountedService;
const seed = Date.now() % 1_000_000;

before(async () => {
  disk = await Disk.create('ext4', 256 * 1024 * 1024);
  service = new MountedService(disk, { env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' } });
  await service.start();
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `seed ${seed}; log of the service:\n${service.tail()}`);
});
after(async () => {
  await service.stop();
  await disk[Symbol.asyncDispose]();
});

/** The machine stops at this instant: the processes, and all that the kernel had not yet written. */
async function powerCut(): Promise<void> {
  disk.cutPower();
  await service.kill9();
  await disk.powerBack();
  await service.start();
}

test('what was acknowledged survives a power cut at the next instant, each thing by itself', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  const file = makeFile([150_001, 20], { dir_id: dirId });
  const transferId = await begin(user, file);
  await powerCut();
  assertOk(await user.get(pathOf('me')), { username: user.username });
  assert.deepEqual(await received(user, transferId), []);

  for (const [at, bytes] of file.volumes.entries()) {
    assertOk(await putVolume(user, transferId, at + 1, bytes));
    await powerCut();
    assert.deepEqual(
      await received(user, transferId),
      Array.from({ length: at + 1 }, (_, before) => before + 1),
    );
  }
  const done = await complete(user, transferId);
  assertOk(done);
  const fileId = String(done.json['file_id']);
  await powerCut();
  await assertReadable(user, fileId, file);
  await checkInvariants(service, user.token);
});

test('files in one request survive it, and its repetition finds them', async () => {
  const user = await register(service);
  for (const size of [0, 70_000, 300_000]) {
    const file = makeFile([size]);
    const transferId = newTransferId();
    const answer = await putFile(user, transferId, file);
    assertOk(answer);
    await powerCut();
    await assertReadable(user, String(answer.json['file_id']), file);
    assertOk(await putFile(user, transferId, file), answer.json);
  }
  assert.equal((await listFiles(user)).length, 3);
  const files = [0, 70_000, 300_000, 5, 65_536].map((size) => batched(makeFile([size])));
  const answer = await putFiles(user, files);
  assertOk(answer);
  await powerCut();
  for (const [at, { file }] of files.entries()) {
    await assertReadable(user, answersIn(answer)[at]!.file_id!, file);
  }
  assertOk(await putFiles(user, files), answer.json);
  assert.equal((await listFiles(user)).length, 8);
  await assertTidyAfterCrash(service);
  await checkInvariants(service, user.token);
});

test('move, clone, delete and cancel survive it too', async () => {
  const user = await register(service);
  const { fileId, file } = await upload(user, makeFile([150_001, 20]));
  const dirId = await makeDir(user);
  assertOk(await user.put(pathOf('moveFile', { file_id: fileId }), { dir_id: dirId }));
  const cloned = await user.post(pathOf('cloneFile', { file_id: fileId }));
  assertOk(cloned);
  await powerCut();
  const cloneId = String(cloned.json['file_id']);
  const [newest, older] = await listFiles(user);
  assert.deepEqual([newest?.file_id, newest?.dir_id], [cloneId, null]);
  assert.deepEqual([older?.file_id, older?.dir_id], [fileId, dirId]);
  await assertReadable(user, cloneId, file);
  await assertReadable(user, fileId, file);

  const other = makeFile([200_000]);
  const transferId = await begin(user, other);
  await putAll(user, transferId, other);
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
  await powerCut();
  assert.deepEqual(
    (await listFiles(user)).map((record) => record.file_id),
    [cloneId],
  );
  assert.equal((await readVolume(user, fileId, 1)).status, 404);
  assert.equal((await complete(user, transferId)).status, 404);
  await assertTidyAfterCrash(service);
  await checkInvariants(service, user.token);
});

test('a file that was got is there after it, and so is what a journal keeps: whole, not only by name', async () => {
  await using own = await Disk.create('ext4', 32 * 1024 * 1024);
  const [engine, transport] = [nodeEngine({ threads: 1 }), nodeTransport()];
  const account = { username: freshName(), password: 'correct horse battery' };
  const szafa = await Szafa.register({ server: service.url, engine, transport }, account);
  try {
    // Written and synced in one call, and in several.
    const sizes = { small: 70_001, large: 700_001 };
    for (const [name, size] of Object.entries(sizes)) {
      const bytes = new Uint8Array(size).fill(size);
      const { fileId } = await szafa.upload(bytesSource(bytes), { path: name, volumeSize: 300_000 });
      await downloadToFile(await szafa.openFile(fileId), join(own.path, name));
      own.cutPower();
      await own.powerBack();
      // Not deepEqual, which would look for minutes for all that differs.
      assert.ok((await readFile(join(own.path, name))).equals(bytes), name);
    }
    const journal = fileJournal(join(own.path, 'journal'));
    await journal.store('key', Buffer.from('all of it'));
    // The system may write the folder at any time.
    execFileSync('sync', [join(own.path, 'journal')]);
    own.cutPower();
    await own.powerBack();
    assert.equal(Buffer.from((await journal.load('key'))!).toString(), 'all of it');
  } finally {
    transport.close();
    await engine.close();
  }
});

test('a power cut in the middle of everything', async () => {
  const random = seeded(seed);
  const actors = await Promise.all(Array.from({ length: 4 }, () => Actor.create(service, random)));
  for (let cuts = 0; cuts < usually(1, 10); cuts++) {
    const stop = new AbortController();
    const working = Promise.all(actors.map((actor) => actor.work(stop.signal)));
    await Promise.race([working, sleep(200 + random() * 300)]);
    // The processes first: else they would live to see their disk gone and answer with errors.
    await service.kill9();
    disk.cutPower();
    stop.abort();
    await working;
    await disk.powerBack();
    await service.start();
    await Promise.all(actors.map((actor) => actor.reconcile()));
  }
  await assertTidyAfterCrash(service);
});
