import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import {
  areVolumeSizes,
  extentOf,
  layoutOf,
  layoutWith,
  MAX_VOLUME_SIZE,
  newSecrets,
  openDirName,
  openFileName,
  openHead,
  openSegment,
  openVolume,
  SEGMENT_SIZE,
  seal,
  sealDirName,
  sealedSize,
  sealFileName,
  sealVolume,
  sizeOfStored,
  storedSize,
  streamSizes,
  TAG_BYTES,
  unseal,
  volumeAt,
} from '@szafa/format';
import fc from 'fast-check';
import type { FileVector } from '../../format/vectors/kinds.ts';
import { runFile } from '../../format/vectors/vectors.ts';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { usually } from '../../tests/harness/long.ts';
import { type Bytes, type Engine, sealInto, webEngine } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';
import { visitorsLayout } from '../src/sharing/request-upload.ts';
import { bytesSource } from '../src/transfers/upload/source.ts';

const node = nodeEngine();
const web = webEngine();
after(() => node.close());
const pairs: [Engine, Engine][] = [
  [web, node],
  [node, web],
];
const bytes = (most: number) => fc.uint8Array({ maxLength: most }).map((array) => new Uint8Array(array));

test('what one engine seals the other opens, at every size around the volume boundary', async () => {
  const volumeSize = 64;
  const near = fc
    .tuple(fc.integer({ min: 0, max: 4 }), fc.constantFrom(-1, 0, 1))
    .map(([volumes, off]) => Math.max(0, volumes * volumeSize + off));
  const plain = near.chain((length) => fc.uint8Array({ minLength: length, maxLength: length }));
  await fc.assert(
    fc.asyncProperty(plain, fc.constantFrom(...pairs), async (array, [from, to]) => {
      const whole = new Uint8Array(array);
      const layout = layoutOf(whole.length, volumeSize);
      const secrets = newSecrets(from);
      const parts: Uint8Array[] = [];
      for (let idx = 1; idx <= layout.count; idx++) {
        const place = { ...secrets, idx, isLast: idx === layout.count };
        const part = extentOf(layout, idx);
        const volume = await sealVolume(from, place, bytesSource(whole), part);
        const opened = await openVolume(to, place, part.length, volume.bytes.slice());
        assert.ok('bytes' in opened);
        assert.deepEqual([opened.digest, opened.salt], [volume.digest, volume.salt]);
        parts.push(opened.bytes);
      }
      assertBytes(Buffer.concat(parts), whole);
    }),
    { numRuns: 100 },
  );
});

test('large volumes, which go through worker threads and shared memory, are the same bytes', async () => {
  for (const size of [256 * 1024, 256 * 1024 + 1, 1024 * 1024 - 16, 3_000_001]) {
    const whole = new Uint8Array(size).map((_, i) => (i * 31) >> 3);
    const place = { ...newSecrets(node), idx: 1, isLast: true };
    const part = { offset: 0, length: size };
    const options = { salt: node.random(24) };
    const [a, b] = await Promise.all([
      sealVolume(node, place, bytesSource(whole), part, options),
      sealVolume(web, place, bytesSource(whole), part, options),
    ]);
    assert.ok(Buffer.from(a.bytes).equals(Buffer.from(b.bytes)));
    assert.deepEqual(a.digest, b.digest);
    const opened = await openVolume(node, place, size, b.bytes);
    assert.ok('bytes' in opened);
    assert.ok(Buffer.from(opened.bytes).equals(Buffer.from(whole)));
    const changed = a.bytes.slice();
    changed[size >> 1]! ^= 1;
    assert.deepEqual(await openVolume(node, place, size, changed), { fault: 'tag' });
    a.release();
    opened.release();
  }
});

test('Web Crypto seals a volume in the memory in which its plaintext lies, and hands back what it no longer needs', async () => {
  const place = { ...newSecrets(web), idx: 1, isLast: false };
  const length = 2 * SEGMENT_SIZE + 100;
  const plain = new Uint8Array(length).map((_, k) => k % 251);
  const discarded: number[] = [];
  const inPlace: Engine = {
    ...web,
    async sealSegments(key) {
      const memory = new Uint8Array(sealedSize(length));
      memory.set(plain);
      await sealInto(key, memory.subarray(0, length), memory, (piece) => {
        discarded.push(piece.byteLength - TAG_BYTES);
        structuredClone(null, { transfer: [piece] });
      });
      return { bytes: memory, digest: await web.sha256(memory), release() {} };
    },
  };
  const part = { offset: 0, length };
  const one = await sealVolume(inPlace, place, bytesSource(plain), part);
  const two = await sealVolume(node, place, bytesSource(plain), part, { salt: one.salt });
  assert.deepEqual(one.digest, two.digest);
  assert.deepEqual(discarded, [100, SEGMENT_SIZE, SEGMENT_SIZE]);
});

