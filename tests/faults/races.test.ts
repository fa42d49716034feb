import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertOk,
  assertReadable,
  begin,
  checkInvariants,
  complete,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  putVolume,
  readVolume,
  register,
  send,
  type User,
  upload,
  useService,
} from '../harness/index.ts';
import { assertTidy } from './disk.ts';

/** Many requests at the same moment, each on a connection of its own and so over all workers. */
const service = useService({ env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: '3' } });
const MANY = 12;

const many = <T>(work: (at: number) => Promise<T>, count = MANY): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => work(at)));

function counts(answers: Answer[]): Record<number, number> {
  const found: Record<number, number> = {};
  for (const { status } of answers) found[status] = (found[status] ?? 0) + 1;
  return found;
}

const clone = (user: User, fileId: string, dirId: number | null = null) =>
  user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: dirId });
const remove = (user: User, fileId: string) => user.delete(pathOf('deleteFile', { file_id: fileId }));
const move = (user: User, fileId: string, dirId: number | null) =>
  user.put(pathOf('moveFile', { file_id: fileId }), { dir_id: dirId });
const cancel = (user: User, transferId: string) => user.delete(pathOf('cancel', { transfer_id: transferId }));

/** Everything that must hold afterwards. */
async function check(...users: User[]): Promise<void> {
  for (const { token } of users) await checkInvariants(service, token);
  await assertTidy(service);
}

test('one name, many registrations; one directory name, many creations', async () => {
  const { username } = await register(service);
  const name = `${username.slice(0, 20)}_b`;
  const registered = await many(() =>
    send(service.url, {
      method: 'POST',
      path: pathOf('register'),
      json: { username: name, password: 'long enough' },
    }),
  );
  assert.deepEqual(counts(registered), { 200: 1, 409: MANY - 1 });
  const user = await register(service);
  assert.deepEqual(counts(await many(() => user.post(pathOf('createDir'), { name: 'same' }))), {
    200: 1,
    409: MANY - 1,
  });
});

test('many completes of one transfer: all say the same, one record', async () => {
  const user = await register(service);
  for (let round = 0; round < 3; round++) {
    const file = makeFile([2000, 150_000]);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const answers = await many(() => complete(user, transferId));
    assert.deepEqual(counts(answers), { 200: MANY });
    assert.equal(new Set(answers.map(({ json }) => json['file_id'])).size, 1);
    assert.equal((await listFiles(user)).length, round + 1);
    await assertReadable(user, String(answers[0]!.json['file_id']), file);
  }
  await check(user);
});

test('many PUTs of one volume, good and bad, and completes between them', async () => {
  const user = await register(service);
  const file = makeFile([300_000, 10]);
  const transferId = await begin(user, file);
  const bad = Buffer.alloc(300_000);
  const puts = await many((at) => putVolume(user, transferId, 1, at % 3 === 0 ? bad : file.volumes[0]!));
  assert.deepEqual(counts(puts), { 200: 8, 409: 4 });
  const [last, ...rest] = await Promise.all([
    putVolume(user, transferId, 2, file.volumes[1]!),
    ...Array.from({ length: MANY }, () => complete(user, transferId)),
    ...Array.from({ length: 4 }, () => putVolume(user, transferId, 1, file.volumes[0]!)),
  ]);
  assertOk(last!);
  for (const answer of rest) assert.ok([200, 409].includes(answer.status), answer.text);
  const done = await complete(user, transferId);
  assertOk(done);
  assert.equal((await listFiles(user)).length, 1);
  await assertReadable(user, String(done.json['file_id']), file);
  await check(user);
});

test('many clones of one file: one for each directory', async () => {
  const user = await register(service);
  const { fileId, file } = await upload(user, makeFile([150_000, 5]));
  const dirs = [null, await makeDir(user), await makeDir(user)];
  const answers = await many((at) => clone(user, fileId, dirs[at % 3]!));
  assert.deepEqual(counts(answers), { 200: 3, 409: MANY - 3 });
  const records = await listFiles(user);
  assert.equal(records.length, 4);
  for (const record of records) await assertReadable(user, record.file_id, file);
  await check(user);
});

