import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import fc from 'fast-check';
import { copyInto } from '../src/platform/volumes/body.ts';
import { SegmentPool } from '../src/platform/volumes/segments.ts';
import { SocketSink } from '../src/platform/volumes/socket-sink.ts';

const SEGMENT_BYTES = 64 * 1024;

/** Takes some writes at once and others later, as a socket does; looks at the bytes when it takes them. */
class Peer extends Writable {
  readonly taken: Buffer[] = [];
  readonly #atOnce: boolean[];
  #writes = 0;

  constructor(atOnce: boolean[]) {
    super({ highWaterMark: 8 * SEGMENT_BYTES });
    this.#atOnce = atOnce;
  }

  override _write(bytes: Buffer, _encoding: string, done: () => void): void {
    const take = () => {
      this.taken.push(Buffer.from(bytes));
      done();
    };
    if (this.#atOnce[this.#writes++ % this.#atOnce.length]) take();
    else setImmediate(take);
  }
}

test('no byte is overwritten before the peer has it, however it takes them', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.boolean(), { minLength: 1, maxLength: 12 }),
      fc.array(fc.integer({ min: 1, max: 3 * SEGMENT_BYTES }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 0, max: 2 }),
      async (atOnce, sizes, segments) => {
        const bytes = randomBytes(sizes.reduce((sum, size) => sum + size, 0));
        const peer = new Peer(atOnce);
        const pool = new SegmentPool(segments, SEGMENT_BYTES);
        const socketSink = new SocketSink(peer, bytes.length, pool);
        for (let at = 0, i = 0; i < sizes.length; at += sizes[i++]!) {
          await copyInto(bytes.subarray(at, at + sizes[i]!), socketSink);
        }
        await socketSink.finish();
        await socketSink.close();
        assert.ok(Buffer.concat(peer.taken).equals(bytes));
        assert.equal(pool.lease() !== undefined, segments === 2, 'the segments are back');
      },
    ),
    { numRuns: 300 },
  );
});

test('a peer that goes away fails what waits for it, and the segments come back', async () => {
  const pool = new SegmentPool(2, SEGMENT_BYTES);
  const peer = new Peer([]);
  peer._write = () => undefined;
  const socketSink = new SocketSink(peer, 10 * SEGMENT_BYTES, pool);
  const pouring = copyInto(randomBytes(4 * SEGMENT_BYTES), socketSink);
  assert.ok(pouring, 'both segments are on their way');
  peer.destroy();
  await assert.rejects(pouring, { name: 'SinkClosed' });
  assert.throws(() => copyInto(randomBytes(SEGMENT_BYTES), socketSink), { name: 'SinkClosed' });
  await assert.rejects(socketSink.finish(), { name: 'SinkClosed' });
  await socketSink.close();
  assert.ok(pool.lease());
});

test('more bytes than were announced are refused before they are sent', async () => {
  const peer = new Peer([true]);
  const sink = new SocketSink(peer, 10, new SegmentPool(2, SEGMENT_BYTES));
  assert.throws(() => sink.advance(11), /more bytes/);
  await sink.close();
  assert.deepEqual(peer.taken, []);
});
