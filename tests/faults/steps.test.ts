import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  type Answer,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  checkInvariants,
  complete,
  completeStreamed,
  eventually,
  listFiles,
  type MadeFile,
  makeDir,
  makeFile,
  putAll,
  putStreamed,
  putVolume,
  received,
  register,
  Service,
  sha256,
  type User,
  upload,
  usually,
} from '../harness/index.ts';
import { assertTidyAfterCrash } from './disk.ts';
import { workersAnswer } from './processes.ts';
import { type Injection, Tracer } from './strace.ts';

/** A worker is killed at one exact system call of an operation; the other one and the primary live on. */
const WORKERS = 2;
const SIZES = [200_001, 10];

const service = new Service({ env: { SZ_SWEEP_INTERVAL: '1', SZ_WORKERS: String(WORKERS) } });
let user: User;
let kills = 0;

before(async () => {
  await service.start();
  user = await register(service);
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `log of the service:\n${service.tail()}`);
});
after(() => service.stop());

/** Any thread, or the main thread, where the database is; `when` counts there. */
const at = (calls: string): Injection => ({ calls, fault: 'signal=KILL:when=1' });
const inDatabase = (calls: string, when: number): Injection => ({
  calls,
  fault: `signal=KILL:when=${when}`,
  mainThread: true,
});

/** Where a commit is made durable. */
const inLog = (): Injection => ({
  ...at('fdatasync'),
  get path() {
    return join(service.data, 'szafa.db-wal');
  },
});

/** Sends the request while the call is armed; the answer must not come, `orItDoes` where it may not take so many calls. */
async function killedAt(
  injection: Injection,
  request: () => Promise<Answer>,
  { orItDoes = false } = {},
): Promise<void> {
  const workers = await workersAnswer(service, WORKERS);
  const tracer = await Tracer.attach(workers, injection);
  try {
    const answer = await request().catch((error: NodeJS.ErrnoException) => error);
    if (answer instanceof Error) kills++;
    else assert.ok(orItDoes, `never reached ${injection.calls} (${injection.fault})`);
  } finally {
    await tracer[Symbol.asyncDispose]();
  }
}

const name = ({ calls, fault, mainThread, path }: Injection) =>
  path
    ? `${calls} of the log`
    : `${calls} ${mainThread ? `of the database, ${fault.replace(/.*=/, 'number ')}` : 'of a file'}`;

for (const step of [inDatabase('pwrite64', 1), inLog()]) {
  test(`init, killed at ${name(step)}: no half transfer, the next one works`, async () => {
    const file = makeFile(SIZES);
    await killedAt(step, () => user.post(pathOf('init'), file.init));
    const transferId = await begin(user, file);
    assert.deepEqual(await received(user, transferId), []);
    assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId })));
  });
}

