/** Many small files in one request. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { limits, pathOf } from '@szafa/protocol';
import {
  type Answer,
  answersIn,
  assertDetail,
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  type Batched,
  batched,
  begin,
  eventually,
  filesBelow,
  filesBody,
  inPieces,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  putFiles,
  RawConnection,
  received,
  register,
  STRICT_QUOTA,
  sharedUser,
  storedOfSize,
  testInFolder,
  type User,
  useService,
  volumesInFolder,
} from '../harness/index.ts';

const service = useService();
const strict = useService(STRICT_QUOTA);
const PATH = pathOf('writeFiles');
const statusesIn = (answer: Answer) => answersIn(answer).map(({ status }) => status);
const send = (user: User, body: Buffer | ReturnType<typeof inPieces>) => user.call('POST', PATH, { body });

/** Which of them are files, and that there are no others. */
async function assertFiled(user: User, files: Batched[], answer: Answer): Promise<void> {
  assertOk(answer);
  const answers = answersIn(answer);
  assert.equal(answers.length, files.length);
  for (const [at, { id, file }] of files.entries()) {
    const { status, file_id: fileId, error } = answers[at]!;
    assert.equal(error === undefined, status === 200, answer.text);
    assert.equal(fileId !== undefined, status === 200, answer.text);
    if (fileId === undefined) continue;
    await assertReadable(user, fileId, file);
    assert.deepEqual(await received(user, id), [1]);
  }
  const ids = new Set(answers.flatMap(({ file_id }) => file_id ?? []));
  assert.deepEqual(new Set((await listFiles(user)).map(({ file_id }) => file_id)), ids);
}

/** Nothing of it is there, and all of it can be sent again. */
async function assertNoTrace(user: User, files: Batched[]): Promise<void> {
  assert.deepEqual(await listFiles(user), []);
  await assertNoLeftovers(service);
  if (volumesInFolder()) {
    for (const { file } of files) {
      await eventually(async () => assert.equal(await storedOfSize(service, file.volumes[0]!.length), 0));
    }
  }
  await assertFiled(user, files, await putFiles(user, files));
}

test('each is a file like any other, in the order in which they came', async () => {
  const user = await register(service);
  const dirId = await makeDir(user);
  const sizes = [0, 1, 65_536, 0, 65_537, 200_000, 2_000_000, 131_072, 131_073, 3];
  const files = sizes.map((size, at) =>
    batched(makeFile([size], { file_size: size + 5, dir_id: at % 2 ? dirId : null })),
  );
  await assertFiled(user, files, await putFiles(user, files));
  const records = (await listFiles(user)).reverse();
  assert.deepEqual(
    records.map(({ size, dir_id }) => [size, dir_id]),
    sizes.map((size, at) => [size + 5, at % 2 ? dirId : null]),
  );
  const { json } = await user.get(pathOf('quota'));
  assert.equal(
    json['used_bytes'],
    sizes.reduce((sum, size) => sum + size + 5, 0),
  );
  await assertNoLeftovers(service);
});

