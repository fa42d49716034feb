import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentDigest, encodeInit, headers, pathOf, volumeSocket } from '@szafa/protocol';
import {
  admin,
  assertNoLeftovers,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  complete,
  completeStreamed,
  eventually,
  headOf,
  listFiles,
  makeFile,
  newTransferId,
  RawConnection,
  received,
  register,
  SocketClient,
  sha256,
  sharedUser,
  type User,
  useService,
  withService,
} from '../harness/index.ts';
import { parseMetrics } from '../harness/metrics.ts';

const service = useService();
const MIB = 1024 * 1024;

const volumePath = (transferId: string, idx: number) =>
  pathOf('writeVolume', { transfer_id: transferId, idx });

const volumeHead = (user: User, transferId: string, idx: number, length: number) =>
  headOf(volumePath(transferId, idx), length, user.token);

test('volumes of a streamed transfer along a socket carry their digests in the head', async () => {
  const user = await sharedUser(service);
  const file = makeFile([200_000, 0, 3 * MIB]);
  const transferId = await beginStreamed(user, file, 'unsized');
  const client = await SocketClient.open(service);
  const put = (idx: number, bytes: Buffer, ...more: string[]) =>
    client.put(headOf(volumePath(transferId, idx), bytes.length, user.token, more), bytes);
  const digest = (bytes: Buffer) => `${headers.contentDigest}: ${contentDigest(sha256(bytes))}`;
  assert.equal((await put(1, file.volumes[0]!)).status, 400);
  assert.equal((await put(1, file.volumes[0]!, `${headers.contentDigest}: sha-256=:x:`)).status, 400);
  assert.equal((await put(1, file.volumes[0]!, digest(file.volumes[2]!))).status, 409);
  for (const [at, bytes] of file.volumes.entries()) {
    assert.deepEqual(await put(at + 1, bytes, digest(bytes)), { status: 200, body: { ok: true } });
  }
  client.close();
  const done = await completeStreamed(user, transferId, file);
  await assertReadable(user, String(done.json['file_id']), file);
});

test('volumes and small files along one socket are what they are by requests', async () => {
  const user = await register(service);
  const file = makeFile([3 * MIB + 5, 1, 70_000]);
  const transferId = await begin(user, file);
  const client = await SocketClient.open(service);
  for (const [at, bytes] of file.volumes.entries()) {
    const answer = await client.put(volumeHead(user, transferId, at + 1, bytes.length), bytes, 333_333);
    assert.deepEqual(answer, { status: 200, body: { ok: true } });
  }
  const taken = client.messages.filter((message) => 'taken' in message).map((message) => message.taken);
  assert.ok(taken.length >= 3, 'it says how far it is');
  assert.ok(taken.slice(0, 3).every((bytes, at) => bytes > (taken[at - 1] ?? 0) && bytes <= 3 * MIB + 5));
  const { json } = await complete(user, transferId);
  await assertReadable(user, String(json['file_id']), file);

  const small = makeFile([1234]);
  const path = pathOf('writeFile', { transfer_id: newTransferId() });
  const head = headOf(path, 1234, user.token, [`${headers.init}: ${encodeInit(small.init)}`]);
  const done = await client.put(head, small.volumes[0]!);
  assert.equal(done.status, 200);
  await assertReadable(user, (done.body as { file_id: string }).file_id, small);
  assert.equal((await listFiles(user)).length, 2);
  client.close();
  await assertNoLeftovers(service);
});

test('a refusal is that of the request, its bytes are passed over, and the socket goes on', async () => {
  const user = await register(service);
  const file = makeFile([200_000, 100_000]);
  const transferId = await begin(user, file);
  const client = await SocketClient.open(service);
  const [first, second] = file.volumes as [Buffer, Buffer];
  const tries: [status: number, head: string, bytes: Uint8Array][] = [
    [409, volumeHead(user, transferId, 1, first.length), Buffer.alloc(first.length)],
    [409, volumeHead(user, transferId, 1, first.length + 1), Buffer.concat([first, Buffer.alloc(1)])],
    [409, volumeHead(user, transferId, 3, 5), Buffer.alloc(5)],
    [404, volumeHead(user, newTransferId(), 1, 5), Buffer.alloc(5)],
    [401, headOf(volumePath(transferId, 1), first.length, undefined), first],
    [401, headOf(volumePath(transferId, 1), first.length, 'x'.repeat(40)), first],
    [200, volumeHead(user, transferId, 1, first.length), first],
  ];
  for (const [status, head, bytes] of tries)
    assert.equal((await client.put(head, bytes)).status, status, head);
  assert.deepEqual(await received(user, transferId), [1]);
  assert.equal((await client.put(volumeHead(user, transferId, 2, second.length), second, 7)).status, 200);
  assertOk(await complete(user, transferId));
  client.close();
});

