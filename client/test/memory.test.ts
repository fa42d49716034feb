/** What is secret does not stay in memory, and what is borrowed comes back. */

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { deriveAccountKeys, layoutOf, newSecrets, openVolume, SEGMENT_SIZE, sealVolume } from '@szafa/format';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { type Bytes, bytesSource, type Engine, type Source, type Szafa, VolumeSupply } from '../src/index.ts';
import { downloadToFile } from '../src/node/index.ts';
import { range } from '../src/pool.ts';
import { volumeReader } from '../src/transfers/calls.ts';
import { RemoteFile } from '../src/transfers/download/remote-file.ts';
import type { VolumeReader } from '../src/transfers/download/volume-fetcher.ts';
import { withVolumeMemory } from '../src/transfers/download/volume-memory.ts';
import { VolumeMemory } from '../src/transfers/upload/memory.ts';
import {
  content,
  engine,
  newUser,
  type Service,
  sameUser,
  startService,
  streamOf,
  transport,
} from './service.ts';

const SIZE = 1000;
const MIB = 2 ** 20;
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

test('the key of an upload whose file has changed is gone, and nothing is sealed any more', async () => {
  const bytes = content(3 * SIZE);
  let sealed = 0;
  const counted: Engine = {
    ...engine,
    sealSegments: (...args) => {
      sealed++;
      return engine.sealSegments(...args);
    },
  };
  const layout = layoutOf(bytes.length, SIZE);
  const secrets = newSecrets(engine);
  const supply = new VolumeSupply({ engine: counted, source: bytesSource(bytes), layout, secrets });
  await supply.digest(range(1, supply.layout.count), undefined);
  await supply.take(1);
  assert.equal(sealed, 4);
  bytes[0]! ^= 1;
  assert.ok(!isZero(secrets.fileKey));
  await assert.rejects(supply.take(1), { code: 'file-changed' });
  assert.ok(isZero(secrets.fileKey));
  assert.equal(sealed, 5);
  await assert.rejects(supply.take(2), { code: 'file-changed' });
  assert.equal(sealed, 5, 'nothing is sealed under zeros');
});

test('the key of an upload that has ended in any way is gone', async () => {
  const keys: Bytes[] = [];
  const watching: Engine = {
    ...engine,
    random(length) {
      const bytes = engine.random(length);
      if (length === 32) keys.push(bytes);
      return bytes;
    },
  };
  const user = await sameUser(szafa, service.url, { engine: watching });
  await user.keys.current();
  const broken: Source = {
    ...bytesSource(content(3 * SIZE)),
    read: () => Promise.reject(new Error('unread')),
  };
  const stream = (fails: boolean) =>
    (async function* () {
      yield content(SIZE);
      if (fails) throw new Error('unread');
    })();
  const options = { path: 'x', volumeSize: SIZE };
  for (const [source, error] of [
    [bytesSource(content(1)), undefined],
    [bytesSource(content(3 * SIZE)), undefined],
    [broken, /unread/],
    [stream(false), undefined],
    [stream(true), /unread/],
  ] as const) {
    keys.length = 0;
    if (error) await assert.rejects(user.upload(source, options), error);
    else await user.upload(source, options);
    assert.equal(keys.length, 1);
    assert.ok(keys.every(isZero));
  }
});

