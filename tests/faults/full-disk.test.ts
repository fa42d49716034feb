import assert from 'node:assert/strict';
import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  listFiles,
  makeFile,
  putAll,
  putVolume,
  received,
  register,
  type User,
  upload,
} from '../harness/index.ts';
import { assertTidy, groupsOnDisk } from './disk.ts';
import { Disk, MountedService } from './mounts.ts';

const MIB = 1024 * 1024;
let disk: Disk;
let service: MountedService;
let user: User;

before(async () => {
  disk = await Disk.create('tmpfs', 40 * MIB);
  service = new MountedService(disk, { env: { SZ_SWEEP_INTERVAL: '1' } });
  await service.start();
  user = await register(service);
});
afterEach(async (context) => {
  await rm(filler(), { force: true });
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `log of the service:\n${service.tail()}`);
});
after(async () => {
  await service.stop();
  await disk[Symbol.asyncDispose]();
});

const filler = () => join(disk.path, 'filler');

/** Takes every free byte but the last few. */
async function fill(leave = 0): Promise<void> {
  const file = await open(filler(), 'a');
  const block = Buffer.alloc(MIB);
  try {
    for (;;) {
      const { bavail, bsize } = await statfs(disk.path);
      const size = Math.min(block.length, bavail * bsize - leave);
      if (size <= 0) return;
      await file.write(block.subarray(0, size));
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
}

test('what cannot fit is refused at init and before a volume is read', async () => {
  const tooLarge = makeFile([60 * MIB]);
  assertError(await user.post(pathOf('init'), tooLarge.init), 507);
  const file = makeFile([8 * MIB]);
  const transferId = await begin(user, file);
  await fill(2 * MIB);
  assertError(await putVolume(user, transferId, 1, file.volumes[0]!), 507);
  assert.deepEqual(await received(user, transferId), []);
  await assertNoLeftovers(service);
  await rm(filler());
  assertOk(await putVolume(user, transferId, 1, file.volumes[0]!));
  assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
  await assertTidy(service);
});

for (const announced of [true, false]) {
  test(`a disk that fills up under a volume (length ${announced ? 'announced' : 'unknown'}): 507, nothing left, what was there before stays`, async () => {
    const kept = await upload(user, makeFile([500_000, 10]));
    const file = makeFile([9 * MIB, 300_000]);
    const transferId = await begin(user, file);
    assertOk(await putVolume(user, transferId, 2, file.volumes[1]!));
    const [bytes] = file.volumes;
    async function* slowly() {
      yield bytes!.subarray(0, 5 * MIB);
      await sleep(300);
      await fill();
      yield bytes!.subarray(5 * MIB);
    }
    const headers: Record<string, string> = announced ? { 'content-length': String(bytes!.length) } : {};
    assertError(await putVolume(user, transferId, 1, slowly(), headers), 507);
    assert.deepEqual(await received(user, transferId), [2]);
    await assertNoLeftovers(service);
    await assertReadable(user, kept.fileId, kept.file);
    await rm(filler());
    await putAll(user, transferId, file);
    const done = await complete(user, transferId);
    assertOk(done);
    await assertReadable(user, String(done.json['file_id']), file);
    assertOk(await user.delete(pathOf('deleteFile', { file_id: String(done.json['file_id']) })));
    await assertTidy(service);
  });
}

test('a disk without a byte: reading goes on, writing says so, and all works again with room', async () => {
  const kept = await upload(user, makeFile([500_000, 10]));
  const file = makeFile([400_000]);
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const groups = (await groupsOnDisk(service)).length;
  const before = (await listFiles(user)).length;
  await fill();

  assertError(await user.post(pathOf('init'), makeFile([10]).init), 507);
  assert.equal((await groupsOnDisk(service)).length, groups, 'a refused init left its group');
  assertError(await putVolume(user, transferId, 1, file.volumes[0]!), 507);
  const failed = await complete(user, transferId);
  assertError(failed, 409);
  assert.equal(failed.json['status'], 'failed');
  assert.equal((await listFiles(user)).length, before);
  assertError(await user.post(pathOf('cloneFile', { file_id: kept.fileId })), 507, 409);
  await assertReadable(user, kept.fileId, kept.file);
  await checkInvariants(service, user.token);

  await rm(filler());
  const done = await complete(user, transferId);
  assertOk(done);
  await assertReadable(user, String(done.json['file_id']), file);
  assertOk(await user.post(pathOf('cloneFile', { file_id: kept.fileId })));
  await assertTidy(service);
  await checkInvariants(service, user.token);
  assert.doesNotMatch(service.log, /worker died/);
});

test('a service starts on a full disk, and what it holds can be read', async () => {
  const kept = await upload(user, makeFile([100_000]));
  await fill();
  await service.kill9();
  await service.start();
  await assertReadable(user, kept.fileId, kept.file);
  await rm(filler());
  assertOk(await user.delete(pathOf('deleteFile', { file_id: kept.fileId })));
});
