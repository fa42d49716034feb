/** Memory of volumes: lent to one at a time, and kept for the next. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { newSecrets, openVolume, sealVolume } from '@szafa/format';
import fc from 'fast-check';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { usually } from '../../tests/harness/long.ts';
import { bytesSource } from '../src/index.ts';
import { MemoryPool } from '../src/node/engine/memory-pool.ts';
import { forEach, range } from '../src/pool.ts';
import { MOST_BYTES } from '../src/transfers/upload/memory.ts';
import { content, engine } from './service.ts';

const SIZE = 1000;
const MIB = 2 ** 20;
after(() => engine.close());

const seeded = (state: number) => () => {
  state = (Math.imul(state, 1103515245) + 12345) >>> 0;
  return state / 2 ** 32;
};

test('memory: what is lent is nobody else’s, whatever was taken and given back before, even twice', () => {
  const step = fc.record({
    take: fc.boolean(),
    size: fc.oneof(fc.nat(200_000), fc.nat(300), fc.constantFrom(4096, 8192)),
    which: fc.nat(),
    twice: fc.boolean(),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const pool = new MemoryPool();
      const held: { bytes: Uint8Array; mark: number; release(): void }[] = [];
      for (const [i, { take, size, which, twice }] of steps.entries()) {
        if (take || held.length === 0) {
          const lent = pool.lend(size);
          assert.equal(lent.bytes.length, size);
          assert.equal(lent.bytes.byteOffset % 4096, 0);
          held.push({ ...lent, mark: (i % 255) + 1 });
          lent.bytes.fill(held.at(-1)!.mark);
          continue;
        }
        const [{ bytes, mark, release }] = held.splice(which % held.length, 1) as [(typeof held)[0]];
        assert.ok(bytes.every((byte) => byte === mark));
        release();
        if (twice) release();
      }
      assert.ok(held.every(({ bytes, mark }) => bytes.every((byte) => byte === mark)));
    }),
    { numRuns: usually(100, 2000) },
  );
});

test('memory: what is given back later than once does not take from whoever has it now', () => {
  const pool = new MemoryPool();
  const first = pool.lend(10);
  first.release();
  const second = pool.lend(10);
  assert.equal(second.bytes.byteOffset, first.bytes.byteOffset);
  first.release();
  assert.notEqual(pool.lend(10).bytes.byteOffset, second.bytes.byteOffset);
});

test('memory is used again: the lowest place that is large enough, before it grows', () => {
  const pool = new MemoryPool();
  const [a, b, c] = [pool.lend(3 * MIB), pool.lend(MIB), pool.lend(2 * MIB)];
  assert.deepEqual(
    [a, b, c].map(({ bytes }) => bytes.byteOffset / MIB),
    [0, 3, 4],
  );
  a.release();
  const [small, next] = [pool.lend(MIB), pool.lend(2 * MIB)];
  assert.deepEqual([small.bytes.byteOffset, next.bytes.byteOffset], [0, MIB]);
  b.release();
  c.release();
  assert.equal(pool.lend(3 * MIB).bytes.byteOffset, 3 * MIB);
  assert.equal(a.bytes.buffer.byteLength, 6 * MIB);
});

test('memory of files of many sizes, in volumes of up to 64 MiB, is less than twice what is on its way', () => {
  const pool = new MemoryPool();
  const random = seeded(1);
  // Nothing is written to it, so that none of it is there. How long one is on its way goes with its size.
  const going: { size: number; until: number; release(): void }[] = [];
  let [held, now, most] = [0, 0, 0];
  for (let i = 0; i < 2000; i++) {
    const size = Math.floor(MIB * 64 ** random());
    while (going.length === 16 || (held > 0 && held + size > MOST_BYTES)) {
      const first = going.sort((a, b) => a.until - b.until).shift()!;
      first.release();
      held -= first.size;
      now = first.until;
    }
    const { bytes, release } = pool.lend(size);
    held += size;
    going.push({ size, until: now + size * (0.5 + random()), release });
    most = Math.max(most, bytes.buffer.byteLength);
  }
  assert.ok(most >= MOST_BYTES && most < 2 * MOST_BYTES, `${Math.round(most / MIB)} MiB`);
});

test('memory of a volume that is larger than usual: kept for the next one, and let go of only for a larger one', () => {
  const pool = new MemoryPool();
  const usual = pool.lend(MIB);
  const large = pool.lend(300 * MIB);
  assert.notEqual(large.bytes.buffer, usual.bytes.buffer);
  const more = pool.lend(290 * MIB);
  large.release();
  const again = pool.lend(300 * MIB);
  assert.equal(again.bytes.buffer, large.bytes.buffer);
  again.release();
  const larger = pool.lend(310 * MIB);
  assert.notEqual(pool.lend(300 * MIB).bytes.buffer, large.bytes.buffer);
  more.release();
  larger.release();
  usual.release();
  assert.equal(pool.lend(MIB).bytes.buffer, usual.bytes.buffer);
});

test('memory of 64 small files takes little of an address space that is limited', () => {
  const pool = new MemoryPool();
  const blocks = new Set(Array.from({ length: 64 }, () => pool.lend(MIB).bytes.buffer as SharedArrayBuffer));
  assert.equal(
    [...blocks].reduce((sum, { maxByteLength }) => sum + maxByteLength, 0),
    256 * MIB,
  );
});

test('volumes that threads seal and open side by side do not meet, and a changed one leaves its neighbours alone', async () => {
  const random = seeded(2);
  const one = async (i: number) => {
    const length = 300_000 + Math.floor(random() * 2 * MIB);
    const plain = content(length, i);
    const place = { ...newSecrets(engine), idx: 1, isLast: true };
    const sealed = await sealVolume(engine, place, bytesSource(plain), { offset: 0, length });
    const { bytes, release } = engine.borrow(sealed.bytes.length);
    bytes.set(sealed.bytes);
    sealed.release();
    const changed = i % 5 === 0;
    if (changed) bytes[bytes.length - 1]! ^= 1;
    // As a transport gives it. What comes out is none: a slice of it is to be a copy.
    const buffer = Buffer.from(bytes.buffer as ArrayBuffer, bytes.byteOffset, bytes.length);
    const opened = await openVolume(engine, place, length, buffer);
    assert.ok('fault' in opened || !Buffer.isBuffer(opened.bytes));
    if (changed) assert.deepEqual(opened, { fault: 'tag' });
    else assertBytes((opened as { bytes: Uint8Array }).bytes, plain);
    release();
  };
  await forEach(range(1, usually(40, 1000)), 8, one);
});

test('a volume that is sealed for its digest alone has the same one, and takes no memory', async () => {
  for (const length of [SIZE, 300_000]) {
    const place = { ...newSecrets(engine), idx: 1, isLast: true };
    const [source, part] = [bytesSource(content(length)), { offset: 0, length }];
    const sealed = await sealVolume(engine, place, source, part);
    const { salt } = sealed;
    const again = await sealVolume(engine, place, source, part, { salt, digestOnly: true });
    assertBytes(again.digest, sealed.digest);
    assert.equal(again.bytes.length, 0);
    sealed.release();
  }
});
