/** One file, although a long one: its tests share a server, whose start costs more than most of them. */
import assert from 'node:assert/strict';
import { appendFileSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { bytesSource, type Source, type Szafa, type Transport, type UploadOptions } from '../src/index.ts';
import { downloadToFile, fileJournal, fileSource, pullHost, spool } from '../src/node/index.ts';
import { startProxy } from './proxy.ts';
import {
  content,
  engine,
  newUser,
  readAll,
  type Service,
  sameUser,
  startService,
  transport,
} from './service.ts';

const SIZE = 1000;
const VOLUMES = 5;
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

async function read(fileId: string): Promise<Uint8Array> {
  return readAll((await szafa.openFile(fileId)).stream());
}

test('with memory for all, some or none of the volumes', async () => {
  for (const memoryBudget of [0, 2 * SIZE + 100, 10 * SIZE]) {
    const seen: string[] = [];
    const { fileId, volumes } = await szafa.upload(bytesSource(content(4200)), {
      name: 'budget',
      volumeSize: SIZE,
      memoryBudget,
      onProgress: ({ phase, done, total }) => seen.push(`${phase} ${done}/${total}`),
    });
    assert.equal(volumes, 5);
    assert.deepEqual(await read(fileId), content(4200));
    assert.ok(seen.includes('prepare 4200/4200'));
    assert.equal(seen.at(-1), 'send 4200/4200');
  }
});

for (let changed = 1; changed <= VOLUMES; changed++) {
  test(`a file that changes in volume ${changed} between the passes: nothing of it leaves, the transfer is gone`, async () => {
    const proxy = await startProxy(service.url);
    try {
      const user = await sameUser(szafa, proxy.url);
      await user.keys.current();
      const bytes = content(VOLUMES * SIZE, changed);
      const reads = new Map<number, number>();
      const source: Source = {
        ...bytesSource(bytes),
        async read(offset, length) {
          const before = reads.get(offset) ?? 0;
          reads.set(offset, before + 1);
          const part = bytes.slice(offset, offset + length);
          if (before > 0 && offset === (changed - 1) * SIZE) part[17]! ^= 1;
          return part;
        },
      };
      const options = { name: 'x', volumeSize: SIZE, memoryBudget: 0, parallel: 1 };
      await assert.rejects(user.upload(source, options), { code: 'file-changed' });
      const puts = proxy.requests.filter(({ method }) => method === 'PUT');
      assert.ok(puts.every(({ path }) => Number(path.split('/').at(-1)) !== changed));
      const declared = proxy.requests.find(({ path }) => path.endsWith('/init'))!;
      const { chunks } = JSON.parse(declared.sent.toString()) as { chunks: { sha256: string }[] };
      for (const { path, sent } of puts) {
        const digest = Buffer.from(await engine.sha256(sent)).toString('hex');
        assert.equal(digest, chunks[Number(path.split('/').at(-1)) - 1]?.sha256);
      }
      assert.equal(proxy.requests.at(-1)?.method, 'DELETE');
      assert.ok(!proxy.requests.some(({ path }) => path.endsWith('/complete')));
    } finally {
      await proxy.stop();
    }
  });
}

test('a file on disk that is written to, cut or replaced during its upload', async () => {
  const path = join(service.folder, 'changing');
  const changes: [string, () => void][] = [
    ['same length', () => writeFileSync(path, content(VOLUMES * SIZE, 2))],
    ['longer', () => writeFileSync(path, content(VOLUMES * SIZE + 1))],
    ['shorter', () => writeFileSync(path, content(VOLUMES * SIZE - 1))],
    ['empty', () => writeFileSync(path, '')],
  ];
  for (const [at, [, change]] of changes.entries()) {
    for (const phase of ['prepare', 'send'] as const) {
      // All volumes are kept after the first pass, or none: then the second one reads what has changed.
      const memoryBudget = at % 2 === 0 ? 2 * VOLUMES * SIZE : 0;
      writeFileSync(path, content(VOLUMES * SIZE));
      const source = await fileSource(path);
      let done = false;
      const onProgress = (progress: { phase: string }) => {
        if (done || progress.phase !== phase) return;
        done = true;
        change();
      };
      try {
        const options = { name: 'x', volumeSize: SIZE, memoryBudget, parallel: 1, onProgress };
        await assert.rejects(szafa.upload(source, options), { code: 'file-changed' });
      } finally {
        await source.close();
      }
    }
  }
});

test('a file that grows: one volume is stored as it was read, several are not', async () => {
  const path = join(service.folder, 'log');
  for (const [size, volumes] of [
    [SIZE, 1],
    [3 * SIZE, 3],
  ] as const) {
    writeFileSync(path, content(size));
    const source = await fileSource(path);
    try {
      appendFileSync(path, 'one more line');
      const done = szafa.upload(source, { name: 'log', volumeSize: SIZE });
      if (volumes > 1) await assert.rejects(done, { code: 'file-changed' });
      else assert.deepEqual(await read((await done).fileId), content(size));
    } finally {
      await source.close();
    }
  }
});

test('an upload that was cut off goes on; nothing in the journal tells the key or the transfer', async () => {
  const journal = fileJournal(join(service.folder, 'journal'));
  const path = join(service.folder, 'resumed');
  writeFileSync(path, content(8 * SIZE));
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(szafa, proxy.url);
    const options = { name: 'resumed', volumeSize: SIZE, journal, parallel: 1 };
    const stop = new AbortController();
    proxy.before = (method, where) => {
      if (method === 'PUT' && where.endsWith('/5')) stop.abort(new Error('enough'));
      return undefined;
    };
    let source = await fileSource(path);
    await assert.rejects(user.upload(source, { ...options, signal: stop.signal }), /enough/);
    await source.close();
    const entry = readdirSync(join(service.folder, 'journal'))[0]!;
    const stored = readFileSync(join(service.folder, 'journal', entry)).toString('latin1');
    const transferId = /transfer\/([^/]+)\/chunk/.exec(proxy.requests.at(-1)!.path)![1]!;
    assert.ok(!stored.includes(transferId));

    proxy.before = undefined;
    proxy.requests.length = 0;
    source = await fileSource(path);
    const again = await sameUser(szafa, proxy.url);
    const { fileId, resumed } = await again.upload(source, options);
    await source.close();
    assert.ok(resumed >= 4 && resumed <= 5, String(resumed));
    assert.equal(proxy.requests.filter(({ method }) => method === 'PUT').length, 8 - resumed);
    assert.ok(!proxy.requests.some(({ path: asked }) => asked.endsWith('/init')));
    assert.deepEqual(await read(fileId), content(8 * SIZE));
    assert.deepEqual(readdirSync(join(service.folder, 'journal')), []);

    // Changed since: under a new key, and the old transfer is given up.
    proxy.before = (method, where) =>
      method === 'PUT' && where.endsWith('/5') ? { status: 409 } : undefined;
    source = await fileSource(path);
    await assert.rejects(again.upload(source, options), { status: 409 });
    await source.close();
    proxy.before = undefined;
    writeFileSync(path, content(8 * SIZE, 9));
    proxy.requests.length = 0;
    source = await fileSource(path);
    const anew = await again.upload(source, options);
    await source.close();
    assert.equal(anew.resumed, 0);
    assert.ok(proxy.requests.some(({ method }) => method === 'DELETE'));
    assert.deepEqual(await read(anew.fileId), content(8 * SIZE, 9));

    // The transfer is gone meanwhile: it begins anew as well.
    proxy.before = (method, where) =>
      method === 'PUT' && where.endsWith('/5') ? { status: 409 } : undefined;
    source = await fileSource(path);
    await assert.rejects(again.upload(source, options), { status: 409 });
    const lost = /transfer\/([^/]+)\/chunk/.exec(proxy.requests.at(-1)!.path)![1]!;
    await szafa.api.cancel(lost);
    proxy.before = undefined;
    const third = await again.upload(source, options);
    await source.close();
    assert.deepEqual(await read(third.fileId), content(8 * SIZE, 9));
  } finally {
    await proxy.stop();
  }
});