test('a client that breaks off leaves nothing, and its volume can be sent again', async () => {
  const user = await register(service);
  const file = makeFile([2 * MIB]);
  const [bytes] = file.volumes as [Buffer];
  const transferId = await begin(user, file);
  const gone = await SocketClient.open(service);
  gone.send(volumeHead(user, transferId, 1, bytes.length));
  gone.send(bytes.subarray(0, 1.5 * MIB));
  await eventually(async () => assert.ok(gone.messages.length > 0));
  gone.close();
  const client = await SocketClient.open(service);
  assert.deepEqual(await received(user, transferId), []);
  assert.equal((await client.put(volumeHead(user, transferId, 1, bytes.length), bytes)).status, 200);
  const { json } = await complete(user, transferId);
  await assertReadable(user, String(json['file_id']), file);
  client.close();
  await assertNoLeftovers(service);
});

test('whoever does not keep to the rules is told so and cut off', async () => {
  const user = await sharedUser(service);
  const file = makeFile([1000]);
  const transferId = await begin(user, file);
  const head = volumeHead(user, transferId, 1, 1000);
  const broken: (string | Uint8Array)[][] = [
    ['GET / HTTP/1.1\r\nHost: x'],
    ['x'.repeat(20_000)],
    [head, head],
    [head, Buffer.alloc(1001)],
  ];
  for (const messages of broken) {
    const client = await SocketClient.open(service);
    for (const message of messages) client.send(message);
    await eventually(async () => assert.equal(client.closed, 1002, JSON.stringify(messages).slice(0, 80)));
  }
  const hello = [
    `GET ${volumeSocket.path} HTTP/1.1`,
    'Host: x',
    'Connection: Upgrade',
    'Upgrade: websocket',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    `Sec-WebSocket-Protocol: ${volumeSocket.protocol}`,
  ];
  for (const [what, frame] of Object.entries({
    'no mask': '8100',
    'an unknown kind': '8380aaaaaaaa',
    'an extension': 'c180aaaaaaaa',
    'a long ping': '89fe0100aaaaaaaa',
    'a continuation of nothing': '8080aaaaaaaa',
    'a message inside another': '0180aaaaaaaa0180aaaaaaaa',
  })) {
    const connection = await RawConnection.open(service.url);
    connection.write(`${hello.join('\r\n')}\r\n\r\n`);
    await connection.until(({ text }) => text.includes('s3pPLMBiTxaQ9kYGzzhZRbK+xOo='));
    connection.write(Buffer.from(frame, 'hex'));
    const { text, closed } = await connection.until((answer) => answer.closed);
    assert.ok(closed && text.endsWith('\x88\x02\x03\xea'), what);
    connection.destroy();
  }
  // Whatever else would become something else is a request like any other.
  for (const [from, to, status] of [
    ['websocket', 'h2c', 404],
    [volumeSocket.protocol, 'chat', 404],
    [volumeSocket.path, '/healthz', 200],
    ['Version: 13', 'Version: 8', 404],
  ] as const) {
    const connection = await RawConnection.open(service.url);
    connection.write(`${hello.join('\r\n').replace(from, to)}\r\n\r\n`);
    assert.deepEqual((await connection.until(({ statuses }) => statuses.length > 0)).statuses, [status]);
    connection.destroy();
  }
});

test('a stop ends idle sockets, and the others after their answer', async () => {
  await withService({}, async (own) => {
    const user = await register(own);
    const file = makeFile([50_000]);
    const transferId = await begin(user, file);
    const [idle, busy] = [await SocketClient.open(own), await SocketClient.open(own)];
    busy.send(volumeHead(user, transferId, 1, 50_000));
    busy.send(file.volumes[0]!.subarray(0, 20_000));
    // The volume, and the one who looks.
    await eventually(async () => {
      const { text } = await admin(own).get(pathOf('metrics'));
      assert.equal(parseMetrics(text).get('szafa_requests_in_flight'), 2);
    });
    const stopped = own.terminate();
    await eventually(async () => assert.equal(idle.closed, 1001));
    busy.send(file.volumes[0]!.subarray(20_000));
    await eventually(async () => assert.equal(busy.closed, 1001));
    assert.deepEqual(busy.messages.at(-1), { status: 200, body: { ok: true } });
    await stopped;
  });
});
