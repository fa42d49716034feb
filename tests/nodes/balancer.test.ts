import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import http2 from 'node:http2';
import net from 'node:net';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { headers, pathOf } from '@szafa/protocol';
import { assertBytes } from '../harness/bytes.ts';
import {
  assertReadable,
  begin,
  complete,
  eventually,
  makeFile,
  newTransferId,
  putFile,
  putVolume,
  readVolume,
  register,
  Service,
  send,
  type User,
  upload,
} from '../harness/index.ts';
import { Nginx } from './nginx.ts';

/** nginx as it is in deploy/, before one service that is both of its nodes. */
const service = new Service({
  env: { SZ_WORKERS: '1', SZ_TRUST_PROXY: '127.0.0.1', SZ_IDLE_TIMEOUT: '120' },
});
let balancer: Nginx;
let user: User;
before(async () => {
  await service.start();
  balancer = await Nginx.create([service, service]);
  user = await register(balancer);
});
after(async () => {
  await balancer?.stop();
  await service.stop();
});

/** The largest enc_params there may be: 12 KiB of base64. */
const LONG_PARAMS = { k: 'x'.repeat(9 * 1024 - '{"k":""}'.length) };

test('the longest headers pass, in both directions', async () => {
  const { fileId, file } = await upload(user, makeFile([10], { enc_params: LONG_PARAMS }));
  await assertReadable(user, fileId, file);
  const { headers: found } = await readVolume(user, fileId, 1);
  assert.equal(String(found[headers.encParams.toLowerCase()]).length, 12 * 1024);
  const small = makeFile([50], { enc_params: { k: 'x'.repeat(7000) } });
  const answer = await putFile(user, newTransferId(), small);
  assert.equal(answer.status, 200, answer.text);
});

/** One request over HTTP/2. */
async function over2(session: http2.ClientHttp2Session, head: http2.OutgoingHttpHeaders, body?: Uint8Array) {
  const stream = session.request({ authorization: `Bearer ${user.token}`, ...head });
  stream.end(body);
  const [found] = (await once(stream, 'response')) as [http2.IncomingHttpHeaders];
  const parts = await Array.fromAsync(stream as AsyncIterable<Buffer>);
  return { headers: found, status: found[':status'], body: Buffer.concat(parts) };
}

test('clients that speak HTTP/2 upload and download, many volumes at once', async () => {
  const session = http2.connect(balancer.secureUrl, { rejectUnauthorized: false });
  try {
    const file = makeFile([3_000_000, 2_000_000, 10, 0]);
    const transferId = await begin(user, file);
    const puts = file.volumes.map((bytes, at) => {
      const path = pathOf('writeVolume', { transfer_id: transferId, idx: at + 1 });
      return over2(session, { ':method': 'PUT', ':path': path, 'content-length': bytes.length }, bytes);
    });
    for (const { status, body } of await Promise.all(puts)) assert.equal(status, 200, body.toString());
    const fileId = String((await complete(user, transferId)).json['file_id']);
    const gets = file.volumes.map((_, at) =>
      over2(session, { ':path': pathOf('readVolume', { file_id: fileId, idx: at + 1 }) }),
    );
    for (const [at, { status, headers: found, body }] of (await Promise.all(gets)).entries()) {
      assert.equal(status, 200);
      assertBytes(body, file.volumes[at]!);
      assert.match(String(found['strict-transport-security']), /^max-age=\d{8}/);
      assert.match(String(found['x-request-id']), /^[0-9a-f]{32}$/);
    }
    assert.equal(session.alpnProtocol, 'h2');
  } finally {
    session.close();
  }
});