test('as many as there may be, in pieces of any size, and asked for first', async () => {
  const user = await register(service);
  const most = Array.from({ length: limits.batchFiles }, () =>
    batched(makeFile([limits.batchBytes / limits.batchFiles])),
  );
  const some = [batched(makeFile([70_000])), batched(makeFile([9])), batched(makeFile([100_000]))];
  const one = [batched(makeFile([1000]))];
  const first = await putFiles(user, most);
  const second = await send(user, inPieces(filesBody(some)));
  const connection = await RawConnection.open(service.url);
  const body = filesBody(one);
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${user.token}`];
  const more = ['Expect: 100-continue', `Content-Length: ${body.length}`];
  connection.write(`${[...head, ...more].join('\r\n')}\r\n\r\n`);
  await connection.until(({ statuses }) => statuses.includes(100));
  for (let at = 0; at < body.length; at += 100) connection.write(body.subarray(at, at + 100));
  const { text } = await connection.until(({ statuses }) => statuses.includes(200));
  connection.destroy();
  const third = JSON.parse(text.slice(text.lastIndexOf('\r\n\r\n'))) as Record<string, unknown>;
  const all = [first, second, { ...second, json: third }].flatMap(answersIn);
  await assertFiled(user, [...most, ...some, ...one], { ...first, json: { files: all } });
});

test('repeating it returns the same files, also at once, in other company, and twice in one', async () => {
  const user = await register(service);
  const files = Array.from({ length: 6 }, (_, at) => batched(makeFile([1000 + at])));
  const answers = await Promise.all(Array.from({ length: 4 }, () => putFiles(user, files)));
  for (const answer of answers) assertOk(answer, answers[0]!.json);
  await assertFiled(user, files, await putFiles(user, files));
  const [first, second] = files as [Batched, Batched];
  const more = [second, batched(makeFile([7])), first, second];
  const known = answersIn(answers[0]!);
  const mixed = await putFiles(user, more);
  assert.deepEqual(statusesIn(mixed), [200, 200, 200, 200]);
  const ids = answersIn(mixed).map(({ file_id }) => file_id);
  const [a, b] = known.map(({ file_id }) => file_id);
  assert.deepEqual([ids[0], ids[2], ids[3]], [b, a, b]);
  assertOk(await putFile(user, first.id, first.file), { status: 'done', file_id: a });
  assert.equal((await listFiles(user)).length, 7);
  const twice = batched(makeFile([8]));
  const [one, other] = answersIn(await putFiles(user, [twice, twice]));
  assert.ok(one?.file_id);
  assert.equal(one.file_id, other?.file_id);
  assert.equal((await listFiles(user)).length, 8);
});

test('what is wrong with one of them is its own, and the same as by itself', async () => {
  const user = await register(service);
  const other = await register(service);
  const good = makeFile([54_323]);
  const taken = newTransferId();
  assertOk(await putFile(other, taken, good));
  const open = await begin(other, good);
  const two = makeFile([5, 5]);
  const wrong: [file: Batched, status: number][] = [
    [batched({ ...good, volumes: [Buffer.alloc(54_323)] }), 409],
    [batched({ ...good, volumes: [good.volumes[0]!.subarray(1)] }), 409],
    [batched({ ...good, volumes: [Buffer.concat([good.volumes[0]!, Buffer.alloc(1)])] }), 409],
    [{ id: taken, file: good }, 409],
    [{ id: open, file: good }, 409],
    [{ id: 'short', file: good }, 400],
    [{ id: 'a'.repeat(65), file: good }, 400],
    [batched(good, { init: '' }), 400],
    [batched(good, { init: 'not base64!' }), 400],
    [batched(good, { init: 'A'.repeat(limits.initBase64Bytes + 4) }), 400],
    [batched({ ...good, init: two.init }), 400],
    [batched({ ...good, init: { ...good.init, file_size: -1 } }), 400],
    [batched(makeFile([100], { dir_id: 999_999 })), 403],
  ];
  for (const [file, status] of wrong) {
    const before = batched(makeFile([70_001]));
    const after = batched(makeFile([70_002]));
    const answer = await putFiles(user, [before, file, after]);
    assert.deepEqual(statusesIn(answer), [200, status, 200], answer.text);
    const ids = answersIn(answer).map(({ file_id }) => file_id);
    await assertReadable(user, ids[0]!, before.file);
    await assertReadable(user, ids[2]!, after.file);
    if (file.over) continue;
    const alone = await putFile(user, file.id, file.file);
    assertError(alone, status);
    assert.equal(alone.json['error'], answersIn(answer)[1]!.error?.replace('files/1/init', 'X-Init'));
  }
  assert.equal((await listFiles(user)).length, 2 * wrong.length);
  if (volumesInFolder()) await eventually(async () => assert.equal(await storedOfSize(service, 54_323), 1));
  const none = await putFiles(
    user,
    wrong.map(([file]) => file),
  );
  assert.deepEqual(
    statusesIn(none),
    wrong.map(([, status]) => status),
  );
  await assertNoLeftovers(service);
});

test('a body that is not what its first line says is refused whole, and leaves no trace', async () => {
  const user = await register(service);
  const files = [batched(makeFile([54_331])), batched(makeFile([54_332])), batched(makeFile([54_333]))];
  const whole = filesBody(files);
  const longer = Buffer.concat([whole, Buffer.alloc(1)]);
  const bodies = [
    ...[longer, whole.subarray(0, -1), whole.subarray(0, -54_333), whole.subarray(0, -60_000)],
    ...[whole.subarray(0, whole.indexOf('\n') + 1), whole.subarray(0, whole.indexOf('\n'))],
    ...[whole.subarray(0, 10), whole.subarray(0, 0)],
  ];
  for (const body of bodies) {
    assertError(await send(user, body), 400);
    if (body.length > 0) assertError(await send(user, inPieces(body)), 400);
  }
  await assertNoTrace(user, files);
});

test('after a refusal the rest of the body is read, and the connection goes on', async () => {
  const user = await sharedUser(service);
  const file = batched(makeFile([10]));
  const rest = Buffer.alloc(2_000_000, ' ');
  const bodies = [
    rest,
    Buffer.concat([Buffer.from('{\n'), rest]),
    Buffer.concat([filesBody([file]), rest]),
    Buffer.concat([filesBody([batched(file.file, { size: limits.batchBytes + 1 })]), rest]),
  ];
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${user.token}`];
  for (const body of bodies) {
    const length = body.length.toString(16);
    for (const [says, before, after] of [
      [`Content-Length: ${body.length}`, '', ''],
      ['Transfer-Encoding: chunked', `${length}\r\n`, '\r\n0\r\n\r\n'],
    ] as const) {
      const connection = await RawConnection.open(service.url);
      connection.write(`${[...head, says].join('\r\n')}\r\n\r\n${before}`);
      connection.write(body);
      connection.write(`${after}GET ${pathOf('quota')} HTTP/1.1\r\n${head.slice(1).join('\r\n')}\r\n\r\n`);
      const { statuses } = await connection.until(({ statuses }) => statuses.length > 1);
      connection.destroy();
      assert.equal(statuses.length, 2, `${says}: ${statuses}`);
      assert.ok([400, 413].includes(statuses[0]!) && statuses[1] === 200, `${statuses}`);
    }
  }
});

