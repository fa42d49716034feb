import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  answersIn,
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  batched,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  makeFile,
  newTransferId,
  putAll,
  putFile,
  putFiles,
  putVolume,
  readVolume,
  received,
  register,
  Service,
  type User,
  upload,
  volumeName,
} from '../harness/index.ts';
import { assertTidy, groupsOnDisk } from './disk.ts';
import { workersAnswer } from './processes.ts';
import { type Injection, Tracer } from './strace.ts';

/** System calls of the one worker fail as told; afterwards they work again. */
const service = new Service({ env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '1' } });
let user: User;
const SIZES = [300_001, 7];
before(async () => {
  await service.start();
  user = await register(service);
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `log of the service:\n${service.tail()}`);
});
after(() => service.stop());

async function during<T>(injection: Injection, work: () => Promise<T>): Promise<T> {
  const tracer = await Tracer.attach(await workersAnswer(service, 1), injection);
  try {
    return await work();
  } finally {
    await tracer[Symbol.asyncDispose]();
  }
}

const failing = (calls: string, error: string): Injection => ({ calls, fault: `error=${error}` });
const database = (calls: string, error: string): Injection => ({
  ...failing(calls, error),
  mainThread: true,
});

/** Where a commit is made durable. */
const inLog = (error: string): Injection => ({
  ...failing('fdatasync', error),
  get path() {
    return join(service.data, 'szafa.db-wal');
  },
});