test('a volume that is sealed twice has nothing in common, unless it is told its salt', async () => {
  for (const engine of [node, web]) {
    const place = { ...newSecrets(engine), idx: 1, isLast: true };
    const part = { offset: 0, length: 5000 };
    const source = bytesSource(new Uint8Array(5000));
    const [one, two] = [
      await sealVolume(engine, place, source, part),
      await sealVolume(engine, place, source, part),
    ];
    assert.notDeepEqual(one.salt, two.salt);
    const blocks = new Set<string>();
    for (const { bytes } of [one, two]) {
      for (let at = 0; at + 16 <= bytes.length; at += 16) blocks.add(bytes.slice(at, at + 16).toHex());
    }
    assert.equal(blocks.size, 2 * Math.floor(sealedSize(5000) / 16));
    const again = await sealVolume(engine, place, source, part, { salt: one.salt });
    assert.deepEqual([again.bytes, again.digest, again.salt], [one.bytes, one.digest, one.salt]);
  }
});

test('each segment opens by itself, at its own place and at no other', async () => {
  const length = fc
    .tuple(fc.integer({ min: 0, max: 2 }), fc.constantFrom(0, 1, 100, SEGMENT_SIZE - 1))
    .map(([segments, more]) => segments * SEGMENT_SIZE + more);
  const property = fc.asyncProperty(
    length,
    fc.boolean(),
    fc.constantFrom(...pairs),
    async (size, isLast, [from, to]) => {
      const place = { ...newSecrets(from), idx: 7, isLast };
      const whole = new Uint8Array(size).map((_, k) => k % 251);
      const { bytes } = await sealVolume(from, place, bytesSource(whole), { offset: 0, length: size });
      const key = await openHead(to, place, bytes.slice(0, 56));
      assert.ok(key);
      const count = Math.max(1, Math.ceil(size / SEGMENT_SIZE));
      for (let j = 0; j < count; j++) {
        const sealed = bytes.slice(56 + j * (SEGMENT_SIZE + 16), 56 + (j + 1) * (SEGMENT_SIZE + 16)) as Bytes;
        const opened = await openSegment(to, key, size, j, sealed);
        assert.ok(
          opened && Buffer.from(opened).equals(whole.subarray(j * SEGMENT_SIZE, (j + 1) * SEGMENT_SIZE)),
        );
        assert.equal(await openSegment(to, key, size, j + 1, sealed), undefined);
        if (j === count - 1) {
          assert.equal(await openSegment(to, { ...key, isLast: !isLast }, size, j, sealed), undefined);
          assert.equal(
            await openSegment(to, key, size + SEGMENT_SIZE, j, sealed),
            undefined,
            'one that others follow',
          );
        }
      }
    },
  );
  await fc.assert(property, { numRuns: usually(6, 100) });
});

test('any layout: volumes follow one another to the end, and a record tells the size', () => {
  const sizes = fc.oneof(
    fc.tuple(fc.integer({ min: 1, max: 2 * SEGMENT_SIZE }), fc.boolean()),
    fc.tuple(
      fc.integer({ min: 1, max: 40 }).map((n) => n * SEGMENT_SIZE),
      fc.boolean(),
    ),
  );
  const volumes = fc.oneof(fc.integer({ min: 0, max: 5 }), fc.integer({ min: 995, max: 1010 }));
  const property = fc.property(
    sizes,
    volumes,
    fc.constantFrom(-1, 0, 1, 77),
    ([wish, stream], about, off) => {
      const size = Math.max(0, about * wish + off);
      const layout = stream ? layoutWith(streamSizes(wish), size) : layoutOf(size, wish);
      let [offset, stored] = [0, 0];
      for (let idx = 1; idx <= layout.count; idx++) {
        const extent = extentOf(layout, idx);
        assert.equal(extent.offset, offset);
        assert.ok(extent.length > 0 || size === 0);
        if (extent.length > 0) assert.equal(volumeAt(layout, offset + extent.length - 1), idx);
        if (size > 0) assert.equal(volumeAt(layout, offset), idx);
        offset += extent.length;
        stored += sealedSize(extent.length);
      }
      assert.equal(offset, size);
      assert.equal(storedSize(layout), stored);
      assert.equal(sizeOfStored(stored, layout.count), size);
    },
  );
  fc.assert(property, { numRuns: usually(100, 5000) });
});