test('a client that breaks off in the middle leaves no trace', async () => {
  const user = await register(service);
  const files = [batched(makeFile([54_341])), batched(makeFile([154_342])), batched(makeFile([54_343]))];
  const body = filesBody(files);
  const line = body.indexOf('\n');
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${user.token}`];
  for (const length of [line - 5, line + 1, line + 60_000, line + 54_342, body.length - 1]) {
    const connection = await RawConnection.open(service.url);
    connection.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`);
    connection.write(body.subarray(0, length));
    // Some of it is in the store by then.
    if (length > line + 54_342 && volumesInFolder()) {
      await eventually(async () => assert.equal(await storedOfSize(service, 54_341), 1));
    }
    connection.destroy();
    await assertNoLeftovers(service);
  }
  await assertNoTrace(user, files);
});

testInFolder('nothing is held for those whose turn has not come', async () => {
  const user = await register(service);
  const body = filesBody([1, 2, 3, 4].map(() => batched(makeFile([54_351]))));
  const connection = await RawConnection.open(service.url);
  const head = [`POST ${PATH} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${user.token}`];
  connection.write(`${[...head, `Content-Length: ${body.length}`].join('\r\n')}\r\n\r\n`);
  connection.write(body.subarray(0, body.indexOf('\n') + 100));
  const unfinished = async () => (await filesBelow(join(service.data, 'tmp'))).size;
  await eventually(async () => assert.notEqual(await unfinished(), 0));
  assert.equal(await unfinished(), 1);
  connection.write(body.subarray(body.indexOf('\n') + 100));
  await connection.until(({ statuses }) => statuses.includes(200));
  connection.destroy();
});

test('the first line is JSON of its form, within its limits', async () => {
  const user = await sharedUser(service);
  const { id, file } = batched(makeFile([10]));
  const [entry] = JSON.parse(filesBody([{ id, file }]).toString('latin1').split('\n')[0]!).files;
  const lines: unknown[] = [
    ...[null, 1, [], {}, { files: null }, { files: {} }, { files: [] }, { files: [null] }, { files: ['x'] }],
    { files: Array(limits.batchFiles + 1).fill(entry) },
    ...['transfer_id', 'init', 'size'].flatMap((name) =>
      [undefined, null, [], -1, 1.5, '10'].flatMap((value) =>
        typeof value === 'string' && name !== 'size' ? [] : [{ files: [{ ...entry, [name]: value }] }],
      ),
    ),
  ];
  for (const line of lines) {
    assertError(await send(user, Buffer.from(`${JSON.stringify(line)}\n0123456789`)), 400);
  }
  for (const line of ['', '{', '"\xff"', '{"files":[{}]} x']) {
    assertError(await send(user, Buffer.from(`${line}\n`, 'latin1')), 400);
  }
  const padded = (length: number) => Buffer.from(`${JSON.stringify({ files: [entry] }).padEnd(length)}\n`);
  const fits = Buffer.concat([padded(limits.batchHeadBytes), file.volumes[0]!]);
  assert.deepEqual(statusesIn(await send(user, fits)), [200]);
  assertError(await send(user, padded(limits.batchHeadBytes + 1)), 413);
  assertError(await send(user, Buffer.alloc(2_000_000, ' ')), 413);
  const large = [limits.batchBytes - 9, 10].map((size) => ({ ...entry, size }));
  for (const sizes of [large, [{ ...entry, size: 1e300 }]]) {
    assertError(await send(user, Buffer.from(`${JSON.stringify({ files: sizes })}\n`)), 413);
  }
});

test('without a token it is 401', async () => {
  const body = filesBody([batched(makeFile([10]))]);
  const call = (token?: string) =>
    service.call({ method: 'POST', path: PATH, body, ...(token !== undefined && { token }) });
  assertDetail(await call('nobody'), 401);
  assertDetail(await call(), 401);
  assert.deepEqual(statusesIn(await call(service.systemToken)), [200]);
});

test('an enforced quota is counted file by file, and nothing of what it refuses is kept', async () => {
  const user = await register(strict);
  const sizes = [600, 657, 300, 101, 100, 1];
  const files = sizes.map((size) => batched(makeFile([size])));
  const answer = await putFiles(user, files);
  assert.deepEqual(statusesIn(answer), [200, 507, 200, 507, 200, 507]);
  await assertFiled(user, files, answer);
  assert.deepEqual(statusesIn(await putFiles(user, files)), [200, 507, 200, 507, 200, 507]);
  if (volumesInFolder()) await eventually(async () => assert.equal(await storedOfSize(strict, 657), 0));
  const rush = await register(strict);
  const rushing = Array.from({ length: 5 }, () =>
    putFiles(
      rush,
      Array.from({ length: 4 }, () => batched(makeFile([90]))),
    ),
  );
  const statuses = (await Promise.all(rushing)).flatMap(statusesIn);
  assert.equal(statuses.filter((status) => status === 200).length, 11);
  assert.equal(statuses.filter((status) => status === 507).length, 9);
});
