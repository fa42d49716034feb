/** What is secret does not stay in memory, and what is borrowed comes back. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveAccountKeys, layoutOf, newSecrets, openVolume, sealVolume } from '../src/format/index.ts';
import { type Bytes, bytesSource, type Engine, type Source, type Szafa, VolumeSupply } from '../src/index.ts';
import { downloadToFile } from '../src/node/index.ts';
import { Slots } from '../src/node/slots.ts';
import { Budget } from '../src/upload/budget.ts';
import { content, engine, newUser, type Service, sameUser, startService, transport } from './service.ts';

const SIZE = 1000;
let service: Service;
let szafa: Szafa;
before(async () => {
  service = await startService();
  szafa = await newUser(service.url);
});
after(async () => {
  await service.stop();
  transport.close();
  await engine.close();
});

const isZero = (bytes: Uint8Array) => bytes.every((byte) => byte === 0);

test('what the KDF gave is gone once the keys are derived from it', async () => {
  const roots: Bytes[] = [];
  const quick: Engine = {
    ...engine,
    argon2id: async () => {
      roots.push(new Uint8Array(32).fill(7));
      return roots.at(-1)!;
    },
  };
  await deriveAccountKeys(quick, { serviceId: 'ab'.repeat(16), username: 'somebody' }, 'a password');
  assert.equal(roots.length, 1);
  assert.ok(roots.every(isZero));
});

test('the key of an upload that cannot go on is gone: while it is prepared, and when its file has changed', async () => {
  const bytes = content(3 * SIZE);
  let reads = 0;
  let sealed = 0;
  const counted: Engine = {
    ...engine,
    sealSegments: (...args) => {
      sealed++;
      return engine.sealSegments(...args);
    },
  };
  const source = (failsAt: number, how: 'throws' | 'changes'): Source => ({
    ...bytesSource(bytes),
    async read(offset, length) {
      const part = bytes.slice(offset, offset + length);
      if (++reads !== failsAt) return part;
      if (how === 'throws') throw new Error('cannot be read');
      part[0]! ^= 1;
      return part;
    },
  });
  const layout = layoutOf(bytes.length, SIZE);
  const unread = newSecrets(engine);
  const prepare = VolumeSupply.prepare(
    { engine, source: source(2, 'throws'), layout, secrets: unread },
    new Budget(0),
  );
  await assert.rejects(prepare, /cannot be read/);
  assert.ok(isZero(unread.fileKey));

  reads = 0;
  const secrets = newSecrets(engine);
  const supply = await VolumeSupply.prepare(
    { engine: counted, source: source(4, 'changes'), layout, secrets },
    new Budget(0),
  );
  assert.ok(!isZero(secrets.fileKey));
  await assert.rejects(supply.take(1), { code: 'file-changed' });
  assert.ok(isZero(secrets.fileKey));
  assert.equal(sealed, 4);
  await assert.rejects(supply.take(2), { code: 'file-changed' });
  assert.equal(sealed, 4, 'nothing is sealed under zeros');
});

test('of a volume that was changed no plaintext stays, in small memory and in shared', async () => {
  for (const size of [SIZE, 300_000]) {
    const place = { ...newSecrets(engine), idx: 1, isLast: true };
    const part = { offset: 0, length: size };
    const sealed = await sealVolume(engine, place, bytesSource(content(size)), part);
    const { bytes } = engine.borrow(sealed.bytes.length);
    bytes.set(sealed.bytes);
    bytes[bytes.length - 1]! ^= 1;
    assert.deepEqual(await openVolume(engine, place, size, bytes), { fault: 'tag' });
    assert.ok(isZero(bytes));
  }
});

test('memory that is given back twice is given out once', () => {
  const slots = new Slots(2 ** 30);
  const first = slots.take(10);
  first.release();
  first.release();
  assert.notEqual(slots.take(10).memory, slots.take(10).memory);
});

/** An engine that counts what was taken and not given back. */
function counting(): { engine: Engine; out: () => number; opened: () => number } {
  const out = new Set<object>();
  let opened = 0;
  const counted = <T extends { release(): void }>(taken: T): T => {
    const { release } = taken;
    const one = {};
    out.add(one);
    return Object.assign(taken, {
      release() {
        out.delete(one);
        release();
      },
    });
  };
  return {
    engine: {
      ...engine,
      sealSegments: async (...args) => counted(await engine.sealSegments(...args)),
      borrow: (length) => counted(engine.borrow(length)),
      openSegments: async (...args) => {
        const volume = await engine.openSegments(...args);
        opened++;
        return volume;
      },
    },
    out: () => out.size,
    opened: () => opened,
  };
}

test('all memory comes back: after uploads and downloads, whole, broken off or refused', async () => {
  const { engine: counted, out, opened } = counting();
  const user = await sameUser(szafa, service.url, { engine: counted });
  const options = { name: 'x', volumeSize: SIZE };
  for (const memoryBudget of [0, 2 * SIZE + 100, 10 * SIZE]) {
    await user.upload(bytesSource(content(5 * SIZE)), { ...options, memoryBudget });
    assert.equal(out(), 0, `an upload with ${memoryBudget} bytes`);
    const stop = new AbortController();
    const onProgress = ({ phase }: { phase: string }) => {
      if (phase === 'send') stop.abort(new Error('enough'));
    };
    const cut = { ...options, memoryBudget, signal: stop.signal, onProgress };
    await assert.rejects(user.upload(bytesSource(content(5 * SIZE)), cut), /enough/);
    assert.equal(out(), 0, `one that is broken off, with ${memoryBudget} bytes`);
  }
  const [entry] = await user.list();
  const remote = await user.openFile(entry!.fileId);
  await downloadToFile(remote, join(service.folder, 'x'));
  assert.equal(out(), 0, 'a download');
  const before = opened();
  const reader = remote.stream({ parallel: 4 }).getReader();
  await reader.read();
  // The three ahead of it are here, and not only under way.
  for (const end = Date.now() + 10_000; opened() < before + 4 && Date.now() < end; ) await sleep(5);
  assert.equal(opened(), before + 4);
  await reader.cancel();
  assert.equal(out(), 0, 'a stream that nobody reads on');
  assert.deepEqual(await remote.readRange(500, 2000), content(5 * SIZE).slice(500, 2500));
  assert.equal(out(), 0, 'a range');
  await user.remove(entry!.fileId);
  await assert.rejects(remote.verify(), { status: 404 });
  assert.equal(out(), 0, 'a file that is gone');
});
