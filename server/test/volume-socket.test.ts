import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { volumeSocket } from '@szafa/protocol';
import { openVolumeLanes } from '../src/fastlane/lane.ts';
import { acceptVolumeSockets, isVolumeSocket } from '../src/fastlane/socket.ts';
import type { Sink } from '../src/platform/volumes/body.ts';
import type { VolumeHandler } from '../src/transfers/put.ts';

const IDLE_MS = 2000;
const HELLO =
  `GET ${volumeSocket.path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
  'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
  `Sec-WebSocket-Protocol: ${volumeSocket.protocol}\r\n\r\n`;
const OK = { status: 200, body: { ok: true } };
const pem = readFileSync(new URL('pull/tls.pem', import.meta.url));

/** An uncaught error of the server is one of this process, and fails the test. */
async function serving(
  { handle = async () => OK, secure = false, general }: Partial<Setting>,
  work: (connected: () => Promise<Socket>) => Promise<void>,
): Promise<void> {
  const upgrades = { shouldUpgradeCallback: isVolumeSocket };
  const server = secure
    ? (createSecureServer({ key: pem, cert: pem, ...upgrades }, general) as Server)
    : createServer(upgrades, general);
  const sockets = acceptVolumeSockets(server, handle, IDLE_MS, true);
  if (!secure) openVolumeLanes(server, handle, IDLE_MS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const clients: Socket[] = [];
  try {
    await work(async () => {
      const client = secure
        ? connectSecurely({ port, host: '127.0.0.1', rejectUnauthorized: false })
        : connect(port, '127.0.0.1');
      clients.push(client);
      await once(client, secure ? 'secureConnect' : 'connect');
      // Cut off, where that is what is tested.
      client.on('error', () => undefined);
      return client;
    });
  } finally {
    for (const client of clients) client.destroy();
    sockets.close();
    server.close();
    server.closeAllConnections();
  }
}

interface Setting {
  handle: VolumeHandler;
  secure: boolean;
  general: RequestListener;
}

/** A frame with a mask of zeros. */
function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head[0] = 0x80 | opcode;
  head[1] = 0x80 | 126;
  head.writeUInt16BE(payload.length, 2);
  return Buffer.concat([head, payload]);
}
const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125)]);

async function assertUpgraded(client: Socket): Promise<void> {
  client.write(HELLO);
  const [bytes] = await once(client, 'data', { signal: AbortSignal.timeout(10_000) });
  assert.match(String(bytes), /^HTTP\/1\.1 101 /);
}

test('a client that resets the connection it has just upgraded harms nobody', async () => {
  await serving({}, async (connected) => {
    // As much as is read at once: the next read, before anything else happens, meets the reset.
    const early = Buffer.concat([Buffer.from(HELLO), Buffer.alloc(64 * 1024 - HELLO.length)]);
    for (let tries = 0; tries < 3; tries++) {
      const client = await connected();
      await sleep(20);
      client.write(early);
      client.resetAndDestroy();
      await sleep(50);
    }
    await assertUpgraded(await connected());
  });
});

test('an upgrade behind a request that is not answered yet harms nobody', async () => {
  // Also to know that nobody waits for an answer any more.
  const answered = Promise.withResolvers<void>();
  const general: RequestListener = async (_request, response) => {
    response.on('close', answered.resolve);
    await sleep(100);
    response.end('late');
  };
  await serving({ general }, async (connected) => {
    const client = await connected();
    const closed = once(client, 'close');
    let text = '';
    client.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    client.write(`GET /slow HTTP/1.1\r\nHost: x\r\n\r\n${HELLO}`);
    await answered.promise;
    await closed;
    assert.equal(text, '', 'neither an answer nor an upgrade: nobody could tell what belongs to what');
    await assertUpgraded(await connected());
  });
});

test('a client that sends pings and never reads is cut off', async () => {
  await serving({}, async (connected) => {
    const client = await connected();
    client.write(HELLO);
    await once(client, 'data');
    client.pause();
    const pings = Buffer.concat(Array.from({ length: 8000 }, () => ping));
    let sent = 0;
    for (; sent < 64 && !client.destroyed; sent++) {
      await new Promise((resolve) => client.write(pings, resolve));
    }
    assert.ok(client.destroyed, `${sent} MB of pings were taken`);
  });
});

test('a connection of the lane that went to the general server becomes a volume socket, and is read on', async () => {
  const general: RequestListener = (_request, response) => response.end('general');
  const memory = new Uint8Array(1000);
  let got = 0;
  const sink: Sink = {
    target: () => memory,
    advance: (count) => {
      got += count;
      return undefined;
    },
  };
  const handle: VolumeHandler = async (_head, body) => {
    await body.pour(sink);
    return OK;
  };
  await serving({ handle, general }, async (connected) => {
    const client = await connected();
    let text = '';
    client.on('data', (bytes) => {
      text += bytes.toString('latin1');
    });
    const until = async (end: RegExp) => {
      for (let tries = 0; tries < 1000 && !end.test(text); tries++) await sleep(5);
      assert.match(text, end);
    };
    const head = 'PUT /api/transfer/abc/chunk/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 20000';
    client.write(`${head}\r\n\r\n${'a'.repeat(20_000)}`);
    await until(/200 OK.*"ok":true}$/s);
    client.write('GET /else HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(/general$/);
    client.write(HELLO);
    await until(/101 Switching.*\r\n\r\n$/s);
    for (let times = 1; times < 3; times++) {
      client.write(frame(1, Buffer.from(head)));
      client.write(frame(2, Buffer.alloc(20_000)));
      await until(new RegExp(`101 Switching(?:.*"status":200){${times}}`, 's'));
    }
    assert.equal(got, 60_000);
  });
});

for (const secure of [false, true]) {
  test(`what comes along with the request is read before what comes after it${secure ? ', by TLS' : ''}`, async () => {
    const got: Buffer[] = [];
    const memory = new Uint8Array(1000);
    const sink: Sink = {
      target: () => memory,
      advance: (count) => {
        got.push(Buffer.from(memory.subarray(0, count)));
        return sleep(1);
      },
    };
    const done = Promise.withResolvers<void>();
    const handle: VolumeHandler = async (_head, body) => {
      await sleep(100);
      await body.pour(sink);
      done.resolve();
      return OK;
    };
    await serving({ handle, secure }, async (connected) => {
      const client = await connected();
      const body = Buffer.from(Array.from({ length: 40_000 }, (_, at) => at >> 8));
      const head = 'PUT /api/transfer/abc/chunk/1 HTTP/1.1\r\nHost: x\r\nContent-Length: 40000';
      const first = [Buffer.from(HELLO), frame(1, Buffer.from(head)), frame(2, body.subarray(0, 10_000))];
      client.write(Buffer.concat(first));
      await sleep(50);
      client.write(frame(2, body.subarray(10_000)));
      await done.promise;
      assert.ok(Buffer.concat(got).equals(body), 'the bytes are in another order');
    });
  });
}

for (const byLane of [false, true]) {
  test(`no byte is lost of what is sent along with the upgrade${byLane ? ', also behind a lane' : ''}`, async () => {
    const bytes = randomBytes(500_000);
    const hash = createHash('sha256');
    const piece = new Uint8Array(64 * 1024);
    const sink: Sink = {
      target: () => piece,
      advance: (count) => {
        hash.update(piece.subarray(0, count));
        return undefined;
      },
    };
    const handle: VolumeHandler = async ({ length }, body) => {
      if (length) await body.pour(sink);
      return OK;
    };
    await serving({ handle }, async (connected) => {
      const client = await connected();
      const put = (length: number) =>
        `PUT /api/transfer/x/chunk/1 HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}`;
      if (byLane) {
        client.write(`${put(0)}\r\n\r\n`);
        await once(client, 'data');
      }
      let text = '';
      client.on('data', (part) => {
        text += part.toString('latin1');
      });
      const frames = [frame(1, Buffer.from(put(bytes.length)))];
      for (let at = 0; at < bytes.length; at += 50_000)
        frames.push(frame(2, bytes.subarray(at, at + 50_000)));
      client.write(Buffer.concat([Buffer.from(HELLO), ...frames]));
      for (let tries = 0; tries < 1000 && !text.includes('"status"') && !client.closed; tries++)
        await sleep(5);
      assert.match(text, /"status":200/);
      assert.equal(hash.digest('hex'), createHash('sha256').update(bytes).digest('hex'));
    });
  });
}
