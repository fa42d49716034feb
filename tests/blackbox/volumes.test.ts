import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  assertError,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  complete,
  inPieces,
  makeFile,
  putAll,
  putVolume,
  RawConnection,
  received,
  register,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const UNKNOWN = 'nosuchtransfer0123456789abcdef';

/** The head of a PUT whose announced length is the caller's business. */
const head = (user: User, transferId: string, idx: number, ...more: string[]): string =>
  [
    `PUT ${pathOf('writeVolume', { transfer_id: transferId, idx })} HTTP/1.1`,
    'Host: x',
    `Authorization: Bearer ${user.token}`,
    ...more,
    '',
    '',
  ].join('\r\n');

test('a good volume is 200 {ok: true} and then received, in ascending order', async () => {
  const user = await sharedUser(service);
  const file = makeFile([100, 200, 300]);
  const transferId = await begin(user, file);
  for (const [idx, sofar] of [
    [3, [3]],
    [1, [1, 3]],
    [2, [1, 2, 3]],
  ] as const) {
    assertOk(await putVolume(user, transferId, idx, file.volumes[idx - 1] as Buffer), { ok: true });
    assert.deepEqual(await received(user, transferId), sofar);
  }
});

test('received is ascending by number, not by text', async () => {
  const user = await sharedUser(service);
  const file = makeFile(Array<number>(12).fill(5));
  const transferId = await begin(user, file);
  await putAll(user, transferId, file);
  assert.deepEqual(
    await received(user, transferId),
    Array.from({ length: 12 }, (_, at) => at + 1),
  );
});

test('an unknown transfer is 404 on every call', async () => {
  const user = await sharedUser(service);
  for (const id of [
    UNKNOWN,
    'x',
    '%2e%2e',
    '..%2f..',
    '%00',
    'a'.repeat(90),
    'a'.repeat(5000),
    encodeURIComponent('ż'.repeat(20)),
  ]) {
    const path = `/api/transfer/${id}`;
    assertError(await user.get(`${path}/chunks`), 404);
    assertError(await user.get(`${path}/pull-status`), 404);
    assertError(await user.call('PUT', `${path}/chunk/1`, { body: 'x' }), 404);
    assertError(await user.call('POST', `${path}/complete`), 404);
    assertError(await user.post(`${path}/pull`, { base_url: 'http://127.0.0.1:1', token: 't' }), 404);
    assertError(await user.delete(path), 404);
  }
});

test('sending a good volume again is 200', async () => {
  const user = await sharedUser(service);
  const file = makeFile([1000]);
  const transferId = await begin(user, file);
  const bytes = file.volumes[0] as Buffer;
  for (let i = 0; i < 3; i++) assertOk(await putVolume(user, transferId, 1, bytes), { ok: true });
  assert.deepEqual(await received(user, transferId), [1]);
  await assertNoLeftovers(service);
});

test('the same volume sent by many at once is 200 for each', async () => {
  const user = await sharedUser(service);
  const file = makeFile([300_000]);
  const transferId = await begin(user, file);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => putVolume(user, transferId, 1, file.volumes[0] as Buffer)),
  );
  for (const answer of answers) assertOk(answer, { ok: true });
  const done = await complete(user, transferId);
  await assertReadable(user, String(done.json['file_id']), file);
  await assertNoLeftovers(service);
});