for (const [calls, error] of [
  ['pwrite64', 'ENOSPC'],
  ['fdatasync', 'ENOSPC'],
  ['rename', 'EDQUOT'],
] as const) {
  test(`PUT with ${error} at ${calls}: 507, nothing left, earlier volumes intact, then it works`, async () => {
    const file = makeFile(SIZES);
    const transferId = await begin(user, file);
    assertOk(await putVolume(user, transferId, 2, file.volumes[1]!));
    const refused = await during(failing(calls, error), () =>
      putVolume(user, transferId, 1, file.volumes[0]!),
    );
    assertError(refused, 507);
    assert.deepEqual(await received(user, transferId), [2]);
    await assertNoLeftovers(service);
    await putAll(user, transferId, file);
    const done = await complete(user, transferId);
    assertOk(done);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

test('PUT over a volume that is there, with an I/O error: 409, the old bytes stay', async () => {
  const file = makeFile(SIZES);
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  for (const calls of ['pwrite64', 'fdatasync', 'rename']) {
    const answer = await during(failing(calls, 'EIO'), () =>
      putVolume(user, transferId, 1, file.volumes[0]!),
    );
    assertError(answer, 409);
  }
  await eventually(async () => assert.match(service.log, /EIO/, 'whoever runs the service is told why'));
  await assertNoLeftovers(service);
  const done = await complete(user, transferId);
  assertOk(done);
  await assertReadable(user, String(done.json['file_id']), file);
});

for (const [name, injection, status] of [
  ['its volume', failing('pwrite64', 'EIO'), 409],
  ['its volume, full disk', failing('pwrite64', 'ENOSPC'), 507],
  ['the commit of the database', inLog('EIO'), 409],
] as const) {
  test(`a file in one request with an OS failure at ${name}: ${status}, and repeating it works`, async () => {
    const file = makeFile([70_000]);
    const transferId = newTransferId();
    const before = (await listFiles(user)).length;
    assertError(await during(injection, () => putFile(user, transferId, file)), status);
    const done = await putFile(user, transferId, file);
    assertOk(done);
    assert.equal((await listFiles(user)).length, before + 1);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

test('of several files in one request an OS failure refuses those that it meets, or all, and repeating it works', async () => {
  for (const [injection, status] of [
    [failing('pwrite64', 'EIO'), 200],
    [failing('pwrite64', 'ENOSPC'), 200],
    [failing('fsync', 'EIO'), 200],
    [inLog('EIO'), 409],
    [inLog('ENOSPC'), 507],
  ] as const) {
    const files = [1, 2, 3].map(() => batched(makeFile([70_000])));
    const before = (await listFiles(user)).length;
    const failed = await during(injection, () => putFiles(user, files));
    assert.equal(failed.status, status, failed.text);
    if (status === 200) {
      const made = answersIn(failed).filter(({ file_id }) => file_id !== undefined);
      assert.ok(made.length < files.length, failed.text);
      assert.equal((await listFiles(user)).length, before + made.length);
    }
    const done = await putFiles(user, files);
    assertOk(done);
    assert.equal((await listFiles(user)).length, before + files.length);
    for (const [at, { file }] of files.entries()) {
      await assertReadable(user, answersIn(done)[at]!.file_id!, file);
    }
  }
});

for (const [name, injection] of [
  ['the database', database('pwrite64', 'ENOSPC')],
  ['the commit of the database', inLog('ENOSPC')],
] as const) {
  test(`init on a disk that is full at ${name}: 507 and no trace of it`, async () => {
    const before = (await groupsOnDisk(service)).length;
    const file = makeFile(SIZES);
    assertError(await during(injection, () => user.post(pathOf('init'), file.init)), 507);
    assert.equal((await groupsOnDisk(service)).length, before, 'a group was left');
    await assertNoLeftovers(service);
    await upload(user, file);
  });
}

test('init with an I/O error at the commit of the database: 503 and no trace of it, then it works', async () => {
  const before = (await groupsOnDisk(service)).length;
  const file = makeFile(SIZES);
  assertError(await during(inLog('EIO'), () => user.post(pathOf('init'), file.init)), 503);
  assert.equal((await groupsOnDisk(service)).length, before, 'a group was left');
  await assertNoLeftovers(service);
  await upload(user, file);
});

for (const [name, injection] of [
  ['the manifest', failing('rename', 'EIO')],
  ['the manifest, full disk', failing('rename', 'ENOSPC')],
  ['the database, full disk', database('pwrite64', 'ENOSPC')],
  ['the commit of the database', inLog('EIO')],
] as const) {
  test(`complete with an OS failure at ${name}: 409 failed, the next one succeeds`, async () => {
    const file = makeFile(SIZES);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const before = (await listFiles(user)).length;
    const failed = await during(injection, () => complete(user, transferId));
    assertError(failed, 409);
    assert.equal(failed.json['status'], 'failed');
    assert.equal((await listFiles(user)).length, before, 'half-done and listed');
    const done = await complete(user, transferId);
    assertOk(done);
    assert.equal(done.json['status'], 'done');
    assert.equal((await listFiles(user)).length, before + 1);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

test('delete with an OS failure: 409, the file is still listed and readable; then it goes', async () => {
  const { fileId, transferId, file } = await upload(user, makeFile(SIZES));
  for (const error of ['EIO', 'EACCES']) {
    const refused = await during(failing('rename', error), () =>
      user.delete(pathOf('deleteFile', { file_id: fileId })),
    );
    assertError(refused, 409);
    assert.ok((await listFiles(user)).some((record) => record.file_id === fileId));
    await assertReadable(user, fileId, file);
    await checkInvariants(service, user.token);
  }
  const full = await during(database('pwrite64', 'ENOSPC'), () =>
    user.delete(pathOf('deleteFile', { file_id: fileId })),
  );
  assertError(full, 409);
  await assertReadable(user, fileId, file);
  assertOk(await complete(user, transferId), { status: 'done', file_id: fileId });
  assertOk(await user.delete(pathOf('deleteFile', { file_id: fileId })));
  assertError(await complete(user, transferId), 404);
  assert.equal((await readVolume(user, fileId, 1)).status, 404);
  await assertTidy(service);
});

for (const [name, injection] of [
  ['mkdir', failing('mkdir', 'EIO')],
  ['the copy', failing('fchmod', 'EIO')],
  ['the sync', failing('fsync', 'EIO')],
] as const) {
  test(`clone with an OS failure at ${name}: 409, nothing left, the source untouched`, async () => {
    const { fileId, file } = await upload(user, makeFile(SIZES));
    const before = (await listFiles(user)).length;
    const refused = await during(injection, () => user.post(pathOf('cloneFile', { file_id: fileId })));
    assertError(refused, 409);
    assert.equal((await listFiles(user)).length, before);
    await assertReadable(user, fileId, file);
    await assertTidy(service);
    assertOk(await user.post(pathOf('cloneFile', { file_id: fileId })));
  });
}

test('a volume that cannot be read breaks the connection off; it never ends as if it were whole', async () => {
  const { fileId, file } = await upload(user, makeFile([3_000_000]));
  const name = volumeName(1, file.volumes[0]!);
  const path = join(service.data, 'volumes', fileId.slice(0, 2), fileId, name);
  await during({ ...failing('pread64', 'EIO'), path }, async () => {
    await assert.rejects(readVolume(user, fileId, 1), { code: 'ECONNRESET' });
  });
  const closed = await during({ ...failing('open', 'EIO'), path }, () => readVolume(user, fileId, 1));
  assertError(closed, 503);
  await assertReadable(user, fileId, file);
});

test('after all that: one worker, never replaced, sums right, every file whole', async () => {
  assert.doesNotMatch(service.log, /worker died/);
  await checkInvariants(service, user.token);
  await service.restart();
  await assertTidy(service);
  await checkInvariants(service, user.token);
});