test('a request has one id, in its answer, in the log of nginx and in that of the node; no log has the id of a transfer', async () => {
  const file = makeFile([10, 20]);
  const init = await user.post(pathOf('init'), file.init);
  const transferId = String(init.json['transfer_id']);
  const put = await putVolume(user, transferId, 1, file.volumes[0]!);
  const odd = [
    `/api//transfer/${transferId}/chunks`,
    `/api/%74ransfer/${transferId}/chunks?x=${transferId}`,
    `/api/transfer/${transferId}`,
    `/x/${transferId}/y`,
  ];
  for (const path of odd) await send(balancer.url, { path, token: user.token });
  const own = await send(balancer.url, { path: '/metrics', headers: { 'x-request-id': 'mine' } });
  assert.equal(own.status, 404);
  for (const { headers: found } of [init, put, own]) {
    const id = String(found['x-request-id']);
    assert.match(id, /^[0-9a-f]{32}$/);
    const { access } = await balancer.logs();
    assert.equal(access.split(`"reqId":"${id}"`).length, 2, 'one line of nginx');
    if (found === own.headers) continue;
    await eventually(async () => assert.ok(service.log.includes(`"reqId":"${id}"`), 'and one of the node'));
  }
  const { access, error } = await balancer.logs();
  const lines = access.trim().split('\n');
  for (const line of lines) assert.equal(typeof JSON.parse(line).status, 'number', line);
  assert.ok(
    lines.some((line) => JSON.parse(line).path === `/api/transfer/${transferId.slice(0, 6)}…/chunk/1`),
  );
  for (const secret of [transferId, user.token, user.password]) {
    assert.ok(!`${access}${error}`.includes(secret), 'a secret in a log of nginx');
  }
});

test('what is too large, and a node that is away, are told as the service would', async () => {
  const [large, allowed] = ['30000000', '6000000000'].map((length, at) =>
    send(balancer.url, {
      method: at === 0 ? 'POST' : 'PUT',
      path: at === 0 ? pathOf('createDir') : pathOf('writeVolume', { transfer_id: 'none', idx: 1 }),
      token: user.token,
      headers: { 'content-length': length },
      // Never so many: it is refused by what it announces.
      body: (async function* () {
        yield Buffer.alloc(1);
        await sleep(300);
      })(),
    }).catch((error: unknown) => error),
  );
  for (const answer of await Promise.all([large, allowed])) {
    assert.ok(!(answer instanceof Error), String(answer));
    const { status, json } = answer as Awaited<ReturnType<typeof send>>;
    assert.equal(status, 413);
    assert.equal(typeof json['error'], 'string');
  }
  const nobody = await Nginx.create([
    { url: 'http://127.0.0.1:1' } as Service,
    { url: 'http://127.0.0.1:1' } as Service,
  ]);
  try {
    const path = pathOf('received', { transfer_id: randomBytes(16).toString('hex') });
    const answer = await send(nobody.url, { path, token: user.token });
    assert.equal(answer.status, 502);
    assert.equal(typeof answer.json['error'], 'string', answer.text);
    const { access, error } = await nobody.logs();
    assert.ok(!`${access}${error}`.includes(path), 'not even where it failed');
  } finally {
    await nobody.stop();
  }
});

/** Half of the files that this process, or nginx, may have open: what a machine allows differs. */
async function mostConnections(): Promise<number> {
  const [, hard] = /^Max open files\s+\S+\s+(\S+)/m.exec(await readFile('/proc/self/limits', 'utf8'))!;
  return Math.min(5000, Math.floor((hard === 'unlimited' ? 20_000 : Number(hard)) / 3));
}

test('thousands of clients that say nothing, or send slowly, keep nobody else out', async (t) => {
  const { hostname: host, port } = new URL(balancer.url);
  const sockets: net.Socket[] = [];
  const open = (count: number, first: string) =>
    Promise.all(
      Array.from({ length: count }, async () => {
        const socket = net.connect({ host, port: Number(port) });
        sockets.push(socket);
        socket.on('error', () => undefined /* seen as closed */);
        await once(socket, 'connect');
        if (first) socket.write(first);
      }),
    );
  const file = makeFile([1_000_000]);
  const transferId = await begin(user, file);
  const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
  const slow = `PUT ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\nContent-Length: 1000000\r\n\r\nx`;
  const most = await mostConnections();
  const uploads = Math.min(1000, Math.floor(most / 5));
  try {
    await open(uploads, slow);
    for (let left = most - uploads; left > 0; left -= 500) {
      await open(Math.min(500, left), left % 1000 === 0 ? '' : 'GET /healthz HTTP/1.1\r\nHost: x\r\n');
    }
    const since = Date.now();
    const done = await upload(user, makeFile([100_000, 5]));
    await assertReadable(user, done.fileId, done.file);
    const session = http2.connect(balancer.secureUrl, { rejectUnauthorized: false });
    assert.equal((await over2(session, { ':path': pathOf('me') })).status, 200);
    session.close();
    t.diagnostic(
      `${uploads} slow uploads, ${sockets.length} connections; a file came and went in ${Date.now() - since} ms`,
    );
    assert.equal(sockets.filter(({ destroyed, readableEnded }) => destroyed || readableEnded).length, 0);
  } finally {
    for (const socket of sockets) socket.destroy();
  }
});