for (const [what, change] of [
  ['one byte short', (bytes: Buffer) => bytes.subarray(1)],
  ['one byte long', (bytes: Buffer) => Buffer.concat([bytes, Buffer.of(0)])],
  ['empty', () => Buffer.alloc(0)],
  ['of the right size with another digest', (bytes: Buffer) => randomBytes(bytes.length)],
  [
    'of one flipped bit',
    (bytes: Buffer) => {
      const copy = Buffer.from(bytes);
      copy[500] = (copy[500] ?? 0) ^ 1;
      return copy;
    },
  ],
] as const) {
  test(`a body ${what} is 409, announced or chunked, and harms nothing accepted before`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([1000, 1000]);
    const transferId = await begin(user, file);
    const bad = change(file.volumes[0] as Buffer);
    assertError(await putVolume(user, transferId, 1, bad), 409);
    assertError(await putVolume(user, transferId, 1, inPieces(bad, 300)), 409);
    assert.deepEqual(await received(user, transferId), []);
    await putAll(user, transferId, file);
    assertError(await putVolume(user, transferId, 1, bad), 409);
    assertError(await putVolume(user, transferId, 1, inPieces(bad, 300)), 409);
    assert.deepEqual(await received(user, transferId), [1, 2]);
    const done = await complete(user, transferId);
    assertOk(done);
    await assertReadable(user, String(done.json['file_id']), file);
    await assertNoLeftovers(service);
  });
}

test('a good volume in chunked encoding is 200', async () => {
  const user = await sharedUser(service);
  const file = makeFile([100_000]);
  const transferId = await begin(user, file);
  assertOk(await putVolume(user, transferId, 1, inPieces(file.volumes[0] as Buffer, 9999)), { ok: true });
});

test('volumes around the sizes of buffers and pages are kept byte for byte', async () => {
  const user = await sharedUser(service);
  const sizes = [1, 4095, 4096, 4097, 65_535, 65_536, 65_537, 1_048_575, 1_048_576, 1_048_577, 5_000_001];
  const { fileId, file } = await upload(user, makeFile(sizes));
  await assertReadable(user, fileId, file);
});

test('a wrong size is refused from Content-Length, before the body is read', async () => {
  const user = await sharedUser(service);
  const transferId = await begin(user, makeFile([1000]));
  for (const length of [999, 1001, 100_000_000_000]) {
    const connection = await RawConnection.open(service.url);
    try {
      connection.write(head(user, transferId, 1, `Content-Length: ${length}`));
      const answer = await connection.until((now) => now.statuses.length > 0, 3000);
      assert.deepEqual(answer.statuses, [409], `Content-Length ${length}`);
      assert.match(answer.text, /\{"error":"[^"]+"\}/);
    } finally {
      connection.destroy();
    }
  }
  await assertNoLeftovers(service);
});

test('a large refused body is answered, not cut off without a word', async () => {
  const user = await sharedUser(service);
  const transferId = await begin(user, makeFile([1000]));
  assertError(await putVolume(user, transferId, 1, randomBytes(3_000_000)), 409);
});

test('Expect: 100-continue is answered, and a wrong size then never asks for the body', async () => {
  const user = await sharedUser(service);
  const file = makeFile([1000]);
  const transferId = await begin(user, file);
  const good = await RawConnection.open(service.url);
  const bad = await RawConnection.open(service.url);
  try {
    good.write(head(user, transferId, 1, 'Content-Length: 1000', 'Expect: 100-continue'));
    assert.deepEqual((await good.until((now) => now.statuses.length > 0, 3000)).statuses, [100]);
    good.write(file.volumes[0] as Buffer);
    assert.deepEqual((await good.until((now) => now.statuses.length > 1, 3000)).statuses, [100, 200]);
    bad.write(head(user, transferId, 1, 'Content-Length: 1001', 'Expect: 100-continue'));
    assert.equal((await bad.until((now) => now.statuses.includes(409), 3000)).statuses.at(-1), 409);
  } finally {
    good.destroy();
    bad.destroy();
  }
});

for (const idx of [
  '0',
  '01',
  '-1',
  '1.5',
  'abc',
  '3',
  '10001',
  '1e0',
  '99999999999999999999',
  '%20',
  '0x1',
  'NaN',
]) {
  test(`PUT of volume ${idx} of 2 is 409`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([10, 10]);
    const transferId = await begin(user, file);
    const path = `/api/transfer/${transferId}/chunk/${idx}`;
    assertError(await user.call('PUT', path, { body: file.volumes[0] as Buffer }), 409);
    assert.deepEqual(await received(user, transferId), []);
  });
}

