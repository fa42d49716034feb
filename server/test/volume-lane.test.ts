/** One file, although a long one: its tests share a lane and those who talk to it byte by byte. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { after, before, beforeEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import fc from 'fast-check';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { parseVolumeHead } from '../src/fastlane/head.ts';
import { openVolumeLanes } from '../src/fastlane/lane.ts';
import { Disconnected, type Sink } from '../src/platform/volumes/body.ts';
import type { VolumeHandler } from '../src/transfers/put.ts';

/** Whatever hangs here hangs for good. */
const limit = { timeout: 60_000 };

const IDLE_MS = 300;

let server: Server;
let lanes: ReturnType<typeof openVolumeLanes>;
let port: number;
let handle: VolumeHandler;
/** Requests that Node's server got. */
let general: string[] = [];

before(async () => {
  server = createServer((request, response) => {
    general.push(`${request.method} ${request.url}`);
    request.resume();
    request.on('end', () => response.end('general'));
  });
  lanes = openVolumeLanes(server, (...args) => handle(...args), IDLE_MS);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as AddressInfo).port;
});
after(() => {
  lanes.close();
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  general = [];
});

/** Gathers a body in pieces of a given size; every full piece is waited for. */
class Gathering implements Sink {
  readonly bytes: Buffer[] = [];
  readonly memory: Uint8Array;
  #filled = 0;
  readonly #onFull: () => Promise<void> | undefined;

  constructor(size = 1000, onFull: () => Promise<void> | undefined = () => sleep(1)) {
    this.memory = new Uint8Array(size);
    this.#onFull = onFull;
  }

