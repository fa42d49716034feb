import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN, headers as headerNames, limits, pathOf, toBase64 } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  complete,
  eventually,
  listFiles,
  type MadeFile,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  RawConnection,
  received,
  register,
  STRICT_QUOTA,
  sharedUser,
  storedOfSize,
  type User,
  useService,
  volumesInFolder,
} from '../harness/index.ts';

const service = useService();
const strict = useService(STRICT_QUOTA);
const initOf = (init: unknown) => ({ [headerNames.init]: toBase64(JSON.stringify(init)) });

test('a file of one volume in one request is a file like any other', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  for (const [size, dir] of [
    [0, null],
    [1, 0],
    [70_000, dirId],
    [2_000_000, undefined],
  ] as const) {
    const file = makeFile([size], { file_size: size + 5, ...(dir !== undefined && { dir_id: dir }) });
    const transferId = newTransferId();
    const answer = await putFile(user, transferId, file);
    assertOk(answer);
    const fileId = String(answer.json['file_id']);
    assert.deepEqual(answer.json, { status: 'done', file_id: fileId });
    await assertReadable(user, fileId, file);
    const [record] = await listFiles(user);
    assert.deepEqual(
      [record?.file_id, record?.size, record?.sha256, record?.dir_id, record?.chunk_count],
      [fileId, size + 5, file.init.total_sha256, dir || null, 1],
    );
    assert.deepEqual(await received(user, transferId), [1]);
    assertOk(await complete(user, transferId), { status: 'done', file_id: fileId });
  }
  const quota = await user.get(pathOf('quota'));
  assert.equal(quota.json['used_bytes'], 0 + 1 + 70_000 + 2_000_000 + 20);
  await assertNoLeftovers(service);
});

test('along a connection of its own, asked for first, and as one piece after the other', async () => {
  const user = await sharedUser(service);
  for (const more of [[], ['Expect: 100-continue'], ['TE: trailers']]) {
    const file = makeFile([50_000]);
    const connection = await RawConnection.open(service.url);
    const head = [
      `PUT ${pathOf('writeFile', { transfer_id: newTransferId() })} HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${user.token}`,
      `X-Init: ${initOf(file.init)['X-Init']}`,
      'Content-Length: 50000',
      ...more,
    ];
    connection.write(`${head.join('\r\n')}\r\n\r\n`);
    if (more[0]?.startsWith('Expect')) await connection.until(({ statuses }) => statuses.includes(100));
    connection.write(file.volumes[0]!.subarray(0, 30_000));
    connection.write(file.volumes[0]!.subarray(30_000));
    const { text } = await connection.until(({ statuses }) => statuses.some((status) => status >= 200));
    connection.destroy();
    assert.match(text, /HTTP\/1\.1 200 /);
    await assertReadable(user, /"file_id":"(\w+)"/.exec(text)![1]!, file);
  }
});

test('repeating it returns the same file, also when both come at once', async () => {
  const user = await register(service);
  const file = makeFile([4321]);
  const transferId = newTransferId();
  const answers = await Promise.all(Array.from({ length: 4 }, () => putFile(user, transferId, file)));
  for (const answer of answers) assertOk(answer, answers[0]!.json);
  assertOk(await putFile(user, transferId, file), answers[0]!.json);
  assert.equal((await listFiles(user)).length, 1);
  await assertReadable(user, String(answers[0]!.json['file_id']), file);
});

test('an id that is another transfer is 409, whoever has it', async () => {
  const [user, other] = [await register(service), await register(service)];
  const file = makeFile([100]);
  const taken = newTransferId();
  assertOk(await putFile(user, taken, file));
  assertError(await putFile(other, taken, file), 409);
  assertError(await putFile(user, taken, makeFile([100])), 409);
  assertError(await putFile(user, await begin(user, file), file), 409);
  assert.equal((await listFiles(user)).length, 1);
  assert.equal((await listFiles(other)).length, 0);
});

