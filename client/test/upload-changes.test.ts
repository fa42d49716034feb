/** Files that change while they are uploaded, and uploads that the server fetches. */
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { assertBytes } from '../../tests/harness/bytes.ts';
import { bytesSource, type Journal, type Source, type Szafa, type UploadProgress } from '../src/index.ts';
import { downloadToFile, fileJournal, fileSource, pullHost } from '../src/node/index.ts';
import { memoryJournal } from './memory-journal.ts';
import { content, engine, newUser, type Service, startService, transport } from './service.ts';
import { assertGone, cutOff, openSource, read, SIZE, samePlace, VOLUMES } from './uploading.ts';

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

test('a file on disk that is written to, cut or replaced during its upload', async () => {
  const path = join(service.folder, 'changing');
  const flipped = () => {
    const bytes = content(VOLUMES * SIZE);
    bytes[SIZE + 1]! ^= 1;
    return bytes;
  };
  const changes: [string, () => void][] = [
    ['same length', () => writeFileSync(path, content(VOLUMES * SIZE, 2))],
    ['longer', () => writeFileSync(path, content(VOLUMES * SIZE + 1, 2))],
    ['grown, and changed before', () => writeFileSync(path, Buffer.concat([flipped(), Buffer.alloc(9)]))],
    ['shorter', () => writeFileSync(path, content(VOLUMES * SIZE - 1))],
    ['empty', () => writeFileSync(path, '')],
  ];
  for (const [name, change] of changes) {
    // Before anything was read, all of it is the beginning of what is there now.
    for (const from of name === 'longer' || name.startsWith('grown') ? [1] : [0, 1]) {
      writeFileSync(path, content(VOLUMES * SIZE));
      const source = await fileSource(path);
      let done = false;
      const onProgress = (progress: UploadProgress) => {
        if (done || progress.done < from) return;
        done = true;
        change();
      };
      try {
        const options = { path: 'x', volumeSize: SIZE, parallel: 1, onProgress };
        await assert.rejects(szafa.upload(source, options), { code: 'file-changed' });
      } finally {
        await source.close();
      }
    }
  }
});

test('a file that grows is stored as it was when it was opened', async () => {
  const path = join(service.folder, 'log');
  const pull = pullHost({ server: service.url });
  // Of three volumes, and of one that is not sent in one request.
  for (const [size, volumeSize] of [
    [3 * SIZE, SIZE],
    [2_000_000, 8_000_000],
  ] as const) {
    for (const more of [{}, { pull }]) {
      writeFileSync(path, content(size));
      await using source = await openSource(path);
      const onProgress = () => appendFileSync(path, 'one more line');
      const result = await szafa.upload(source, { path: 'log', volumeSize, onProgress, ...more });
      assert.deepEqual([result.size, result.grown], [size, true]);
      assertBytes(await read(szafa, result.fileId), content(size));
    }
  }
});

test('a file that changed between its opening and its upload is stored as it is when the upload begins', async () => {
  const path = join(service.folder, 'waiting');
  for (const size of [10, SIZE, 5 * SIZE]) {
    writeFileSync(path, content(3 * SIZE));
    await using source = await openSource(path);
    writeFileSync(path, content(size, 2));
    const result = await szafa.upload(source, { path: 'waiting', volumeSize: SIZE });
    assert.deepEqual([result.size, result.grown], [size, false]);
    assertBytes(await read(szafa, result.fileId), content(size, 2));
  }
});

test('a file of one volume that is rewritten after it was opened is not stored', async () => {
  const path = join(service.folder, 'small');
  for (const size of [SIZE, 3_000_000]) {
    writeFileSync(path, content(size));
    await using source = await openSource(path);
    // Not a FileSource to the engine, which reads those by their descriptors.
    const watched: Source = {
      size,
      check: () => source.check(),
      async read(offset, length) {
        const bytes = await source.read(offset, length);
        writeFileSync(path, content(size, 2));
        return bytes;
      },
    };
    await assert.rejects(szafa.upload(watched, { path: 'small' }), { code: 'file-changed' });
  }
});

test('a file that is removed or replaced during its upload: the error says which', async () => {
  const path = join(service.folder, 'going');
  for (const [replace, expected] of [
    [false, { code: 'file-removed', message: /was removed/ }],
    [true, { code: 'file-changed', message: /was replaced/ }],
  ] as const) {
    writeFileSync(path, content(3 * SIZE));
    await using source = await openSource(path);
    const onProgress = () => {
      rmSync(path, { force: true });
      if (replace) writeFileSync(path, content(3 * SIZE));
    };
    const options = { path: 'going', volumeSize: SIZE, onProgress };
    await assert.rejects(szafa.upload(source, options), expected);
  }
});

test('only the mode changes during an upload: the content is compared, and stored', async () => {
  const path = join(service.folder, 'chmod');
  writeFileSync(path, content(3 * SIZE));
  await using source = await openSource(path);
  const onProgress = () => chmodSync(path, 0o600 + Math.floor(Math.random() * 0o77));
  const { fileId, grown } = await szafa.upload(source, { path: 'chmod', volumeSize: SIZE, onProgress });
  assert.equal(grown, false);
  assertBytes(await read(szafa, fileId), content(3 * SIZE));
});

