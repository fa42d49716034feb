import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcp, type Socket } from 'node:net';
import { test } from 'node:test';
import { Api } from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';

/** Connections and requests that a server sees, with a client of its own. */
async function serving(listener: RequestListener, work: (api: Api, seen: string[]) => Promise<void>) {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(`${request.method} over ${request.socket.remotePort}`);
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = nodeTransport();
  const { port } = server.address() as AddressInfo;
  const retry = { forMs: 300, baseMs: 1, capMs: 10 };
  try {
    await work(new Api({ server: `http://127.0.0.1:${port}`, token: 't', transport, retry }), seen);
  } finally {
    transport.close();
    server.closeAllConnections();
    server.close();
  }
}

const json = (length: boolean): RequestListener => {
  const text = JSON.stringify({ username: 'ann', transfer_id: 'x' });
  return (_request, response) => {
    response.setHeader('content-type', 'application/json');
    if (length) response.end(text);
    else {
      response.write(text.slice(0, 5));
      response.end(text.slice(5));
    }
  };
};

test('requests follow each other on one connection', async () => {
  await serving(json(true), async (api, seen) => {
    for (let i = 0; i < 5; i++) assert.equal((await api.me()).username, 'ann');
    assert.equal((await api.init({} as never)).transfer_id, 'x');
    assert.equal(new Set(seen.map((line) => line.split(' ').at(-1))).size, 1, seen.join('\n'));
  });
});

test('a service behind something that cuts answers into chunks is read by node:http from then on', async () => {
  await serving(json(false), async (api, seen) => {
    assert.equal((await api.me()).username, 'ann');
    assert.equal(seen.length, 2, 'asked again, since reading does no harm');
    assert.equal((await api.me()).username, 'ann');
    assert.equal((await api.init({} as never)).transfer_id, 'x');
    assert.equal(seen.length, 4);
  });
});

test('an error has its status and its text', async () => {
  const refuse: RequestListener = (_request, response) => {
    response.statusCode = 409;
    response.end('{"error":"no"}');
  };
  await serving(refuse, async (api, seen) => {
    await assert.rejects(api.login({ username: 'ann', password: 'x' }), { status: 409, message: 'no' });
    assert.equal(seen.length, 1, 'a refusal is not asked for twice');
  });
});

test('a head without an end, a head and no answer, an answer cut short: no answer at all', async () => {
  const raw =
    (text: string): RequestListener =>
    (_request, response) => {
      response.socket!.end(text);
    };
  const endless = `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(70_000)}`;
  const interim = 'HTTP/1.1 100 Continue\r\n\r\n';
  const short = 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}';
  for (const text of [endless, interim, short]) {
    await serving(raw(text), async (api) => {
      await assert.rejects(api.me());
    });
  }
});

test('a header never becomes two', async () => {
  const headers: string[][] = [];
  const listener: RequestListener = (request, response) => {
    headers.push(Object.keys(request.headers));
    response.end('{"username":"ann"}');
  };
  await serving(listener, async (api) => {
    api.token = 't\r\nx-more: 1';
    await assert.rejects(api.me(), { code: 'network' });
    api.token = 't';
    assert.equal((await api.me()).username, 'ann');
    assert.equal(headers.length, 1, 'the first was never sent');
    assert.ok(!headers[0]!.includes('x-more'));
  });
});

test('a body that was refused before it was read does not go on leaving: its memory is used again', async () => {
  const answer = 'HTTP/1.1 409 Conflict\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
  const hasty = createTcp((socket) => {
    socket.on('error', () => {}); // the client hangs up, as it should
    socket.once('data', () => {
      socket.pause();
      socket.write(answer);
    });
    sockets.push(socket);
  });
  const sockets: Socket[] = [];
  hasty.listen(0, '127.0.0.1');
  await once(hasty, 'listening');
  const transport = nodeTransport();
  try {
    const server = `http://127.0.0.1:${(hasty.address() as AddressInfo).port}`;
    const api = new Api({ server, transport });
    const bytes = new Uint8Array(32 * 1024 * 1024);
    await assert.rejects(api.writeVolume('t', 1, bytes), { status: 409 });
    let received = 0;
    const [socket] = sockets;
    socket!.on('data', (part: Buffer) => {
      received += part.length;
      if (received > bytes.length / 2) socket!.destroy();
    });
    socket!.resume();
    if (!socket!.destroyed) await once(socket!, 'close');
    assert.ok(received <= bytes.length / 2, `${received} bytes came after the answer`);
  } finally {
    transport.close();
    for (const socket of sockets) socket.destroy();
    hasty.close();
  }
});