test('a volume with the bytes of its neighbour is 409', async () => {
  const user = await sharedUser(service);
  const file = makeFile([64, 64]);
  const transferId = await begin(user, file);
  assertError(await putVolume(user, transferId, 2, file.volumes[0] as Buffer), 409);
});

test('an empty volume is a volume', async () => {
  const user = await sharedUser(service);
  const file = makeFile([0, 5]);
  const transferId = await begin(user, file);
  assertOk(await putVolume(user, transferId, 2, file.volumes[1] as Buffer));
  assert.equal((await complete(user, transferId)).status, 409);
  assertOk(await putVolume(user, transferId, 1, Buffer.alloc(0)), { ok: true });
  assert.deepEqual(await received(user, transferId), [1, 2]);
  const done = await complete(user, transferId);
  await assertReadable(user, String(done.json['file_id']), file);
});

test('an empty volume may come without Content-Length', async () => {
  const user = await sharedUser(service);
  const transferId = await begin(user, makeFile([0]));
  assertOk(await user.call('PUT', pathOf('writeVolume', { transfer_id: transferId, idx: 1 })), { ok: true });
});

for (const type of [
  'application/json',
  'text/plain; charset=utf-8',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'no/such-type',
  'nonsense',
  '',
]) {
  test(`a volume of content type ${JSON.stringify(type)} is stored as it is`, async () => {
    const user = await sharedUser(service);
    const file = makeFile([333]);
    const transferId = await begin(user, file);
    const headers: Record<string, string> = type ? { 'content-type': type } : {};
    assertOk(await putVolume(user, transferId, 1, file.volumes[0] as Buffer, headers), { ok: true });
    const done = await complete(user, transferId);
    await assertReadable(user, String(done.json['file_id']), file);
  });
}

test('a content encoding is not undone: the bytes are opaque', async () => {
  const user = await sharedUser(service);
  const file = makeFile([333]);
  const transferId = await begin(user, file);
  const headers = { 'content-encoding': 'gzip' };
  assertOk(await putVolume(user, transferId, 1, file.volumes[0] as Buffer, headers), { ok: true });
});

test('after done, PUT is 409 and the received list is whole', async () => {
  const user = await sharedUser(service);
  const { transferId, fileId, file } = await upload(user, makeFile([10, 20]));
  assertError(await putVolume(user, transferId, 1, file.volumes[0] as Buffer), 409);
  assertError(await putVolume(user, transferId, 1, randomBytes(10)), 409);
  assert.deepEqual(await received(user, transferId), [1, 2]);
  await assertReadable(user, fileId, file);
});

test('any caller who knows the id may use a transfer', async () => {
  const [creator, other] = [await register(service), await register(service)];
  const file = makeFile([10, 20]);
  const transferId = await begin(creator, file);
  assertOk(await putVolume(other, transferId, 1, file.volumes[0] as Buffer), { ok: true });
  assert.deepEqual(await received(other, transferId), [1]);
  assertOk(await putVolume(creator, transferId, 2, file.volumes[1] as Buffer), { ok: true });
  const status = await other.get(pathOf('pullStatus', { transfer_id: transferId }));
  assertOk(status, { pulled: 2, total: 2 });
  assertOk(await complete(other, transferId));
});

test('pull-status of a transfer that never pulled counts what is here', async () => {
  const user = await sharedUser(service);
  const file = makeFile([10, 20, 30]);
  const transferId = await begin(user, file);
  const path = pathOf('pullStatus', { transfer_id: transferId });
  assertOk(await user.get(path), { pulled: 0, total: 3 });
  await putVolume(user, transferId, 2, file.volumes[1] as Buffer);
  assertOk(await user.get(path), { pulled: 1, total: 3 });
});