test('the upload of a file that has grown since goes on if it still begins with the same bytes', async () => {
  const path = join(service.folder, 'growing');
  for (const changed of [undefined, 10]) {
    const journal = fileJournal(join(service.folder, `growing-${changed}`));
    const options = { path: `growing ${changed}`, volumeSize: SIZE, journal };
    const bytes = content(5 * SIZE);
    writeFileSync(path, bytes);
    const left = await cutOff(szafa, path, options);
    if (changed !== undefined) bytes[changed]! ^= 1;
    const now = Buffer.concat([bytes, Buffer.from('what came later')]);
    writeFileSync(path, now);
    await using source = await openSource(path);
    const { fileId, resumed, size, grown } = await szafa.upload(source, options);
    const isAnew = changed !== undefined;
    assert.deepEqual([resumed, size, grown], isAnew ? [0, now.length, false] : [2, bytes.length, true]);
    assertBytes(await read(szafa, fileId), isAnew ? now : bytes);
    if (isAnew) await assertGone(szafa, left);
  }
});

test('a file whose only change is what the service already has is uploaded again', async () => {
  const options = {
    path: 'changed',
    volumeSize: SIZE,
    journal: fileJournal(join(service.folder, 'changed-journal')),
  };
  const path = join(service.folder, 'changed');
  const bytes = content(5 * SIZE);
  // Its time is set back after the change, as an archiver does.
  const write = () => {
    writeFileSync(path, bytes);
    utimesSync(path, 1_000_000_000, 1_000_000_000);
  };
  write();
  const left = await cutOff(szafa, path, options);
  bytes[10]! ^= 1;
  write();
  await using source = await openSource(path);
  const { fileId, resumed } = await szafa.upload(source, options);
  assert.equal(resumed, 0);
  assertBytes(await read(szafa, fileId), bytes);
  await assertGone(szafa, left);
});

test('pulled by the service; what it skips is pushed; the server is gone afterwards', async () => {
  const path = join(service.folder, 'pulled');
  writeFileSync(path, content(6_000_000));
  const source = await fileSource(path);
  let address = '';
  const host = pullHost({ server: service.url });
  const watched = {
    async serve(...args: Parameters<typeof host.serve>) {
      const offer = await host.serve(...args);
      address = `${offer.baseUrl}/pull/${args[0]}/1`;
      assert.equal((await fetch(`${address}?token=wrong`)).status, 404);
      assert.equal((await fetch(`${offer.baseUrl}/pull/other/1?token=${offer.token}`)).status, 404);
      assert.equal((await fetch(`${offer.baseUrl}/pull/${args[0]}/7?token=${offer.token}`)).status, 404);
      const whole = Buffer.from(await (await fetch(`${address}?token=${offer.token}`)).arrayBuffer());
      assert.equal(whole.length, 1_048_696);
      for (const [range, from, to] of [
        ['bytes=0-9', 0, 10],
        ['bytes=1000000-', 1_000_000, 1_048_696],
        ['bytes=-16', 1_048_680, 1_048_696],
      ] as const) {
        const part = await fetch(`${address}?token=${offer.token}`, { headers: { range } });
        assert.equal(part.status, 206);
        assertBytes(Buffer.from(await part.arrayBuffer()), whole.subarray(from, to));
      }
      const beyond = await fetch(`${address}?token=${offer.token}`, { headers: { range: 'bytes=1048696-' } });
      assert.equal(beyond.status, 416);
      return offer;
    },
  };
  try {
    const options = { path: 'pulled', volumeSize: 1024 * 1024, pull: watched };
    const { fileId } = await szafa.upload(source, options);
    const target = join(service.folder, 'pulled.copy');
    await downloadToFile(await szafa.openFile(fileId), target);
    assert.equal(Buffer.compare(readFileSync(target), content(6_000_000)), 0);
    await assert.rejects(fetch(address));
  } finally {
    await source.close();
  }
});

test('a file that changes while it is pulled', async () => {
  const bytes = content(4000);
  let reads = 0;
  const source: Source = {
    ...bytesSource(bytes),
    async read(offset, length) {
      const part = bytes.slice(offset, offset + length);
      if (++reads > 4 && offset === 2000) part[0]! ^= 1;
      return part;
    },
  };
  const pull = pullHost({ server: service.url });
  const options = { path: 'x', volumeSize: 1000, pull };
  await assert.rejects(szafa.upload(source, options), { code: 'file-changed' });
});

test('a pull that fails is gone on with by sending, unless a newer file of its name has come', async () => {
  const bytes = content(VOLUMES * SIZE);
  for (const after of [0, 1]) {
    const journal = memoryJournal();
    const options = { path: `half pulled ${after}`, volumeSize: SIZE, journal };
    const nowhere = {
      serve: async () => ({
        baseUrl: 'http://127.0.0.1:9',
        token: 'none',
        failure: () => new Error('nobody there'),
        close: async () => {},
      }),
    };
    await assert.rejects(szafa.upload(samePlace(bytes), { ...options, pull: nowhere }), /nobody there/);
    assert.equal(journal.entries.size, 1);
    let rewritten = false;
    const watched: Journal = {
      ...journal,
      async store(key, entry) {
        rewritten = true;
        await journal.store(key, entry);
      },
    };
    const { fileId } = await szafa.upload(samePlace(bytes), { ...options, journal: watched, after });
    assert.equal(rewritten, after === 1);
    const { metadata } = await szafa.openFile(fileId);
    assert.equal(metadata.gen, after + 1);
    assertBytes(await read(szafa, fileId), bytes);
    assert.equal(journal.entries.size, 0);
  }
});
