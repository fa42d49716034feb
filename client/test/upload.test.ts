/** Uploads of files and streams, without interruptions of the uploader. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertBytes } from '../../tests/harness/bytes.ts';
import {
  bytesSource,
  type Source,
  type Szafa,
  type UploadOptions,
  type UploadProgress,
} from '../src/index.ts';
import { pullHost } from '../src/node/index.ts';
import { VolumeMemory } from '../src/transfers/upload/memory.ts';
import { uploadStream } from '../src/transfers/upload/stream-upload.ts';
import { startProxy } from './proxy.ts';
import {
  content,
  engine,
  newUser,
  readAll,
  type Service,
  sameUser,
  startService,
  streamOf,
  transport,
} from './service.ts';
import { assertGone, read, SIZE } from './uploading.ts';

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

test('a volume leaves as soon as it is sealed, and progress never goes back', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  let cuts = 2;
  proxy.hostility = ({ method, path }) =>
    method === 'PUT' && path.endsWith('/3') && cuts-- > 0 ? 'cut' : undefined;
  const seen: number[] = [];
  let readAtFirst = 0;
  let reads = 0;
  proxy.before = (method) => {
    if (method === 'PUT') readAtFirst ||= reads;
    return undefined;
  };
  const bytes = content(20 * SIZE + 200);
  const source: Source = {
    ...bytesSource(bytes),
    async read(offset, length) {
      reads++;
      return bytes.slice(offset, offset + length);
    },
  };
  const { fileId, volumes } = await user.upload(source, {
    path: 'steps',
    volumeSize: SIZE,
    parallel: 1,
    onProgress: ({ done, total }) => {
      assert.equal(total, bytes.length);
      seen.push(done);
    },
  });
  assert.equal(volumes, 21);
  assertBytes(await read(szafa, fileId), bytes);
  assert.equal(reads, 21, 'everything is read once');
  assert.ok(readAtFirst < 21, `${readAtFirst} volumes were sealed before the first one left`);
  assert.deepEqual([seen[0], seen.at(-1)], [0, bytes.length]);
  assert.deepEqual(
    seen,
    seen.toSorted((a, b) => a - b),
  );
});

test('a volume that the service lost is sent again', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  let lied = false;
  proxy.before = (method, path) => {
    if (lied || method !== 'PUT' || !path.endsWith('/2')) return undefined;
    lied = true;
    return { status: 200, body: Buffer.from('{"ok":true}') };
  };
  const { fileId } = await user.upload(bytesSource(content(3 * SIZE)), { path: 'x', volumeSize: SIZE });
  assertBytes(await read(szafa, fileId), content(3 * SIZE));
  proxy.before = (method) =>
    method === 'PUT' ? { status: 200, body: Buffer.from('{"ok":true}') } : undefined;
  const options = { path: 'x', volumeSize: 5 };
  await assert.rejects(user.upload(bytesSource(content(9)), options), { code: 'incomplete' });
  await assert.rejects(user.upload(bytesSource(content(9)), { path: 'x' }), { code: 'not-the-service' });
});

test('a small file goes in one request; one whose answer is lost is there once', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(await newUser(service.url), proxy.url);
  proxy.requests.length = 0;
  let cuts = 2;
  proxy.hostility = ({ method }) => (method === 'PUT' && cuts-- > 0 ? 'cut' : undefined);
  const progress: number[] = [];
  const onProgress = ({ done }: { done: number }) => progress.push(done);
  const { fileId, volumes } = await user.upload(bytesSource(content(1000)), { path: 'x', onProgress });
  assert.equal(volumes, 1);
  assert.equal(progress.at(-1), 1000);
  const puts = proxy.requests.filter(({ method }) => method === 'PUT').map(({ path }) => path);
  assert.equal(new Set(puts).size, 1);
  assert.equal(puts.length, 3);
  assert.deepEqual(
    (await user.list()).map((entry) => entry.fileId),
    [fileId],
  );
  assertBytes(await readAll((await user.openFile(fileId)).stream()), content(1000));
});

test('a service that knows no such request is not asked for it again', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  proxy.before = (_method, path) =>
    path.endsWith('/file') ? { status: 404, body: Buffer.from('{"error":"no such route"}') } : undefined;
  for (const length of [0, 1000]) {
    const { fileId } = await user.upload(bytesSource(content(length)), { path: 'x' });
    assertBytes(await read(szafa, fileId), content(length));
  }
  assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/file')).length, 1);
  assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/complete')).length, 2);
});

/** In parts that fit nothing, some of them empty. */
async function* inParts(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 70_001) {
    yield bytes.subarray(at, at + 70_001);
    yield new Uint8Array(0);
  }
}

test('streams of unknown length: in volumes, in one request, empty, to the byte', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  const least = 256 * 1024;
  for (const length of [
    0,
    1,
    70_001,
    1_048_576,
    1_048_577,
    4 * least - 1,
    4 * least,
    4 * least + 1,
    3_000_000,
  ]) {
    for (const volumeSize of [undefined, least]) {
      proxy.requests.length = 0;
      const bytes = content(length);
      const seen: number[] = [];
      const onProgress = ({ done, total }: UploadProgress) => {
        assert.equal(total, undefined);
        seen.push(done);
      };
      const stream = volumeSize ? streamOf(inParts(bytes)) : inParts(bytes);
      const done = await user.upload(stream, { path: 'stream', volumeSize, onProgress });
      assert.equal(Buffer.compare(await read(szafa, done.fileId), bytes), 0);
      const { metadata } = await user.openFile(done.fileId);
      assert.equal(metadata.size, length);
      const count = volumeSize ? Math.max(1, Math.ceil(length / volumeSize)) : 1;
      assert.equal(done.volumes, count);
      const isWhole = count === 1 && length <= 1024 * 1024;
      assert.equal(
        proxy.requests.some(({ path }) => path.endsWith('/file')),
        isWhole,
      );
      assert.equal(
        proxy.requests.some(({ path }) => path.endsWith('/complete')),
        !isWhole,
      );
      assert.equal(seen.at(-1), length);
    }
  }
});