for (const step of [at('pwrite64'), at('ftruncate'), at('fdatasync'), at('rename'), at('fsync')]) {
  test(`PUT, killed at ${name(step)}: what was acknowledged stays, the volume can come again`, async () => {
    const file = makeFile(SIZES);
    const transferId = await begin(user, file);
    assertOk(await putVolume(user, transferId, 2, file.volumes[1]!));
    await killedAt(step, () => putVolume(user, transferId, 1, file.volumes[0]!));
    const here = (await received(user, transferId)) as number[];
    assert.ok(here.includes(2), 'an acknowledged volume is gone');
    if (step.calls !== 'fsync') assert.deepEqual(here, [2], 'a volume counts before it is in its place');
    assertOk(await putVolume(user, transferId, 1, file.volumes[0]!));
    const done = await complete(user, transferId);
    assertOk(done);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

// The last two are between the durable bytes and the row that says so, and between that row and its answer.
for (const [round, step] of [
  at('fdatasync'),
  at('rename'),
  at('fsync'),
  inDatabase('pwrite64', 1),
  inLog(),
].entries()) {
  test(`PUT of a streamed transfer, killed at ${name(step)}: what was acknowledged stays, the volume can come again`, async () => {
    const file = makeFile(SIZES);
    const transferId = await beginStreamed(user, file, round % 2 ? 'sized' : 'unsized');
    assertOk(await putStreamed(user, transferId, 2, file.volumes[1]!));
    await killedAt(step, () => putStreamed(user, transferId, 1, file.volumes[0]!));
    const here = (await received(user, transferId)) as number[];
    assert.ok(here.includes(2), 'an acknowledged volume is gone');
    if (step.path === undefined) assert.deepEqual(here, [2], 'a volume counts before its row is there');
    assertOk(await putStreamed(user, transferId, 1, file.volumes[0]!));
    assertOk(await putStreamed(user, transferId, 2, file.volumes[1]!));
    const done = await completeStreamed(user, transferId, file);
    assertOk(done);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

for (const step of [inDatabase('pwrite64', 1), inLog(), at('rename'), inDatabase('pwrite64', 9)]) {
  test(`complete of a streamed transfer, killed at ${name(step)}: one file in the end`, async () => {
    const file = makeFile(SIZES);
    const transferId = await beginStreamed(user, file, 'unsized');
    for (const [at, bytes] of file.volumes.entries()) await putStreamed(user, transferId, at + 1, bytes);
    const before = await listFiles(user);
    await killedAt(step, () => completeStreamed(user, transferId, file));
    const answers = await Promise.all([1, 2].map(() => completeStreamed(user, transferId, file)));
    for (const answer of answers) assertOk(answer);
    const [one, two] = answers.map(({ json }) => json['file_id']);
    assert.equal(one, two);
    assertError(await completeStreamed(user, transferId, file, { file_size: 1 }), 409);
    assert.equal((await listFiles(user)).length - before.length, 1, 'not exactly one record');
    await assertReadable(user, String(one), file);
  });
}

for (const step of [inDatabase('pwrite64', 1), inLog(), at('rename'), inDatabase('pwrite64', 9)]) {
  test(`complete, killed at ${name(step)}: one file in the end`, async () => {
    const file = makeFile(SIZES);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    const before = await listFiles(user);
    await killedAt(step, () => complete(user, transferId));
    const answers = await Promise.all([complete(user, transferId), complete(user, transferId)]);
    for (const answer of answers) assertOk(answer);
    const [one, two] = answers.map(({ json }) => json['file_id']);
    assert.equal(one, two);
    const added = (await listFiles(user)).length - before.length;
    assert.equal(added, 1, 'not exactly one record');
    await assertReadable(user, String(one), file);
  });
}

for (const step of [inLog(), at('mkdir'), at('copy_file_range'), at('rename')]) {
  test(`clone, killed at ${name(step)}: a whole copy or none`, async () => {
    const { fileId, file } = await upload(user, makeFile(SIZES));
    const before = new Set((await listFiles(user)).map((record) => record.file_id));
    await killedAt(step, () => user.post(pathOf('cloneFile', { file_id: fileId })));
    const added = (await listFiles(user)).filter((record) => !before.has(record.file_id));
    assert.ok(added.length <= 1);
    for (const record of added) await assertReadable(user, record.file_id, file);
    await assertReadable(user, fileId, file);
  });
}

for (const step of [inDatabase('pwrite64', 1), inLog(), at('rename')]) {
  test(`delete, killed at ${name(step)}: the file is there or gone`, async () => {
    const { fileId, file } = await upload(user, makeFile(SIZES));
    await killedAt(step, () => user.delete(pathOf('deleteFile', { file_id: fileId })));
    const listed = (await listFiles(user)).some((record) => record.file_id === fileId);
    if (listed) await assertReadable(user, fileId, file);
    const again = await user.delete(pathOf('deleteFile', { file_id: fileId }));
    assert.equal(again.status, listed ? 200 : 404, again.text);
  });
}

for (const step of [inDatabase('pwrite64', 2), inLog()]) {
  test(`move, killed at ${name(step)}: in the one directory or the other, and its manifest too`, async () => {
    const { fileId, file } = await upload(user, makeFile(SIZES));
    const dirId = await makeDir(user);
    await killedAt(step, () => user.put(pathOf('moveFile', { file_id: fileId }), { dir_id: dirId }));
    const record = (await listFiles(user)).find((one) => one.file_id === fileId);
    assert.ok(record && [null, dirId].includes(record.dir_id));
    const manifest = join(service.data, 'volumes', fileId.slice(0, 2), fileId, 'manifest.json');
    await eventually(async () => {
      assert.equal(JSON.parse(await readFile(manifest, 'utf8')).dir_id, record.dir_id ?? 0);
    });
    await assertReadable(user, fileId, file);
    await checkInvariants(service, user.token);
  });
}

/** What is done to several files at once, and where each of them is then. */
const placeOf = async (fileIds: string[]): Promise<string[]> => {
  const listed = new Map((await listFiles(user)).map((record) => [record.file_id, record.file_name]));
  const { files } = (await user.get(pathOf('listTrash'))).json as { files: { file_id: string }[] };
  const trashed = new Set(files.map(({ file_id }) => file_id));
  return fileIds.map((id) => listed.get(id) ?? (trashed.has(id) ? 'in the trash' : 'gone'));
};
const encParams = Buffer.from('{"other":1}').toString('base64');
const MATCH = sha256(Buffer.from(encParams));
const batches: [string, from: string, to: string, act: (files: string[]) => Promise<Answer>][] = [
  ['names', 'before', 'after', (files) => user.post(pathOf('renameFiles'), { files: files.map(renamed) })],
  ['the trash', 'before', 'in the trash', (files) => user.post(pathOf('trashFiles'), { files })],
  ['a restore', 'in the trash', 'before', (files) => user.post(pathOf('restoreFiles'), { files })],
  [
    'emptying',
    'in the trash',
    'gone',
    (files) => user.call('DELETE', pathOf('emptyTrash'), { json: { files } }),
  ],
];
const renamed = (file_id: string) => ({ file_id, file_name: 'after', enc_params: encParams, match: MATCH });

for (const [round, [what, from, to, act]] of batches.entries()) {
  const both = [inDatabase('pwrite64', 2), inLog()];
  for (const step of usually([both[round % 2]!], both)) {
    test(`${what}, killed at ${name(step)}: all of the files, or none, and again is the same`, async () => {
      const made = makeFile([300], { file_name: 'before', enc_params: { other: 1 } });
      const fileIds: string[] = [];
      for (let at = 0; at < 3; at++) fileIds.push((await upload(user, made)).fileId);
      if (from === 'in the trash') assertOk(await user.post(pathOf('trashFiles'), { files: fileIds }));
      await killedAt(step, () => act(fileIds));
      const [first, ...others] = await placeOf(fileIds);
      assert.ok(first === from || first === to, String(first));
      assert.deepEqual(others, [first, first], 'only some of them');
      assertOk(await act(fileIds));
      assert.deepEqual(await placeOf(fileIds), [to, to, to]);
      if (to === 'in the trash') assertOk(await user.post(pathOf('restoreFiles'), { files: fileIds }));
      if (to !== 'gone') for (const fileId of fileIds) await assertReadable(user, fileId, made);
      await checkInvariants(service, user.token);
    });
  }
}

test('a start finishes what was being stored, without the client', async () => {
  const file: MadeFile = makeFile(SIZES);
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  const before = await listFiles(user);
  await killedAt(at('rename'), async () => {
    const answer = complete(user, transferId);
    // The primary must not get to finish it first.
    return answer.finally(() => service.kill9());
  });
  await service.start();
  const after = await listFiles(user);
  assert.equal(after.length, before.length + 1);
  await assertReadable(user, after[0]!.file_id, file);
  assertOk(await complete(user, transferId), { status: 'done', file_id: after[0]!.file_id });
});

const steps = (numbers: number[]) => [...numbers.map((when) => inDatabase('pwrite64', when)), inLog()];
const logIn = (json: object): Promise<Answer> =>
  service.call({ method: 'POST', path: pathOf('login'), json });

for (const step of steps([1, 5])) {
  test(`change of password, killed at ${name(step)}: the old one or the new one, with its keys`, async () => {
    const { username, password: current, token } = await register(service);
    const account = {
      call: (method: string, path: string, more: object) => service.call({ method, path, token, ...more }),
    };
    const bags = { [current]: 'b2xk', 'next password': 'bmV3' };
    const write = { json: { password: current, keys: bags[current] }, headers: { 'if-none-match': '*' } };
    const stored = await account.call('PUT', pathOf('writeKeys'), write);
    assertOk(stored);
    const other = String((await logIn({ username, password: current })).json['token']);
    const change = { current, next: 'next password', keys: bags['next password'] };
    const headers = { 'if-match': String(stored.headers['etag']) };
    await killedAt(step, () => account.call('POST', pathOf('changePassword'), { json: change, headers }));
    const right: string[] = [];
    for (const password of Object.keys(bags)) {
      const answer = await logIn({ username, password });
      if (answer.status !== 200) {
        assertError(answer, 401);
        continue;
      }
      right.push(password);
      const keys = await service.call({ path: pathOf('readKeys'), token: String(answer.json['token']) });
      assertOk(keys, { keys: bags[password] });
    }
    assert.equal(right.length, 1, 'neither, or both');
    const { status } = await service.call({ path: pathOf('me'), token: other });
    assert.equal(status, right[0] === current ? 200 : 401, 'the other sessions end with the old password');
  });
}

// The last ones are in the steps after the first, from which on nobody can use the account.
const late = inDatabase('pwrite64', 40);
for (const step of [...steps([2, 20]), late]) {
  test(`end of an account, killed at ${name(step)}: all of it is there, or it goes by itself`, async () => {
    const leaver = await register(service);
    const { username, password } = leaver;
    const dirId = await makeDir(leaver);
    const [filed, open] = [await upload(leaver, makeFile([700], { dir_id: dirId })), makeFile([30])];
    await begin(leaver, open);
    const leave = () => leaver.call('DELETE', pathOf('leave'), { json: { password } });
    // How many pages a step writes depends on what else is in the log.
    await killedAt(step, leave, { orItDoes: step === late });
    const again = await logIn({ username, password });
    if (again.status === 200) {
      assert.ok(step.mainThread, 'it was committed');
      await assertReadable(leaver, filed.fileId, filed.file);
      assert.equal((await listFiles(leaver)).length, 1);
      assertOk(await leave());
    } else assertError(again, 401);
    await eventually(async () => {
      const next = await register(service, username);
      assert.deepEqual(await listFiles(next), []);
      assertOk(await next.get(pathOf('listDirs')), { dirs: [] });
      assertOk(await next.call('DELETE', pathOf('leave'), { json: { password: next.password } }));
    });
  });
}

test('after all that: sums right, every file whole, nothing left over', async (t) => {
  await checkInvariants(service, user.token);
  await service.restart();
  await assertTidyAfterCrash(service);
  await checkInvariants(service, user.token);
  t.diagnostic(`${kills} kills`);
});
