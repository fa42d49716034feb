/** The page's end of a volume socket and the service's, in one process. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { test } from 'node:test';
import type { TransportRequest } from '@szafa/client';
import { acceptVolumeSockets, isVolumeSocket } from '../../server/src/fastlane/socket.ts';
import type { VolumeHandler } from '../../server/src/transfers/put.ts';
import { VolumeSockets } from '../../web/src/core/transport/volume-socket.worker.ts';

const MIB = 1024 * 1024;

interface Served {
  url: string;
  /** Connections so far, and those that have ended. */
  opened: () => number;
  ended: () => number;
  /** Ends those that there are. */
  cut: () => void;
}

/** Without a handler: a service that knows no sockets. */
async function serving(handle: VolumeHandler | undefined, work: (served: Served) => Promise<void>) {
  const server = handle
    ? createServer({ shouldUpgradeCallback: isVolumeSocket })
    : createServer((_request, response) => response.writeHead(400).end());
  const sockets = handle && acceptVolumeSockets(server, handle, 5000, false);
  let [opened, ended] = [0, 0];
  const open = new Set<Socket>();
  server.on('connection', (socket) => {
    opened++;
    socket.once('close', () => ended++);
    open.add(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = () => {
    for (const socket of open) socket.destroy();
    open.clear();
  };
  try {
    const { port } = server.address() as AddressInfo;
    await work({ url: `http://127.0.0.1:${port}`, opened: () => opened, ended: () => ended, cut });
  } finally {
    sockets?.close();
    cut();
    server.close();
  }
}

/** Takes a body and keeps it. */
async function take(body: Parameters<VolumeHandler>[1]): Promise<Buffer> {
  const memory = new Uint8Array(64 * 1024);
  const parts: Buffer[] = [];
  await body.pour({
    target: () => memory,
    advance: (count) => {
      parts.push(Buffer.from(memory.subarray(0, count)));
      return undefined;
    },
  });
  return Buffer.concat(parts);
}

function put(sockets: VolumeSockets, url: string, bytes: Uint8Array, more: Partial<TransportRequest> = {}) {
  let moved = 0;
  const request = {
    method: 'PUT',
    url: `${url}/api/transfer/abc/chunk/1`,
    headers: { authorization: 'Bearer t' },
    maxBytes: MIB,
    timeoutMs: 20_000,
    quietMs: 20_000,
    onBytes: (count: number) => {
      moved += count;
    },
    ...more,
  };
  const sent = sockets.send(request, bytes as Uint8Array<ArrayBuffer>);
  return { sent, moved: () => moved };
}

test('volumes of every size arrive whole, one after the other on one socket, and all bytes are told', async () => {
  const got: Buffer[] = [];
  const handle: VolumeHandler = async (_head, body) => {
    got.push(await take(body));
    return { status: 200, reason: 'OK', body: { ok: true, at: got.length } };
  };
  await serving(handle, async ({ url, opened }) => {
    const sockets = new VolumeSockets();
    // The largest is more than may be ahead of what the service has taken.
    for (const [at, size] of [1, 256 * 1024, 256 * 1024 + 1, 9 * MIB + 3].entries()) {
      const bytes = new Uint8Array(randomBytes(size));
      const { sent, moved } = put(sockets, url, bytes);
      const answer = await sent;
      assert.equal(answer?.status, 200);
      assert.deepEqual(JSON.parse(Buffer.from(answer.body).toString()), { ok: true, at: at + 1 });
      assert.ok(got[at]!.equals(bytes), `${size} bytes`);
      assert.equal(moved(), size);
    }
    assert.equal(opened(), 1);
    const [one, other] = [put(sockets, url, Buffer.from('one')), put(sockets, url, Buffer.from('other'))];
    await Promise.all([one.sent, other.sent]);
    assert.deepEqual(got.slice(-2).map(String).sort(), ['one', 'other']);
    assert.equal(opened(), 2, 'two at once need two');
  });
});

test('what was refused is not told as sent; what was broken off, or had no answer, takes its socket with it', async () => {
  let silent = false;
  const handle: VolumeHandler = async (_head, body) => {
    await take(body);
    if (silent) await new Promise(() => {});
    return { status: 409, reason: 'Conflict', body: { error: 'no' } };
  };
  await serving(handle, async ({ url, opened, ended }) => {
    const sockets = new VolumeSockets();
    const refused = put(sockets, url, new Uint8Array(1000));
    assert.equal((await refused.sent)?.status, 409);
    assert.equal(refused.moved(), 0);
    silent = true;
    const stop = new AbortController();
    const broken = put(sockets, url, new Uint8Array(1000), { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('enough')), 50);
    await assert.rejects(broken.sent, /enough/);
    const late = put(sockets, url, new Uint8Array(1000), { timeoutMs: 50 });
    await assert.rejects(late.sent, { code: 'network' });
    silent = false;
    assert.equal((await put(sockets, url, new Uint8Array(10)).sent)?.status, 409);
    assert.equal(opened(), 3, 'neither of the two was used again');
    for (let tries = 0; ended() < 2; tries++) {
      assert.ok(tries < 500, 'both end');
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
});

test('a socket that the service ends is no answer, and is not used again', async () => {
  let cutNow: (() => void) | undefined;
  const handle: VolumeHandler = async (_head, body) => {
    await take(body);
    cutNow?.();
    return { status: 200, reason: 'OK', body: { ok: true } };
  };
  await serving(handle, async ({ url, opened, cut }) => {
    const sockets = new VolumeSockets();
    const send = () => put(sockets, url, new Uint8Array(10)).sent;
    assert.equal((await send())?.status, 200);
    cutNow = cut;
    await assert.rejects(send(), { code: 'network' });
    cutNow = undefined;
    assert.equal((await send())?.status, 200);
    assert.equal(opened(), 2);
  });
});

test('a socket that ends while it is idle is not waited for', { timeout: 180_000 }, async () => {
  const handle: VolumeHandler = async (_head, body) => {
    await take(body);
    return { status: 200, reason: 'OK', body: { ok: true } };
  };
  await serving(handle, async ({ url, cut }) => {
    const sockets = new VolumeSockets();
    const send = () => put(sockets, url, new Uint8Array(10), { timeoutMs: 600_000 }).sent;
    await send();
    cut();
    await new Promise((resolve) => setTimeout(resolve, 200));
    // Where its end is not known yet, it is known right after the volume has left.
    const answer = await send().catch(send);
    assert.equal(answer?.status, 200);
  });
});

test('where sockets are not let through, a volume is left to requests, and it is not tried again at once', async () => {
  await serving(undefined, async ({ url, opened }) => {
    const sockets = new VolumeSockets();
    assert.equal(sockets.refused, false);
    for (let times = 0; times < 2; times++) {
      assert.equal(await put(sockets, url, new Uint8Array(10)).sent, undefined);
      assert.equal(sockets.refused, true);
    }
    assert.equal(opened(), 1);
  });
});