/** Uploads until the service has the first two volumes; the id of the transfer that is left. */
async function cutOff(path: string, options: UploadOptions): Promise<string> {
  const stop = new AbortController();
  let transferId = '';
  const cutting: Transport = (request) => {
    const third = /transfer\/([^/]+)\/chunk\/3$/.exec(request.url);
    if (third) {
      transferId = third[1]!;
      stop.abort(new Error('enough'));
    }
    return transport(request);
  };
  const source = await fileSource(path);
  try {
    const user = await sameUser(szafa, service.url, { transport: cutting });
    await assert.rejects(user.upload(source, { ...options, parallel: 1, signal: stop.signal }), /enough/);
  } finally {
    await source.close();
  }
  assert.deepEqual(await szafa.api.received(transferId), [1, 2]);
  return transferId;
}

test('a file of which nothing changed but what the service has already is uploaded anew', async () => {
  const options = {
    name: 'changed',
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
  const left = await cutOff(path, options);
  bytes[10]! ^= 1;
  write();
  const source = await fileSource(path);
  try {
    const { fileId, resumed } = await szafa.upload(source, options);
    assert.equal(resumed, 0);
    assert.deepEqual(await read(fileId), bytes);
    await assert.rejects(szafa.api.received(left), { status: 404 });
  } finally {
    await source.close();
  }
});

test('an unfinished upload goes on in its own directory only; one that is abandoned is gone on both sides', async () => {
  const journal = fileJournal(join(service.folder, 'own-journal'));
  const path = join(service.folder, 'own');
  writeFileSync(path, content(5 * SIZE));
  const dirId = await szafa.makeDir('own');
  const options = { name: 'own', volumeSize: SIZE, journal };
  const left = await cutOff(path, { ...options, dirId });
  const source = await fileSource(path);
  try {
    const inRoot = await szafa.upload(source, options);
    assert.equal(inRoot.resumed, 0);
    assert.deepEqual(await szafa.list({ dirId }), []);
    assert.deepEqual(await szafa.api.received(left), [1, 2]);
    await szafa.abandon(journal, { place: source.place, name: 'own', dirId });
    await assert.rejects(szafa.api.received(left), { status: 404 });
    assert.equal((await szafa.upload(source, { ...options, dirId })).resumed, 0);
    assert.equal((await szafa.list({ dirId })).length, 1);
  } finally {
    await source.close();
  }
});

test('an unfinished upload that a newer file of its name has overtaken is begun anew, and is the newest then', async () => {
  const journal = fileJournal(join(service.folder, 'overtaken-journal'));
  const path = join(service.folder, 'overtaken');
  writeFileSync(path, content(3 * SIZE));
  const stop = new AbortController();
  const options = { name: 'overtaken', volumeSize: SIZE, journal };
  const onProgress = ({ phase }: { phase: string }) => {
    if (phase === 'send') stop.abort(new Error('enough'));
  };
  let source = await fileSource(path);
  await assert.rejects(szafa.upload(source, { ...options, signal: stop.signal, onProgress }), /enough/);
  await source.close();
  const added = Date.now() + 60_000;
  await szafa.upload(bytesSource(content(SIZE)), { name: 'overtaken', added, after: 4 });
  source = await fileSource(path);
  const { fileId, resumed } = await szafa.upload(source, { ...options, after: 5 });
  await source.close();
  assert.equal(resumed, 0);
  const named = (await szafa.list()).filter(({ name }) => name === 'overtaken');
  assert.deepEqual(
    (await szafa.versions(named)).map(({ entry, metadata }) => [entry.fileId === fileId, metadata?.gen]),
    [
      [true, 6],
      [false, 5],
    ],
  );
});

test('a volume that the service lost is sent again', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(szafa, proxy.url);
    let lied = false;
    proxy.before = (method, path) => {
      if (lied || method !== 'PUT' || !path.endsWith('/2')) return undefined;
      lied = true;
      return { status: 200, body: Buffer.from('{"ok":true}') };
    };
    const { fileId } = await user.upload(bytesSource(content(3 * SIZE)), { name: 'x', volumeSize: SIZE });
    assert.deepEqual(await read(fileId), content(3 * SIZE));
    proxy.before = (method) =>
      method === 'PUT' ? { status: 200, body: Buffer.from('{"ok":true}') } : undefined;
    const options = { name: 'x', volumeSize: 5 };
    await assert.rejects(user.upload(bytesSource(content(9)), options), { code: 'incomplete' });
    await assert.rejects(user.upload(bytesSource(content(9)), { name: 'x' }), { code: 'not-the-service' });
  } finally {
    await proxy.stop();
  }
});