test('a volume that is not what X-Init says is 409 and leaves no trace', async () => {
  const user = await register(service);
  const good = makeFile([54_321]);
  const wrong: MadeFile[] = [
    { ...good, volumes: [Buffer.alloc(54_321)] },
    { ...good, volumes: [good.volumes[0]!.subarray(1)] },
    { ...good, volumes: [Buffer.concat([good.volumes[0]!, Buffer.alloc(1)])] },
  ];
  const transferId = newTransferId();
  for (const file of wrong) assertError(await putFile(user, transferId, file), 409);
  assert.deepEqual(await listFiles(user), []);
  if (volumesInFolder()) assert.equal(await storedOfSize(service, 54_321), 0);
  await assertNoLeftovers(service);
  assertOk(await putFile(user, transferId, good));
});

test('X-Init obeys the rules of init, and speaks of one volume', async () => {
  const user = await register(service);
  const file = makeFile([10]);
  const two = makeFile([5, 5]);
  const bad: Record<string, string>[] = [
    {},
    { 'X-Init': '' },
    { 'X-Init': 'not base64!' },
    { 'X-Init': toBase64('{') },
    { 'X-Init': Buffer.from('{"file_name":"\xff"}', 'latin1').toString('base64') },
    { 'X-Init': 'A'.repeat(limits.initBase64Bytes + 4) },
    initOf(null),
    initOf([]),
    initOf({ ...file.init, file_name: 7 }),
    initOf({ ...file.init, file_size: -1 }),
    initOf({ ...file.init, total_sha256: 'x' }),
    initOf({ ...file.init, chunks: [] }),
    initOf({ ...file.init, enc_params: [] }),
    initOf({ ...file.init, enc_params: undefined }),
    initOf({ ...file.init, dir_id: 'x' }),
    initOf({ ...file.init, chunks: [{ ...file.init.chunks[0], idx: 2 }] }),
    initOf({ ...file.init, chunk_count: 2 }),
    initOf(two.init),
  ];
  for (const headers of bad) assertError(await putFile(user, newTransferId(), file, headers), 400);
  for (const id of ['short', 'a'.repeat(65), 'with.a.dot.and.more.of.them']) {
    assertError(await putFile(user, id, file), 400);
  }
  assertError(await putFile(user, newTransferId(), makeFile([10], { dir_id: 999_999 })), 403);
  assert.deepEqual(await listFiles(user), []);
});

test("without a token it is 401; with the system token the file is the administrator's", async () => {
  const user: User = await register(service);
  const file = makeFile([10]);
  const call = (token: string) =>
    service.call({
      method: 'PUT',
      path: pathOf('writeFile', { transfer_id: newTransferId() }),
      token,
      body: file.volumes[0]!,
      headers: initOf(file.init),
    });
  assertDetail(await call(`${user.token}x`), 401);
  const done = await call(service.systemToken);
  assertOk(done);
  const listed = await service.call({ path: pathOf('listFiles'), token: service.systemToken });
  const mine = (listed.json['files'] as { file_id: string; user_id: string }[]).find(
    ({ file_id }) => file_id === done.json['file_id'],
  );
  assert.equal(mine?.user_id, ADMIN);
});

test('an enforced quota refuses what would pass it, and keeps nothing of it', async () => {
  const user = await register(strict);
  assertOk(await putFile(user, newTransferId(), makeFile([600])));
  assertError(await putFile(user, newTransferId(), makeFile([654])), 507);
  assertOk(await putFile(user, newTransferId(), makeFile([400])));
  if (volumesInFolder()) await eventually(async () => assert.equal(await storedOfSize(strict, 654), 0));
  const results = await Promise.all(
    Array.from({ length: 4 }, () => putFile(user, newTransferId(), makeFile([1]))),
  );
  for (const answer of results) assertError(answer, 507);
});
