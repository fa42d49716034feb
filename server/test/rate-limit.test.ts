import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { MAX_WAIT_MS, RateLedger, RateLimiter } from '../src/platform/rate-limit.ts';
import { copyInto, type Sink } from '../src/platform/volumes/body.ts';

test('a rate holds for all that somebody sends together, after a second at once', () => {
  let now = 1_000_000;
  const book = new RateLedger(() => now);
  // A second that was not used, then each waits for those before it.
  assert.deepEqual(
    [1, 2, 3, 4].map(() => book.take('ann', 500, 1000)),
    [0, 0, 0, 500],
  );
  assert.equal(book.take('bob', 500, 1000), 0, 'nobody else waits');
  now += 1000;
  assert.equal(book.take('ann', 1, 1000), 0);
  // However long nothing came, it is a second.
  now += 3_600_000;
  assert.equal(book.take('ann', 3000, 1000), 0);
  assert.equal(book.take('ann', 1, 1000), 2000);
});

test('whoever has not sent for long is forgotten', () => {
  let now = 10_000;
  const book = new RateLedger(() => now);
  for (let at = 0; at < 5000; at++) {
    now += 10;
    book.take(`u${at}`, 1, 1000);
  }
  assert.ok(book.size <= 1001, `${book.size} are kept`);
});

/** What was paid, and what it was paid for. */
class Payments {
  readonly taken: [who: string, bytes: number, rate: number][] = [];
  readonly rateLimiter = new RateLimiter(async (who, bytes, rate) => {
    this.taken.push([who, bytes, rate]);
    return 0;
  });
  get bytes(): number {
    return this.taken.reduce((sum, [, bytes]) => sum + bytes, 0);
  }
}
const RATE = 160 * 1024;
const ann = { username: 'ann', uploadRate: RATE, downloadRate: RATE };

test('a body is paid for piece by piece, and arrives as it was', async () => {
  const payments = new Payments();
  const bytes = randomBytes(200_000);
  const parts: Buffer[] = [];
  const memory = Buffer.alloc(64 * 1024);
  const sink: Sink = {
    target: () => memory,
    advance: (count) => {
      parts.push(Buffer.from(memory.subarray(0, count)));
      return undefined;
    },
  };
  const body = { pour: async (to: Sink) => copyInto(bytes, to) };
  await payments.rateLimiter.limitUpload(body, ann).pour(sink);
  assert.ok(Buffer.concat(parts).equals(bytes));
  assert.ok(Math.max(...parts.map(({ length }) => length)) <= 20 * 1024, 'no piece is larger than it may be');
  assert.equal(payments.bytes, bytes.length);
  assert.deepEqual(payments.taken[0]!.toSpliced(1, 1), ['up ann', RATE]);
  assert.equal(
    payments.rateLimiter.limitUpload(body, { ...ann, uploadRate: null }),
    body,
    'without a rate it is as it was',
  );
});

test('a sink that fails is told as ever', async () => {
  const fault = new Error('full');
  const sink: Sink = {
    target: () => Buffer.alloc(1000),
    advance: () => {
      throw fault;
    },
  };
  const body = { pour: async (to: Sink) => copyInto(Buffer.alloc(10), to) };
  await assert.rejects(new Payments().rateLimiter.limitUpload(body, ann).pour(sink), fault);
});

test('what goes out is paid for, in order, and the connection is left as it was', async () => {
  const payments = new Payments();
  const parts: Buffer[] = [];
  const connection = new Writable({
    write: (bytes: Buffer, _encoding, done) => {
      parts.push(Buffer.from(bytes));
      done();
    },
  });
  const { writable, end } = payments.rateLimiter.limitDownload(connection, ann);
  const bytes = randomBytes(100_000);
  await new Promise<void>((resolve, reject) => {
    writable.write(bytes, (error) => (error ? reject(error) : resolve()));
  });
  end();
  assert.ok(Buffer.concat(parts).equals(bytes));
  assert.equal(payments.bytes, bytes.length);
  assert.equal(connection.destroyed, false);
  assert.equal(connection.listenerCount('close'), 0);
});

test('a connection that closes meanwhile ends what is written to it', async () => {
  const connection = new Writable({ write: (_bytes, _encoding, done) => done() });
  const { writable } = new Payments().rateLimiter.limitDownload(connection, ann);
  const closed = new Promise((resolve) => writable.once('close', resolve));
  connection.destroy();
  await closed;
  const error = await new Promise((resolve) => {
    writable.write(Buffer.alloc(10), resolve);
  });
  assert.ok(error instanceof Error);
});

test('however many come at once, few wait: what would wait too long is refused, and not counted', async () => {
  let now = 1_000_000;
  const book = new RateLedger(() => now);
  const [rate, piece] = [64 * 1024, 16 * 1024];
  const waits = Array.from({ length: 5000 }, () => book.take('ann', piece, rate));
  const held = waits.filter((ms) => ms <= MAX_WAIT_MS).length;
  assert.ok(held > 100 && held < 150, `${held} wait`);
  now += MAX_WAIT_MS;
  assert.ok(book.take('ann', piece, rate) < 1000, 'those who were refused left no debt');

  const rateLimiter = new RateLimiter(async () => MAX_WAIT_MS + 1);
  const sink: Sink = { target: () => Buffer.alloc(1000), advance: () => undefined };
  const body = { pour: async (to: Sink) => copyInto(Buffer.alloc(10), to) };
  await assert.rejects(rateLimiter.limitUpload(body, ann).pour(sink), { status: 429 });
  const connection = new Writable({ write: (_bytes, _encoding, done) => done() });
  const error = await new Promise((resolve) => {
    rateLimiter.limitDownload(connection, ann).writable.write(Buffer.alloc(10), resolve);
  });
  assert.equal((error as { status?: number }).status, 429);
});

test('what waits for its turn is not kept for a peer that is gone', async () => {
  const asked = Promise.withResolvers<void>();
  const rateLimiter = new RateLimiter(async () => {
    asked.resolve();
    return MAX_WAIT_MS;
  });
  const connection = new Writable({ write: (_bytes, _encoding, done) => done() });
  const { writable } = rateLimiter.limitDownload(connection, ann);
  const written = new Promise((resolve) => writable.write(Buffer.alloc(10), resolve));
  await asked.promise;
  await new Promise(setImmediate);
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length;
  const before = timers();
  connection.destroy();
  assert.ok((await written) instanceof Error);
  assert.equal(timers(), before - 1);
});