test('a small file goes in one request; one whose answer is lost is there once', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(await newUser(service.url), proxy.url);
    proxy.requests.length = 0;
    let cuts = 2;
    proxy.hostility = ({ method }) => (method === 'PUT' && cuts-- > 0 ? 'cut' : undefined);
    const progress: number[] = [];
    const onProgress = ({ done }: { done: number }) => progress.push(done);
    const { fileId, volumes } = await user.upload(bytesSource(content(1000)), { name: 'x', onProgress });
    assert.equal(volumes, 1);
    assert.equal(progress.at(-1), 1000);
    const puts = proxy.requests.filter(({ method }) => method === 'PUT').map(({ path }) => path);
    assert.equal(new Set(puts).size, 1);
    assert.equal(puts.length, 3);
    assert.deepEqual(
      (await user.list()).map((entry) => entry.fileId),
      [fileId],
    );
    assert.deepEqual(await readAll((await user.openFile(fileId)).stream()), content(1000));
  } finally {
    await proxy.stop();
  }
});

test('a service that knows no such request is not asked for it again', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(szafa, proxy.url);
    proxy.before = (_method, path) =>
      path.endsWith('/file') ? { status: 404, body: Buffer.from('{"error":"no such route"}') } : undefined;
    for (const length of [0, 1000]) {
      const { fileId } = await user.upload(bytesSource(content(length)), { name: 'x' });
      assert.deepEqual(await read(fileId), content(length));
    }
    assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/file')).length, 1);
    assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/complete')).length, 2);
  } finally {
    await proxy.stop();
  }
});