  target(): Uint8Array {
    return this.memory.subarray(this.#filled);
  }

  advance(count: number): Promise<void> | undefined {
    assert.ok(count > 0 && this.#filled + count <= this.memory.length);
    this.bytes.push(Buffer.from(this.memory.subarray(this.#filled, this.#filled + count)));
    this.#filled += count;
    if (this.#filled < this.memory.length) return undefined;
    this.#filled = 0;
    return this.#onFull();
  }

  get whole(): Buffer {
    return Buffer.concat(this.bytes);
  }
}

const OK = { status: 200, body: { ok: true } };
const NO = { status: 409, body: { error: 'no' } };

function put(body: Buffer, extra = ''): Buffer {
  const head = `PUT /api/transfer/abc/chunk/1 HTTP/1.1\r\nHost: x\r\nContent-Length: ${body.length}\r\n${extra}\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

/** A connection whose answers can be waited for, one at a time. */
class Client {
  readonly socket: Socket;
  #text = '';
  #closed = false;

  constructor(to = port) {
    this.socket = connect(to, '127.0.0.1');
    this.socket.setNoDelay(true);
    this.socket.on('data', (bytes) => {
      this.#text += bytes.toString('latin1');
    });
    this.socket.on('error', () => undefined);
    this.socket.on('close', () => {
      this.#closed = true;
    });
  }

  async answer(): Promise<string> {
    for (let waited = 0; waited < 5000; waited += 5) {
      const end = this.#text.indexOf('\r\n\r\n');
      const length = Number(/content-length: (\d+)/i.exec(this.#text.slice(0, end))?.[1] ?? 0);
      if (end >= 0 && this.#text.length >= end + 4 + length) {
        const whole = this.#text.slice(0, end + 4 + length);
        this.#text = this.#text.slice(end + 4 + length);
        return whole;
      }
      if (this.#closed) return 'closed';
      await sleep(5);
    }
    return 'silence';
  }

  async closed(): Promise<boolean> {
    for (let waited = 0; waited < 5000 && !this.#closed; waited += 5) await sleep(5);
    return this.#closed;
  }
}

async function pouring(sink: Gathering): Promise<Client> {
  handle = async (_head, body, begin) => {
    begin();
    await body.pour(sink);
    return OK;
  };
  return new Client();
}

test(
  'volumes take the lane, one after the other; what is not one goes to the general server, for good',
  limit,
  async () => {
    const sink = new Gathering();
    const client = await pouring(sink);
    for (const body of [Buffer.from('first'), Buffer.alloc(0), Buffer.alloc(100_000, 7)]) {
      client.socket.write(put(body));
      assert.match(await client.answer(), /^HTTP\/1\.1 200 OK\r\n/);
    }
    assertBytes(sink.whole, Buffer.concat([Buffer.from('first'), Buffer.alloc(100_000, 7)]));
    assert.deepEqual(general, []);
    client.socket.write('GET /else HTTP/1.1\r\nHost: x\r\n\r\n');
    assert.match(await client.answer(), /general$/);
    client.socket.write(put(Buffer.alloc(200_000, 9)));
    assert.match(await client.answer(), /general$/);
    assert.deepEqual(general, ['GET /else', 'PUT /api/transfer/abc/chunk/1']);
    client.socket.destroy();
  },
);

test('a connection that begins with something else never sees the lane', limit, async () => {
  handle = async () => NO;
  const client = new Client();
  client.socket.write('POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc');
  assert.match(await client.answer(), /general$/);
  client.socket.destroy();
});

test(
  'a head in two pieces, and two requests in one piece, are left to the general server',
  limit,
  async () => {
    handle = async () => NO;
    const accepted = once(server, 'connection');
    const slow = new Client();
    slow.socket.write('PUT /api/transfer/abc/chunk/1 HT');
    const [met] = (await accepted) as [Socket];
    while (met.bytesRead === 0) await sleep(5);
    slow.socket.write('TP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx');
    assert.match(await slow.answer(), /general$/);
    const twice = new Client();
    twice.socket.write(Buffer.concat([put(Buffer.from('a')), put(Buffer.from('b'))]));
    assert.match(await twice.answer(), /general$/);
    assert.match(await twice.answer(), /general$/);
    slow.socket.destroy();
    twice.socket.destroy();
  },
);

test('any bytes in any pieces arrive as they were sent', limit, async () => {
  const pieces = fc.array(fc.integer({ min: 1, max: 40_000 }), { minLength: 1, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(
      pieces,
      fc.integer({ min: 700, max: 30_000 }),
      fc.boolean(),
      async (sizes, segment, waits) => {
        const sink = new Gathering(segment, () => (waits ? sleep(0) : undefined));
        const client = await pouring(sink);
        const body = Buffer.from(
          Array.from({ length: sizes.reduce((a, b) => a + b) }, (_, at) => (at * 31) >> 3),
        );
        client.socket.write(put(body).subarray(0, -body.length));
        for (let from = 0, at = 0; from < body.length; from += sizes[at++]!) {
          client.socket.write(body.subarray(from, from + sizes[at]!));
          if (at % 3 === 0) await sleep(0);
        }
        assert.match(await client.answer(), /^HTTP\/1\.1 200/);
        assert.ok(sink.whole.equals(body));
        client.socket.destroy();
      },
    ),
    { numRuns: 40 },
  );
});

test('a body nobody wants is drained, and the connection goes on', limit, async () => {
  handle = async () => NO;
  const client = new Client();
  client.socket.write(put(Buffer.alloc(3_000_000)));
  assert.match(await client.answer(), /^HTTP\/1\.1 409 Conflict/);
  const sink = new Gathering();
  handle = async (_head, body) => {
    await body.pour(sink);
    return OK;
  };
  client.socket.write(put(Buffer.from('wanted')));
  assert.match(await client.answer(), /^HTTP\/1\.1 200/);
  assert.equal(sink.whole.toString(), 'wanted');
  client.socket.destroy();
});

/** Memory that was given back to a pool may serve another request: nothing may be read into it afterwards. */
test('after a sink has failed, nothing is read into its memory', limit, async () => {
  const failures: (() => Promise<void> | undefined)[] = [
    () => {
      throw new Error('full');
    },
    () => Promise.reject(new Error('full')),
  ];
  for (const onFull of failures) {
    const sink = new Gathering(50_000, onFull);
    handle = async (_head, body) => {
      await assert.rejects(body.pour(sink), /full/);
      sink.memory.fill(0xee);
      return NO;
    };
    const client = new Client();
    client.socket.write(put(Buffer.alloc(400_000, 1)));
    // Where draining is not safe the connection ends, and the answer may be lost with it.
    assert.match(await client.answer(), /^HTTP\/1\.1 409|^closed/);
    await sleep(50);
    assert.ok(sink.memory.every((byte) => byte === 0xee));
    client.socket.destroy();
  }
});

test('a client that asks first is told to go on only when its body is wanted', limit, async () => {
  const sink = new Gathering();
  const client = await pouring(sink);
  client.socket.write(put(Buffer.alloc(5), 'Expect: 100-continue\r\n').subarray(0, -5));
  assert.match(await client.answer(), /^HTTP\/1\.1 100 Continue/);
  client.socket.write('hello');
  assert.match(await client.answer(), /^HTTP\/1\.1 200/);
  handle = async () => NO;
  const refused = new Client();
  refused.socket.write(put(Buffer.alloc(5), 'Expect: 100-continue\r\n').subarray(0, -5));
  assert.match(await refused.answer(), /^HTTP\/1\.1 409[\s\S]*Connection: close/);
  assert.ok(await refused.closed());
  client.socket.destroy();
});

test('a client that breaks off or falls silent ends its body with an error', limit, async () => {
  for (const leave of [
    (client: Client) => client.socket.destroy(),
    (client: Client) => client.socket.end(),
    () => undefined,
  ]) {
    const failed = Promise.withResolvers<unknown>();
    handle = async (_head, body) => {
      await body.pour(new Gathering()).catch(failed.resolve);
      return NO;
    };
    const client = new Client();
    client.socket.write(put(Buffer.alloc(50_000)).subarray(0, 30_000));
    await sleep(20);
    leave(client);
    assert.ok((await failed.promise) instanceof Disconnected);
    client.socket.destroy();
  }
});

test('silence between two volumes closes the connection; work of the service does not', limit, async () => {
  const sink = new Gathering();
  handle = async (_head, body) => {
    await body.pour(sink);
    await sleep(IDLE_MS * 2);
    return OK;
  };
  const client = new Client();
  client.socket.write(put(Buffer.from('slow')));
  assert.match(await client.answer(), /^HTTP\/1\.1 200/);
  assert.ok(await client.closed());
});

test('a client that never reads its answers is cut off', limit, async () => {
  let answers = 0;
  handle = async () => {
    answers++;
    return { ...NO, body: { error: 'x'.repeat(50_000) } };
  };
  const client = new Client();
  client.socket.pause();
  for (let sent = 0; sent < 1000 && !client.socket.destroyed; sent++) {
    client.socket.write(put(Buffer.alloc(0)));
    // Two at once would be for the general server.
    for (let waited = 0; answers <= sent && !client.socket.destroyed && waited < 500; waited++)
      await sleep(1);
  }
  assert.ok(client.socket.destroyed && answers < 1000, `${answers} answers were written`);
});

test('a client that resets the connection while it is handed over harms nobody', limit, async () => {
  let lane: { socket: Socket } | undefined;
  let asked = 0;
  handle = async (_head, body) => {
    asked += 1;
    lane = body as unknown as { socket: Socket };
    return { ...NO, body: { error: 'x'.repeat(50_000) } };
  };
  const client = new Client();
  client.socket.pause();
  // Until an answer waits to be written: its failure is what ends the connection. One request at a time: two in one
  // piece leave the lane.
  for (let sent = 0; sent < 1000 && !lane?.socket.writableLength; sent++) {
    client.socket.write(put(Buffer.alloc(0)));
    for (let waited = 0; asked <= sent && !lane?.socket.writableLength && waited < 5000; waited++)
      await sleep(1);
  }
  assert.ok(lane!.socket.writableLength > 0);
  client.socket.write('GET /else HTTP/1.1\r\nHost: x\r\n\r\n');
  client.socket.resetAndDestroy();
  await sleep(50);
  assert.ok(lane!.socket.destroyed);
});

test('a stop ends a connection once the body that nobody wants is through', limit, async () => {
  const own = createServer();
  const stopping = openVolumeLanes(own, async () => NO, 10_000);
  own.listen(0, '127.0.0.1');
  await once(own, 'listening');
  const client = new Client((own.address() as AddressInfo).port);
  const bytes = put(Buffer.alloc(100_000));
  client.socket.write(bytes.subarray(0, 50_000));
  assert.match(await client.answer(), /^HTTP\/1\.1 409[\s\S]*keep-alive/);
  stopping.close();
  own.close();
  client.socket.write(bytes.subarray(50_000));
  assert.ok(await client.closed());
});

test('only the plainest form of the request is taken', limit, () => {
  const line = 'PUT /api/transfer/a-b_1/chunk/12 HTTP/1.1';
  const parse = (...headers: string[]) => parseVolumeHead([line, 'Host: x', ...headers].join('\r\n'));
  assert.deepEqual(parse('Content-Length: 7', 'Authorization: Bearer x y'), {
    transferId: 'a-b_1',
    idx: '12',
    init: undefined,
    length: 7,
    digest: undefined,
    authorization: 'Bearer x y',
    forwardedFor: undefined,
    requestId: undefined,
    asksFirst: false,
    close: false,
  });
  assert.equal(parse('content-length:7', 'Connection: Close')?.close, true);
  assert.equal(parse('content-length:7', 'CONTENT-digest:\tx=:: ')?.digest, 'x=::');
  const file = parseVolumeHead(
    'PUT /api/transfer/a/file HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\nX-Init: \t e30= ',
  );
  assert.deepEqual([file?.transferId, file?.idx, file?.init], ['a', undefined, 'e30=']);
  const refused = [
    [],
    ['Content-Length: 7', 'Content-Length: 7'],
    ['Content-Length: +7'],
    ['Content-Length: 7, 7'],
    ['Content-Length: 0x7'],
    ['Content-Length : 7'],
    ['Content-Length: 7', 'Transfer-Encoding: chunked'],
    ['Content-Length: 7', 'Transfer-Encoding : chunked'],
    ['Content-Length: 7', ' folded'],
    ['Content-Length: 7\n'],
    ['Content-Length: 7', 'X: a\nTransfer-Encoding: chunked'],
    ['Content-Length: 7', 'X: \u0000'],
    ['Content-Length: 7', 'Connection: upgrade', 'Upgrade: h2c'],
    ['Content-Length: 7', 'Expect: tea'],
    ...['TE: trailers', 'Trailer: x', 'Upgrade: h2c', 'Keep-Alive: timeout=5', 'Proxy-Connection: close'].map(
      (other) => ['Content-Length: 7', other],
    ),
  ];
  for (const headers of refused) assert.equal(parse(...headers), undefined, JSON.stringify(headers));
  assert.equal(parseVolumeHead(`${line}\r\nContent-Length: 7`), undefined, 'no Host');
  const lines = [
    'PUT /api/transfer/a/chunk/0 HTTP/1.1',
    'PUT /api/transfer/a/chunk/1 HTTP/1.0',
    'PUT /api/transfer/a%2fb/chunk/1 HTTP/1.1',
    'PUT /api/transfer/../chunk/1 HTTP/1.1',
    'PUT /api/transfer/a/chunk/1?x HTTP/1.1',
    'put /api/transfer/a/chunk/1 HTTP/1.1',
    'GET /api/transfer/a/chunk/1 HTTP/1.1',
  ];
  for (const other of lines) {
    assert.equal(parseVolumeHead(`${other}\r\nHost: x\r\nContent-Length: 7`), undefined, other);
  }
});