test('many deletes of one file: one succeeds', async () => {
  const user = await register(service);
  const { fileId } = await upload(user);
  assert.deepEqual(counts(await many(() => remove(user, fileId))), { 200: 1, 404: MANY - 1 });
  await check(user);
});

test('a file that is read, moved, cloned and deleted at once', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  for (let round = 0; round < 4; round++) {
    const { fileId, file } = await upload(user, makeFile([200_000, 7]));
    const [reads, moves, clones, deletes] = await Promise.all([
      many(() => readVolume(user, fileId, 1), 4),
      many((at) => move(user, fileId, at % 2 ? dirId : null), 4),
      many((at) => clone(user, fileId, at % 2 ? dirId : null), 4),
      many(() => remove(user, fileId), 2),
    ]);
    for (const read of reads) {
      assert.ok([200, 404].includes(read.status), read.excerpt);
      if (read.status === 200) assert.ok(read.body.equals(file.volumes[0]!), 'half a volume');
    }
    for (const { status } of moves) assert.ok([200, 404].includes(status));
    for (const { status } of clones) assert.ok([200, 404, 409].includes(status));
    assert.deepEqual(counts(deletes), { 200: 1, 404: 1 });
    for (const answer of clones) {
      if (answer.status === 200) await assertReadable(user, String(answer.json['file_id']), file);
    }
  }
  await check(user);
});

test('a directory that goes away under moves, inits, clones and completes', async () => {
  const user = await register(service);
  for (let round = 0; round < 4; round++) {
    const dirId = await makeDir(user);
    const { fileId } = await upload(user, makeFile([500], { dir_id: dirId }));
    const other = await upload(user);
    const file = makeFile([500], { dir_id: dirId });
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const [removed, moved, begun, cloned, completed] = await Promise.all([
      many(() => user.delete(pathOf('deleteDir', { dir_id: dirId })), 3),
      many(() => move(user, other.fileId, dirId), 3),
      many(() => user.post(pathOf('init'), makeFile([5], { dir_id: dirId }).init), 3),
      clone(user, fileId, dirId),
      complete(user, transferId),
    ]);
    assert.deepEqual(counts(removed), { 200: 1, 404: 2 });
    for (const { status } of [...moved, ...begun]) assert.ok([200, 403].includes(status));
    assert.ok([200, 403].includes(cloned.status), cloned.text);
    assertOk(completed);
    for (const record of await listFiles(user))
      assert.equal(record.dir_id, null, 'in a directory that is no more');
    for (const answer of begun) {
      if (answer.status === 200) assertOk(await cancel(user, String(answer.json['transfer_id'])));
    }
  }
  await check(user);
});

test('cancel against complete and PUT: one of them wins, wholly', async () => {
  const user = await register(service);
  const won: Record<string, number> = { cancel: 0, complete: 0 };
  for (let round = 0; round < 12; round++) {
    const before = (await listFiles(user)).length;
    const file = makeFile([150_000]);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const [cancelled, done, put] = await Promise.all([
      cancel(user, transferId),
      complete(user, transferId),
      putVolume(user, transferId, 1, file.volumes[0]!),
    ]);
    assert.ok([200, 404, 409].includes(put.status), put.text);
    if (done.status === 200) {
      assert.ok([404, 409].includes(cancelled.status), cancelled.text);
      await assertReadable(user, String(done.json['file_id']), file);
      won['complete']!++;
    } else {
      assertOk(cancelled);
      // The volumes may be gone already when complete looks for them.
      assert.ok([404, 409].includes(done.status), done.text);
      won['cancel']!++;
    }
    assert.equal((await listFiles(user)).length, before + (done.status === 200 ? 1 : 0));
  }
  await check(user);
});