test('memory for volumes: in order of asking, up to a bound, and a larger one alone', async () => {
  const memory = new VolumeMemory(100);
  const order: string[] = [];
  const take = async (name: string, bytes: number) => {
    const room = await memory.take(bytes);
    order.push(name);
    return room;
  };
  const [first, second] = await Promise.all([take('first', 60), take('second', 40)]);
  const large = take('large', 250);
  const small = take('small', 10);
  await sleep(5);
  assert.deepEqual(order, ['first', 'second']);
  first.release(30);
  second.release();
  await sleep(5);
  assert.deepEqual(order, ['first', 'second'], 'a small one does not overtake');
  first.release();
  await sleep(5);
  assert.deepEqual(order, ['first', 'second', 'large']);
  (await large).release();
  await small;
  assert.deepEqual(order, ['first', 'second', 'large', 'small']);
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

test('files are fetched at once as far as memory reaches, and who gives up waiting keeps it from nobody', async () => {
  const layout = layoutOf(200 * MIB, 64 * MIB);
  const first = Promise.withResolvers<void>();
  const begun: string[] = [];
  const fetching = withVolumeMemory(layout, {}, (lanes) => {
    begun.push(`first, ${lanes} at once`);
    return first.promise;
  });
  const stop = new AbortController();
  const second = withVolumeMemory(layout, { signal: stop.signal }, async () => void begun.push('second'));
  const small = withVolumeMemory(layoutOf(10 * MIB), {}, async () => void begun.push('small'));
  stop.abort(new Error('enough'));
  await assert.rejects(second, /enough/);
  assert.deepEqual(begun, ['first, 1 at once']);
  first.resolve();
  await Promise.all([fetching, small]);
  await withVolumeMemory(layoutOf(64 * MIB), {}, async () => void begun.push('all'));
  assert.deepEqual(begun, ['first, 1 at once', 'small', 'all']);
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
        return volume && counted(volume);
      },
    },
    out: () => out.size,
    opened: () => opened,
  };
}

test('all memory comes back: after uploads and downloads, whole, broken off or refused', async () => {
  const { engine: counted, out, opened } = counting();
  const user = await sameUser(szafa, service.url, { engine: counted });
  const options = { path: 'x', volumeSize: SIZE };
  await user.upload(bytesSource(content(5 * SIZE)), options);
  assert.equal(out(), 0, 'an upload');
  const streamed = { path: 'stream', volumeSize: SEGMENT_SIZE };
  const stream = () => streamOf([content(3 * SEGMENT_SIZE), content(1)]);
  const { fileId: streamId } = await user.upload(stream(), streamed);
  assert.equal(out(), 0, 'a stream');
  await user.remove(streamId);
  for (const [name, upload] of [
    ['an upload', (cut: object) => user.upload(bytesSource(content(5 * SIZE)), { ...options, ...cut })],
    ['a stream', (cut: object) => user.upload(stream(), { ...streamed, ...cut })],
  ] as const) {
    const stop = new AbortController();
    const onProgress = ({ done }: { done: number }) => {
      if (done > 0) stop.abort(new Error('enough'));
    };
    await assert.rejects(upload({ signal: stop.signal, onProgress }), /enough/);
    assert.equal(out(), 0, `${name} that is broken off`);
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
  assertBytes(await remote.readRange(500, 2000), content(5 * SIZE).slice(500, 2500));
  assert.equal(out(), 0, 'a range');
  const own = volumeReader(user.api, entry!.fileId);
  const api: VolumeReader = {
    readVolume: (idx, most, more) => own.readVolume(idx, most, { ...more, into: undefined }),
    readDigests: own.readDigests,
  };
  await new RemoteFile({ engine: counted, api }, entry!.fileId, remote.header).verify();
  assert.equal(out(), 0, 'volumes that came in memory of their own');
  const header = { ...remote.header, totalSha256: '0'.repeat(64) };
  const others = new RemoteFile({ engine: counted, api: own }, entry!.fileId, header);
  await assert.rejects(others.verify(), { stage: 'digests' });
  assert.equal(out(), 0, 'volumes that are not the declared ones');
  const asked = Promise.withResolvers<AbortSignal>();
  const stalled: VolumeReader = {
    readDigests: () => new Promise(() => {}),
    readVolume: (_idx, _most, more) => {
      const { signal } = more!;
      asked.resolve(signal!);
      return new Promise((_, reject) => signal!.addEventListener('abort', () => reject(signal!.reason)));
    },
  };
  const waiting = new RemoteFile({ engine: counted, api: stalled }, entry!.fileId, remote.header)
    .stream()
    .getReader();
  const nothing = waiting.read();
  const signal = await asked.promise;
  const cancelled = waiting.cancel();
  assert.ok(signal.aborted, 'a stream that is given up waits for no volume');
  await cancelled;
  assert.equal((await nothing).done, true);
  assert.equal(out(), 0, 'a stream that is given up while it waits');
  await user.remove(entry!.fileId);
  await assert.rejects(remote.verify(), { status: 404 });
  assert.equal(out(), 0, 'a file that is gone');
});