test('a stream of unknown length, in memory and beyond it', async () => {
  const parts = content(3_000_000);
  async function* stream() {
    for (let at = 0; at < parts.length; at += 70_001) yield parts.subarray(at, at + 70_001);
  }
  for (const memoryBudget of [0, 1024 * 1024, 64 * 1024 * 1024]) {
    const source = await spool(stream(), { memoryBudget, folder: service.folder });
    assert.equal(source.size, parts.length);
    const { fileId } = await szafa.upload(source, { name: 'stream', volumeSize: 400_000, memoryBudget: 0 });
    await source.close?.();
    assert.deepEqual(Buffer.compare(await read(fileId), parts), 0);
  }
  const empty = await spool((async function* () {})());
  assert.deepEqual(await read((await szafa.upload(empty, { name: 'empty' })).fileId), new Uint8Array(0));
  assert.deepEqual(
    readdirSync(service.folder).filter((name) => name.startsWith('szafa-')),
    [],
  );
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
        assert.deepEqual(Buffer.from(await part.arrayBuffer()), whole.subarray(from, to));
      }
      const beyond = await fetch(`${address}?token=${offer.token}`, { headers: { range: 'bytes=1048696-' } });
      assert.equal(beyond.status, 416);
      return offer;
    },
  };
  try {
    const options = { name: 'pulled', volumeSize: 1024 * 1024, memoryBudget: 0, pull: watched };
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
  const options = { name: 'x', volumeSize: 1000, memoryBudget: 0, pull };
  await assert.rejects(szafa.upload(source, options), { code: 'file-changed' });
});