test('a stream that fails, is broken off, waits forever or is too long leaves nothing on the service', async () => {
  await using proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  const volumeSize = 256 * 1024;
  const options = { path: 'never', volumeSize };
  let closed = 0;
  async function* stream(after: () => Promise<void>) {
    try {
      yield content(3 * volumeSize);
      await after();
      yield content(volumeSize);
    } finally {
      closed++;
    }
  }
  const transfersLeft = async () => {
    const ids = new Set(proxy.requests.map(({ path }) => /transfer\/([^/]+)\/chunk/.exec(path)?.[1]));
    ids.delete(undefined);
    assert.ok(ids.size > 0);
    for (const id of ids) await assertGone(szafa, id!);
  };
  const under = () => proxy.requests.filter(({ path }) => path.endsWith('/chunk/1')).length;
  const breaks = async () => {
    for (const end = Date.now() + 10_000; under() === 0 && Date.now() < end; ) await sleep(5);
    throw new Error('the pipe broke');
  };
  await assert.rejects(user.upload(stream(breaks), options), /the pipe broke/);
  await transfersLeft();

  const stop = new AbortController();
  const forever = async () => {
    for (const end = Date.now() + 10_000; under() < 2 && Date.now() < end; ) await sleep(5);
    stop.abort(new Error('enough'));
    return new Promise<void>(() => {});
  };
  await assert.rejects(user.upload(stream(forever), { ...options, signal: stop.signal }), /enough/);
  await transfersLeft();

  // The service refuses while the stream still waits for its writer.
  proxy.before = (method, path) => (method === 'PUT' && path.endsWith('/2') ? { status: 409 } : undefined);
  await assert.rejects(
    user.upload(
      stream(() => new Promise(() => {})),
      options,
    ),
    { status: 409 },
  );
  proxy.before = undefined;
  await transfersLeft();

  const { api, engine: own, keys, username } = user;
  const long = uploadStream(
    { api, engine: own, keys, username, memory: new VolumeMemory() },
    inParts(content(3 * volumeSize + 1)),
    { ...options, path: 'long', dirId: null },
    3,
  );
  await assert.rejects(long, { code: 'input-too-long', message: /longer than 786432 bytes/ });
  await transfersLeft();
  assert.equal(closed, 1, 'one that nobody waits for is closed when it goes on');
  const pulled = { ...options, pull: pullHost({ server: service.url }) };
  await assert.rejects(user.upload(inParts(content(1)), pulled), { code: 'pull-stream' });
});

test('the bytes that were given stay the caller’s, in a Buffer of Node too', async () => {
  for (const pull of [undefined, pullHost({ server: service.url })]) {
    const bytes = Buffer.from(content(300_000));
    const { fileId } = await szafa.upload(bytesSource(bytes), { path: 'given', pull });
    assertBytes(bytes, content(300_000));
    assertBytes(await read(szafa, fileId), content(300_000));
  }
});

test('what no reader would take, or the service would not, is refused before anything is sent', async () => {
  const proxy = await startProxy(service.url);
  const user = await sameUser(szafa, proxy.url);
  await user.checkKeys();
  const odd: Partial<UploadOptions>[] = [
    { mtime: Number.NaN },
    { added: 1.5 },
    { added: -1 },
    { after: 0.5 },
    { path: 'a\0b', plainName: true },
    { path: 'x'.repeat(9000) },
  ];
  try {
    proxy.requests.length = 0;
    for (const more of odd) {
      const options = { path: 'odd', volumeSize: SIZE, ...more };
      const refused = { code: more.path === undefined ? 'bad-description' : 'name' };
      await assert.rejects(user.upload(bytesSource(content(10)), options), refused);
      await assert.rejects(user.upload(bytesSource(content(3 * SIZE)), options), refused);
      await assert.rejects(user.upload(streamOf([content(10)]), options), refused);
    }
    assert.deepEqual(proxy.requests, []);
  } finally {
    await proxy.stop();
  }
});

test('streams that wait for their writers keep no other upload waiting', { timeout: 20_000 }, async () => {
  const stop = new AbortController();
  async function* slow() {
    yield content(10);
    await new Promise((_, reject) =>
      stop.signal.addEventListener('abort', () => reject(stop.signal.reason), { once: true }),
    );
  }
  const waiting = Array.from({ length: 20 }, (_, i) =>
    assert.rejects(szafa.upload(slow(), { path: `slow ${i}`, signal: stop.signal })),
  );
  try {
    await sleep(50);
    await szafa.upload(streamOf([content(10)]), { path: 'a stream' });
    await szafa.upload(bytesSource(content(2_000_000)), { path: 'a file' });
  } finally {
    stop.abort();
    await Promise.all(waiting);
  }
});