test('a volume has up to a gigabyte: no wish and no header takes memory for more', () => {
  const isGood = (volumeSize: number, lateVolumeSize = volumeSize) =>
    areVolumeSizes({ volumeSize, lateVolumeSize });
  const tooLarge = MAX_VOLUME_SIZE + SEGMENT_SIZE;
  assert.ok(isGood(1) && isGood(MAX_VOLUME_SIZE) && isGood(SEGMENT_SIZE, MAX_VOLUME_SIZE));
  assert.ok(!isGood(tooLarge) && !isGood(SEGMENT_SIZE, tooLarge));
  for (const wish of [tooLarge, 1.5, Number.NaN, 0, -1]) {
    for (const size of [0, 9, 10 ** 12]) assert.throws(() => layoutOf(size, wish), RangeError);
    assert.throws(() => streamSizes(wish), RangeError);
    assert.throws(() => visitorsLayout(9, wish), RangeError);
  }
});

test('sealed things open under their key and label, and under no other', async () => {
  await fc.assert(
    fc.asyncProperty(bytes(200), fc.string(), fc.constantFrom(...pairs), async (plain, label, [from, to]) => {
      const key = from.random(32);
      const sealed = await seal(from, key, label, plain);
      assert.deepEqual(await unseal(to, key, label, sealed), { plain });
      assert.deepEqual(await unseal(to, key, `${label}.`, sealed), { fault: 'commitment' });
      assert.deepEqual(await unseal(to, to.random(32), label, sealed), { fault: 'commitment' });
    }),
    { numRuns: 60 },
  );
});

test('any name comes back, or is cut at a character', async () => {
  const name = fc.string({ unit: 'grapheme', maxLength: 120 });
  const binding = { totalSha256: 'ab'.repeat(32), storedSize: 99, count: 2 };
  await fc.assert(
    fc.asyncProperty(name, fc.constantFrom(...pairs), async (given, [from, to]) => {
      const master = from.random(32);
      const listed = { rev: 7, gen: 2 ** 32 - 1, added: 2 ** 48 - 2 };
      const text = await sealFileName(from, master, { name: given, ...listed }, binding);
      assert.ok(text.length <= 255);
      const opened = await openFileName(to, master, text, binding);
      assert.ok(opened && given.startsWith(opened.name) && opened.whole === (opened.name === given));
      assert.deepEqual({ ...opened, name: given, whole: true }, { ...listed, name: given, whole: true });
      assert.equal(await openFileName(to, master, text, { ...binding, count: 3 }), undefined);
      const larger = { ...binding, storedSize: binding.storedSize + 2 ** 32 };
      assert.equal(await openFileName(to, master, text, larger), undefined);
      if (new TextEncoder().encode(given).length > 32 || given === '') {
        await assert.rejects(sealDirName(from, master, given), { code: 'name' });
      } else {
        const dir = await sealDirName(from, master, given);
        assert.ok(dir.length <= 64);
        assert.equal(await openDirName(to, master, dir), given);
        assert.equal(await sealDirName(to, master, given), dir);
      }
    }),
    { numRuns: 100 },
  );
});

test('no byte of a file can be changed: volumes, header and MAC, one after the other', async () => {
  const url = new URL('../../format/vectors/files.json', import.meta.url);
  const vectors = JSON.parse(readFileSync(url, 'utf8')) as FileVector[];
  const good = vectors.find(({ name }) => name === 'good-65')!;
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const other = (text: string, at: number) =>
    text.slice(0, at) + letters[letters.indexOf(text[at]!) ^ 32] + text.slice(at + 1);
  const { header, mac } = good.enc_params as { header: string; mac: string };
  const changed: FileVector[] = [];
  for (let at = 0; at < header.length; at++) {
    changed.push({ ...good, enc_params: { ...good.enc_params, header: other(header, at) } });
  }
  for (let at = 0; at < mac.length; at++) {
    changed.push({ ...good, enc_params: { ...good.enc_params, mac: other(mac, at) } });
  }
  for (const [i, volume] of good.volumes.entries()) {
    for (let at = 0; at < volume.length - 1; at++) {
      changed.push({ ...good, volumes: good.volumes.with(i, other(volume, at)) });
    }
  }
  assert.ok(changed.length > 1000);
  // A changed salt, or changed parameters, would cost a run of the KDF each: only the first is a real one.
  let first = true;
  const quick: Engine = {
    ...node,
    async argon2id(secret, salt, params) {
      if (!first) return node.sha256(Buffer.concat([secret, salt]));
      first = false;
      return node.argon2id(secret, salt, params);
    },
  };
  assert.deepEqual(await runFile(quick, good), good.expect);
  for (const vector of changed) {
    const outcome = await runFile(quick, vector);
    assert.ok('stage' in outcome, JSON.stringify(vector));
  }
});
