import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Connections } from '../src/fastlane/s3-connection.ts';
import { StoreUnavailable } from '../src/platform/errors.ts';
import { S3Client } from '../src/platform/s3/client.ts';
import { openRange, sendRange } from '../src/platform/s3/download.ts';
import { S3Error } from '../src/platform/s3/errors.ts';
import { SegmentPool } from '../src/platform/volumes/segments.ts';

const BYTES = randomBytes(3 * 2 ** 20 + 17);
const pool = new SegmentPool(4, 256 * 1024);
const open: { server: Server; client: S3Client }[] = [];
const PATIENT = { silenceMs: 20_000, totalMs: 20_000 };
/** Where it has to give up. */
const HASTY = { silenceMs: 100, totalMs: 100 };

/** A store of our own making, to answer as no good one would: `answer` gets each request's head. */
async function storeThat(answer: (socket: Socket, head: string, count: number) => void, limits = PATIENT) {
  let requests = 0;
  let connections = 0;
  const server = createServer((socket) => {
    connections++;
    let head = '';
    socket.on('error', () => undefined /* the client hung up, as some tests want it to */);
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      answer(socket, head, ++requests);
      head = '';
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const location = { bucket: 'b', prefix: '', endpoint, region: 'us-east-1' };
  const openReader = (at: URL, idleMs: number) => new S3Connections(at, idleMs);
  const client = new S3Client(
    location,
    { accessKeyId: 'a', secretAccessKey: 's' },
    { ...limits, openReader },
  );
  open.push({ server, client });
  const counts = () => ({ requests, connections });
  return { client, counts };
}

afterEach(() => {
  for (const { server, client } of open.splice(0)) {
    client.close();
    server.close();
  }
});

const head = (length: number, status = '200 OK', more = '') =>
  `HTTP/1.1 ${status}\r\nContent-Length: ${length}\r\n${more}\r\n`;

/** The bytes a request asks for, and the status that goes with them. */
function asked(request: string): { bytes: Buffer; status: string } {
  const range = /^range: bytes=(\d+)-(\d+)\r$/m.exec(request);
  if (!range) return { bytes: BYTES, status: '200 OK' };
  return { bytes: BYTES.subarray(Number(range[1]), Number(range[2]) + 1), status: '206 Partial Content' };
}

class Collector extends Writable {
  readonly hash = createHash('sha256');
  bytes = 0;
  readonly #pauseMs: number;

  constructor(pauseMs = 0) {
    super();
    this.#pauseMs = pauseMs;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.hash.update(chunk);
    this.bytes += chunk.length;
    if (this.#pauseMs === 0) done();
    else setTimeout(done, this.#pauseMs);
  }
}

async function received(client: S3Client, start = 0, end = BYTES.length, sink = new Collector()) {
  await sendRange(client, pool, 'key', sink, { start, end });
  assert.equal(sink.bytes, end - start);
  const expected = createHash('sha256').update(BYTES.subarray(start, end)).digest('hex');
  assert.equal(sink.hash.digest('hex'), expected);
}

test('ranges and whole objects arrive over one connection that is used again', async () => {
  const { client, counts } = await storeThat((socket, request) => {
    const { bytes, status } = asked(request);
    socket.write(head(bytes.length, status));
    socket.write(bytes);
  });
  const whole = await openRange(client, 'key', 0);
  assert.equal(whole.length, BYTES.length);
  const sink = new Collector();
  await sendRange(client, pool, 'key', sink, { start: 0, end: BYTES.length, opened: whole });
  assert.equal(sink.hash.digest('hex'), createHash('sha256').update(BYTES).digest('hex'));
  await received(client, 5, 6);
  await received(client, 1000, 2 ** 20);
  await Promise.all([received(client, 0, 70_000), received(client, 1, 2 ** 21)]);
  assert.equal(counts().requests, 5);
  assert.equal(counts().connections, 2);
});

test('a head in pieces, bytes that trickle', async () => {
  const { client } = await storeThat(async (socket, request) => {
    const { bytes, status } = asked(request);
    for (const char of head(bytes.length, status)) {
      socket.write(char);
      await sleep(0);
    }
    for (let at = 0; at < bytes.length; at += 70_001) {
      socket.write(bytes.subarray(at, at + 70_001));
      await sleep(1);
    }
  });
  await received(client, 0, 2 ** 20);
});

test('a store that breaks off is asked for the rest', async () => {
  const ranges: string[] = [];
  const { client } = await storeThat((socket, request, count) => {
    const { bytes, status } = asked(request);
    ranges.push(/range: (\S+)/.exec(request)?.[1] ?? '');
    socket.write(head(bytes.length, status));
    if (count < 3) socket.end(bytes.subarray(0, 300_000));
    else socket.write(bytes);
  });
  await received(client);
  assert.deepEqual(
    ranges,
    [0, 1, 2].map((times) => `bytes=${times * 300_000}-${BYTES.length - 1}`),
  );
});

test('a connection that was closed while it rested is replaced', async () => {
  const { client, counts } = await storeThat((socket, request) => {
    const { bytes, status } = asked(request);
    socket.write(head(bytes.length, status));
    socket.write(bytes, () => setTimeout(() => socket.destroy(), 20));
  });
  await received(client);
  await sleep(100);
  await received(client);
  assert.equal(counts().connections, 2);
});

test('Connection: close is obeyed', async () => {
  const { client, counts } = await storeThat((socket, request) => {
    const { bytes, status } = asked(request);
    socket.write(head(bytes.length, status, 'Connection: close\r\n'));
    socket.end(bytes);
  });
  await received(client);
  await received(client);
  assert.deepEqual(counts(), { requests: 2, connections: 2 });
});

test('other answers are read by a whole HTTP client', async () => {
  const chunked = await storeThat((socket) => {
    socket.write('HTTP/1.1 206 Partial Content\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const bytes of [BYTES.subarray(0, 100_000), BYTES.subarray(100_000)]) {
      socket.write(`${bytes.length.toString(16)}\r\n`);
      socket.write(bytes);
      socket.write('\r\n');
    }
    socket.end('0\r\n\r\n');
  });
  await received(chunked.client);

  const missing = await storeThat((socket) => {
    const body = '<Error><Code>NoSuchKey</Code></Error>';
    socket.write(head(body.length, '404 Not Found') + body);
  });
  await assert.rejects(
    openRange(missing.client, 'key', 0),
    (error) => error instanceof S3Error && error.status === 404 && error.code === 'NoSuchKey',
  );
});

for (const [name, text] of Object.entries({
  'no HTTP at all': 'hello there\r\n\r\n',
  'two lengths': 'HTTP/1.1 206 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello',
  'a head without an end': `HTTP/1.1 206 OK\r\nx: ${'y'.repeat(40_000)}`,
  'more bytes than announced': 'HTTP/1.1 206 OK\r\nContent-Length: 5\r\n\r\nhello and more',
  'a length that is no number': 'HTTP/1.1 206 OK\r\nContent-Length: 0x5\r\n\r\nhello',
})) {
  test(`nonsense is no volume: ${name}`, async () => {
    const { client } = await storeThat((socket) => socket.end(text), HASTY);
    const sink = new Collector();
    await assert.rejects(sendRange(client, pool, 'key', sink, { start: 0, end: 6 }));
    assert.ok(sink.bytes < 6);
  });
}

test('silence ends it; a slow reader is not silence', async () => {
  const silent = await storeThat(() => undefined, HASTY);
  await assert.rejects(received(silent.client), StoreUnavailable);
  const half = await storeThat((socket, request) => {
    const { bytes, status } = asked(request);
    socket.write(head(bytes.length, status));
    socket.write(bytes.subarray(0, 1000));
  }, HASTY);
  await assert.rejects(received(half.client), StoreUnavailable);
  const good = await storeThat(
    (socket, request) => {
      const { bytes, status } = asked(request);
      socket.write(head(bytes.length, status));
      socket.write(bytes);
    },
    // Longer than a busy machine lets this process wait.
    { silenceMs: 600, totalMs: 600 },
  );
  await received(good.client, 0, 2 ** 20, new Collector(700));
  assert.equal(good.counts().requests, 1);
});

test('a reader that goes away ends it at once, and the memory comes back', async () => {
  const { client, counts } = await storeThat((socket, request) => {
    const { bytes, status } = asked(request);
    socket.write(head(bytes.length, status));
    socket.write(bytes);
  });
  for (let times = 0; times < 5; times++) {
    const sink = new Writable({ write: () => setTimeout(() => sink.destroy(), 5) });
    await assert.rejects(sendRange(client, pool, 'key', sink, { start: 0, end: BYTES.length }), {
      name: 'SinkClosed',
    });
  }
  assert.equal(counts().requests, 5);
  const leases = [pool.lease(), pool.lease()];
  assert.ok(leases.every((lease) => lease !== undefined));
  for (const lease of leases) pool.release(lease!);
});
