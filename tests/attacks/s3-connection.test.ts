/** A store, and readers, that end at random moments: nothing is read into a segment that nobody has. SZ_TEST_ATTACKS sets how many downloads. */
import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { Writable } from 'node:stream';
import { after, test } from 'node:test';
import { S3Connections } from '../../server/src/fastlane/s3-connection.ts';
import { S3Client } from '../../server/src/platform/s3/client.ts';
import { sendRange } from '../../server/src/platform/s3/download.ts';
import { collect, GuardedPool } from './canaries.ts';
import { reset } from './reset.ts';

const DOWNLOADS = Number(process.env['SZ_TEST_ATTACKS'] ?? 300);
const AT_ONCE = 6;
const BYTES = randomBytes(600_000);

const open = new Set<Socket>();
after(() => {
  for (const socket of open) socket.destroy();
});

/** Answers every range, mostly whole, in pieces; sometimes it goes on after the end, as no store should. */
function answer(socket: Socket, head: string): void {
  const [, from, to] = /range: bytes=(\d+)-(\d+)/.exec(head) ?? [];
  const bytes = BYTES.subarray(Number(from), Number(to) + 1);
  const whole = randomInt(4) > 0;
  socket.write(`HTTP/1.1 206 Partial Content\r\nContent-Length: ${bytes.length}\r\n\r\n`);
  const sent = whole ? bytes.length : randomInt(bytes.length);
  for (let at = 0; at < sent; at += 50_000) socket.write(bytes.subarray(at, Math.min(sent, at + 50_000)));
  if (!whole) setImmediate(() => (randomInt(2) === 0 ? socket.destroy() : reset(socket)));
  else if (randomInt(10) === 0) socket.write(Buffer.alloc(30_000, 0x41));
}

/** Takes bytes as fast or as slowly as it likes, checks them, and may go away. */
class Reader extends Writable {
  taken = 0;
  readonly #leaves = randomInt(3) === 0 ? randomInt(BYTES.length) : Number.POSITIVE_INFINITY;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    assert.ok(
      chunk.equals(BYTES.subarray(this.taken, this.taken + chunk.length)),
      'other bytes than the store sent',
    );
    this.taken += chunk.length;
    if (this.taken > this.#leaves) this.destroy();
    if (randomInt(2) === 0) done();
    else setTimeout(done, randomInt(3));
  }
}

test(`${DOWNLOADS} downloads from a store, ended at random moments on both sides`, async () => {
  const server = createServer((socket) => {
    open.add(socket);
    socket.on('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    let head = '';
    socket.on('data', (bytes) => {
      head += bytes.toString('latin1');
      if (!head.endsWith('\r\n\r\n')) return;
      answer(socket, head);
      head = '';
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const location = { bucket: 'b', prefix: '', endpoint, region: 'us-east-1' };
  const openReader = (at: URL, idleMs: number) => new S3Connections(at, idleMs);
  const client = new S3Client(location, { accessKeyId: 'a', secretAccessKey: 's' }, { openReader });
  const pool = new GuardedPool(8, 64 * 1024);
  let begun = 0;
  let whole = 0;
  const download = async () => {
    while (begun++ < DOWNLOADS) {
      if (begun % 20 === 0) collect();
      const reader = new Reader();
      try {
        await sendRange(client, pool, 'key', reader, { start: 0, end: BYTES.length });
        assert.equal(reader.taken, BYTES.length);
        whole++;
      } catch (error) {
        // The store broke off too often, or the reader went away.
        assert.match((error as Error).name, /SinkClosed|StoreUnavailable/, String(error));
      }
      pool.check();
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, download));
    assert.equal(pool.kept, 8, 'segments are lost');
    assert.ok(whole > DOWNLOADS / 3, `${whole} of ${DOWNLOADS} came whole`);
  } finally {
    client.close();
    server.close();
  }
});
