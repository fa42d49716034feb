import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import fc from 'fast-check';
import {
  extentOf,
  layoutOf,
  newSecrets,
  openDirName,
  openFileName,
  seal,
  sealDirName,
  sealFileName,
  unseal,
  volumeKeys,
} from '../src/format/index.ts';
import { type Engine, webEngine } from '../src/index.ts';
import { nodeEngine } from '../src/node/index.ts';
import { bytesSource } from '../src/upload/source.ts';
import { type FileVector, runFile } from '../vectors/vectors.ts';

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
      const { fileId, fileKey } = newSecrets(from);
      const sealing = volumeKeys(from, fileKey, fileId, layout.count);
      const opening = volumeKeys(to, fileKey, fileId, layout.count);
      const parts: Uint8Array[] = [];
      for (let idx = 1; idx <= layout.count; idx++) {
        const volume = await from.sealVolume(await sealing(idx), bytesSource(whole), extentOf(layout, idx));
        const opened = await to.openVolume(await opening(idx), volume.bytes.slice());
        assert.deepEqual(opened?.digest, volume.digest);
        parts.push(opened!.bytes);
      }
      assert.deepEqual(new Uint8Array(Buffer.concat(parts)), whole);
    }),
    { numRuns: 100 },
  );
});

test('large volumes, which go through worker threads and shared memory, are the same bytes', async () => {
  for (const size of [256 * 1024, 256 * 1024 + 1, 1024 * 1024 - 16, 3_000_001]) {
    const whole = new Uint8Array(size).map((_, i) => (i * 31) >> 3);
    const { fileId, fileKey } = newSecrets(node);
    const keys = await volumeKeys(node, fileKey, fileId, 1)(1);
    const part = { offset: 0, length: size };
    const [a, b] = await Promise.all([
      node.sealVolume(keys, bytesSource(whole), part, true),
      web.sealVolume(keys, bytesSource(whole), part, true),
    ]);
    assert.ok(Buffer.from(a.bytes).equals(Buffer.from(b.bytes)));
    assert.deepEqual([a.digest, a.plainDigest], [b.digest, b.plainDigest]);
    const opened = await node.openVolume(keys, b.bytes);
    assert.ok(Buffer.from(opened!.bytes).equals(Buffer.from(whole)));
    const changed = a.bytes.slice();
    changed[size >> 1]! ^= 1;
    assert.equal(await node.openVolume(keys, changed), undefined);
    a.release();
    opened!.release();
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
      const text = await sealFileName(from, master, given, binding);
      assert.ok(text.length <= 255);
      const opened = await openFileName(to, master, text, binding);
      assert.ok(opened && given.startsWith(opened.name) && opened.whole === (opened.name === given));
      assert.equal(await openFileName(to, master, text, { ...binding, count: 3 }), undefined);
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
  const url = new URL('../vectors/files.json', import.meta.url);
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
