import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { Api } from '../src/index.ts';
import { nodeTransport } from '../src/node/index.ts';
import { PlainHttp } from '../src/node/transport/plain-http.ts';
import { sharedVolumeReader } from '../src/transfers/calls.ts';

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
    for (let i = 0; i < 5; i++) assert.equal((await api.call('me')).username, 'ann');
    assert.equal((await api.call('init', { body: {} as never })).transfer_id, 'x');
    assert.equal(new Set(seen.map((line) => line.split(' ').at(-1))).size, 1, seen.join('\n'));
  });
});

test('a service behind something that cuts answers into chunks is read by node:http from then on', async () => {
  await serving(json(false), async (api, seen) => {
    assert.equal((await api.call('me')).username, 'ann');
    assert.equal(seen.length, 2, 'asked again, since reading does no harm');
    assert.equal((await api.call('me')).username, 'ann');
    assert.equal((await api.call('init', { body: {} as never })).transfer_id, 'x');
    assert.equal(seen.length, 4);
  });
});

test('an error has its status and its text', async () => {
  const refuse: RequestListener = (_request, response) => {
    response.statusCode = 409;
    response.end('{"error":"no"}');
  };
  await serving(refuse, async (api, seen) => {
    await assert.rejects(api.call('login', { body: { username: 'ann', password: 'x' } }), {
      status: 409,
      message: 'no',
    });
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
      await assert.rejects(api.call('me'));
    });
  }
});

test('an answer that is cut short on a kept connection is counted once', async () => {
  const whole = Buffer.alloc(100_000, 1);
  let asked = 0;
  const cutSecond: RequestListener = ({ socket }, response) => {
    response.setHeader('content-length', whole.length);
    if (++asked === 2) response.write(whole.subarray(1), () => socket.end());
    else response.end(whole);
  };
  await serving(cutSecond, async (api, seen) => {
    for (let i = 0; i < 2; i++) {
      let counted = 0;
      const onBytes = (bytes: number) => {
        counted += bytes;
      };
      const place = { id: 'x', number: 1, ticket: 'x' };
      const { body } = await sharedVolumeReader(api, place).readVolume(1, whole.length, { onBytes });
      assert.deepEqual([body.length, counted], [whole.length, whole.length]);
    }
    assert.equal(seen.length, 3);
    assert.equal(seen[0], seen[1]);
  });
});

test('a header never becomes two', async () => {
  const headers: string[][] = [];
  const listener: RequestListener = (request, response) => {
    headers.push(Object.keys(request.headers));
    response.end('{"username":"ann"}');
  };
  await serving(listener, async (api) => {
    api.token = 't\r\nx-more: 1';
    await assert.rejects(api.call('me'), { code: 'network' });
    api.token = 't';
    assert.equal((await api.call('me')).username, 'ann');
    assert.equal(headers.length, 1, 'the first was never sent');
    assert.ok(!headers[0]!.includes('x-more'));
  });
});

test('once there is an answer nothing of the body leaves any more: its memory is used for something else', async () => {
  const MIB = 1024 * 1024;
  const closed = Promise.withResolvers<void>();
  let length = 0;
  let changed = false;
  let line: Socket | undefined;
  const server = createTcpServer((socket) => {
    line = socket.on('error', () => {}).on('close', () => closed.resolve());
    socket.on('data', (bytes: Buffer) => {
      if (length === 0) socket.pause().write('HTTP/1.1 409 Conflict\r\ncontent-length: 2\r\n\r\n{}');
      length += bytes.length;
      changed ||= bytes.includes(2);
    });
  }).listen(0, '127.0.0.1');
  const plain = new PlainHttp();
  try {
    await once(server, 'listening');
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    // More than the system takes for a connection that nobody reads from.
    const body = new Uint8Array(32 * MIB).fill(1);
    const limits = { maxBytes: MIB, timeoutMs: 10_000, quietMs: 10_000 };
    const answer = await plain.exchange(url, { method: 'PUT', url: url.href, headers: {}, body, ...limits });
    assert.equal(answer.status, 409);
    body.fill(2);
    line!.resume();
    await closed.promise;
    assert.equal(changed, false);
    assert.ok(length < body.length, `${length} bytes`);
  } finally {
    plain.close();
    line?.destroy();
    server.close();
  }
});
