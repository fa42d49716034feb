/** One file, although a long one: its tests share a server, whose start costs more than most of them. */

import assert from 'node:assert/strict';
import {
  appendFileSync,
  chmodSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sealedSize } from '@szafa/format';
import { assertBytes } from '../../tests/harness/bytes.ts';
import {
  bytesSource,
  type Journal,
  type Source,
  type Szafa,
  type Transport,
  type UploadOptions,
  type UploadProgress,
} from '../src/index.ts';
import { downloadToFile, fileJournal, fileSource, pullHost } from '../src/node/index.ts';
import { receivedVolumes, writeVolume } from '../src/transfers/calls.ts';
import { VolumeMemory } from '../src/transfers/upload/memory.ts';
import { uploadStream } from '../src/transfers/upload/stream-upload.ts';
import { assertOneUse } from './one-use.ts';
import { type HostileProxy, startProxy } from './proxy.ts';
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

test('a volume leaves as soon as it is sealed, and progress never goes back', async () => {
  const proxy = await startProxy(service.url);
  try {
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
    assertBytes(await read(fileId), bytes);
    assert.equal(reads, 21, 'everything is read once');
    assert.ok(readAtFirst < 21, `${readAtFirst} volumes were sealed before the first one left`);
    assert.deepEqual([seen[0], seen.at(-1)], [0, bytes.length]);
    assert.deepEqual(
      seen,
      seen.toSorted((a, b) => a - b),
    );
  } finally {
    await proxy.stop();
  }
});

/** A journal that the test sees into. */
function memoryJournal(): Journal & { entries: Map<string, Uint8Array> } {
  const entries = new Map<string, Uint8Array>();
  return {
    entries,
    load: async (key) => entries.get(key),
    store: async (key, entry) => void entries.set(key, entry),
    async append(key, record) {
      const entry = entries.get(key);
      if (entry) entries.set(key, new Uint8Array(Buffer.concat([entry, record])));
    },
    remove: async (key) => void entries.delete(key),
  };
}

/** Bytes that count as the same file, whatever they are. */
const samePlace = (bytes: Uint8Array): Source => ({ ...bytesSource(bytes), identity: 'one', place: 'one' });

for (let changed = 1; changed <= VOLUMES; changed++) {
  test(`a file whose volume ${changed} changed between two attempts: what was sealed is not sealed again otherwise`, async () => {
    const proxy = await startProxy(service.url);
    try {
      const user = await sameUser(szafa, proxy.url);
      const journal = memoryJournal();
      const bytes = content(VOLUMES * SIZE, changed);
      const options = { path: `between ${changed}`, volumeSize: SIZE, parallel: 1, journal };
      // It was sealed and is remembered, but the service did not take it.
      proxy.before = (method, path) =>
        method === 'PUT' && path.endsWith(`/${changed}`) ? { status: 409 } : undefined;
      await assert.rejects(user.upload(samePlace(bytes), options), { status: 409 });
      assert.equal(journal.entries.size, 1);
      proxy.before = undefined;
      const first = proxy.requests.length;
      const left = /transfer\/([^/]+)\/chunk/.exec(
        proxy.requests.find(({ method }) => method === 'PUT')!.path,
      )![1]!;
      bytes[(changed - 1) * SIZE + 17]! ^= 1;
      const { fileId, resumed } = await user.upload(samePlace(bytes), options);
      assert.equal(resumed, 0);
      assertBytes(await read(fileId), bytes);
      const again = proxy.requests.slice(first);
      assert.ok(again.some(({ method, path }) => method === 'DELETE' && path.includes(left)));
      assert.ok(
        !again.some(
          ({ method, path }) => method === 'PUT' && path.includes(left) && path.endsWith(`/${changed}`),
        ),
      );
      assertOneUse(proxy.requests);
      assert.equal(journal.entries.size, 0);
    } finally {
      await proxy.stop();
    }
  });
}

/** Leaves an upload of five volumes of which the service has the first two; its transfer. */
async function leaveTwo(user: Szafa, proxy: HostileProxy, bytes: Uint8Array, options: UploadOptions) {
  const stop = new AbortController();
  let transferId = '';
  proxy.before = (method, path) => {
    const third = method === 'PUT' && /transfer\/([^/]+)\/chunk\/3$/.exec(path);
    if (!third) return undefined;
    transferId = third[1]!;
    stop.abort(new Error('enough'));
    return 'cut';
  };
  const cut = { ...options, parallel: 1, signal: stop.signal };
  await assert.rejects(user.upload(samePlace(bytes), cut), /enough/);
  proxy.before = undefined;
  const there = await receivedVolumes(szafa.api, transferId);
  assert.deepEqual(
    there.map(({ idx }) => idx),
    [1, 2],
  );
  proxy.requests.length = 0;
  return transferId;
}

test('a journal that is torn or older than the upload: it goes on with what is remembered, or begins anew', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(szafa, proxy.url);
    const bytes = content(VOLUMES * SIZE);
    for (const [name, kept, resumes] of [
      ['all of it', undefined, true],
      ['the last record is torn', -1, true],
      ['a record that the service has is missing', 1, false],
      ['all records are missing', 0, false],
    ] as const) {
      const journal = memoryJournal();
      const cuts: number[] = [];
      const watched: Journal = {
        ...journal,
        async append(key, record) {
          cuts.push(journal.entries.get(key)!.length);
          await journal.append(key, record);
        },
      };
      const options = { path: name, volumeSize: SIZE, journal: watched };
      const left = await leaveTwo(user, proxy, bytes, options);
      const [[key, entry]] = [...journal.entries] as [[string, Uint8Array]];
      journal.entries.set(key, entry.slice(0, kept === -1 ? -1 : cuts[kept ?? 9]));
      const seen: number[] = [];
      const onProgress = ({ done }: UploadProgress) => seen.push(done);
      const { fileId, resumed } = await user.upload(samePlace(bytes), { ...options, onProgress });
      assert.deepEqual([resumed, seen[0]], resumes ? [2, 2 * SIZE] : [0, 0], name);
      assert.equal(
        proxy.requests.some(({ method, path }) => method === 'DELETE' && path.includes(left)),
        !resumes,
      );
      assertBytes(await read(fileId), bytes);
      assert.equal(journal.entries.size, 0);
      assertOneUse(proxy.requests);
    }
  } finally {
    await proxy.stop();
  }
});

test('what is appended behind a torn end is found again', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(szafa, proxy.url);
    const journal = memoryJournal();
    const bytes = content(VOLUMES * SIZE);
    const options = { path: 'torn twice', volumeSize: SIZE, journal };
    await leaveTwo(user, proxy, bytes, options);
    const [[key, entry]] = [...journal.entries] as [[string, Uint8Array]];
    journal.entries.set(key, entry.slice(0, -1));
    // All volumes are there then, whichever one's record was torn.
    const stop = new AbortController();
    proxy.before = (_method, path) => {
      if (!path.endsWith('/complete')) return undefined;
      stop.abort(new Error('enough'));
      return 'cut';
    };
    const seen: number[] = [];
    const onProgress = ({ done }: UploadProgress) => seen.push(done);
    const cut = { ...options, onProgress, signal: stop.signal };
    await assert.rejects(user.upload(samePlace(bytes), cut), /enough/);
    assert.equal(seen[0], 2 * SIZE);
    proxy.before = undefined;
    const { fileId, resumed } = await user.upload(samePlace(bytes), options);
    assert.equal(resumed, VOLUMES);
    assertBytes(await read(fileId), bytes);
  } finally {
    await proxy.stop();
  }
});

test('where the service has another volume of a number, the upload begins anew, and stops when that happens again and again', async () => {
  const proxy = await startProxy(service.url);
  try {
    const bytes = content(VOLUMES * SIZE);
    const strange = async (path: string) => {
      const [, transferId, idx] = /transfer\/([^/]+)\/chunk\/(\d+)/.exec(path)!;
      const volume = content(sealedSize(SIZE), 77);
      const sha256 = Buffer.from(await engine.sha256(volume)).toString('hex');
      await writeVolume(szafa.api, transferId!, Number(idx), volume, { sha256 });
    };
    for (const times of [1, 9]) {
      const journal = memoryJournal();
      let met = 0;
      const before: Transport = async (request) => {
        if (request.method === 'PUT' && request.url.endsWith('/4') && met++ < times)
          await strange(request.url);
        return transport(request);
      };
      const meddled = await sameUser(szafa, proxy.url, { transport: before });
      const done = meddled.upload(samePlace(bytes), { path: `met ${times}`, volumeSize: SIZE, journal });
      if (times === 1) assertBytes(await read((await done).fileId), bytes);
      else await assert.rejects(done, { code: 'other-upload' });
      assert.equal(met, times === 1 ? 2 : 3);
      assert.equal(journal.entries.size, 0);
    }
    assertOneUse(proxy.requests);
    const begun = new Set(proxy.requests.map(({ path }) => /transfer\/([^/]+)\/chunk/.exec(path)?.[1]));
    begun.delete(undefined);
    assert.equal(begun.size, 5, 'each time under another transfer, and another key');
  } finally {
    await proxy.stop();
  }
});

test('an upload whose complete was not answered is the same file when it goes on', async () => {
  const proxy = await startProxy(service.url);
  try {
    const user = await sameUser(await newUser(service.url), proxy.url);
    const journal = memoryJournal();
    const options = { path: 'once', volumeSize: SIZE, journal };
    const bytes = content(VOLUMES * SIZE);
    const stop = new AbortController();
    proxy.hostility = ({ path }) => {
      if (!path.endsWith('/complete')) return undefined;
      stop.abort(new Error('enough'));
      return 'cut';
    };
    await assert.rejects(user.upload(samePlace(bytes), { ...options, signal: stop.signal }), /enough/);
    proxy.hostility = () => undefined;
    const [there] = await user.list();
    const [[key, entry]] = [...journal.entries] as [[string, Uint8Array]];
    const { fileId, resumed } = await user.upload(samePlace(bytes), options);
    assert.deepEqual([fileId, resumed], [there!.fileId, VOLUMES]);
    assert.equal((await user.list()).length, 1);
    assert.equal(journal.entries.size, 0);

    // Unless it has to become newer than that one: then it is another.
    journal.entries.set(key, entry);
    const next = await user.upload(samePlace(bytes), { ...options, after: 1 });
    assert.notEqual(next.fileId, fileId);
    assert.equal((await user.openFile(next.fileId)).metadata.gen, 2);
    assert.equal(journal.entries.size, 0);
  } finally {
    await proxy.stop();
  }
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
      const source = await fileSource(path);
      try {
        const onProgress = () => appendFileSync(path, 'one more line');
        const result = await szafa.upload(source, { path: 'log', volumeSize, onProgress, ...more });
        assert.deepEqual([result.size, result.grown], [size, true]);
        assertBytes(await read(result.fileId), content(size));
      } finally {
        await source.close();
      }
    }
  }
});

test('a file that changed between its opening and its upload is stored as it is when the upload begins', async () => {
  const path = join(service.folder, 'waiting');
  for (const size of [10, SIZE, 5 * SIZE]) {
    writeFileSync(path, content(3 * SIZE));
    const source = await fileSource(path);
    try {
      writeFileSync(path, content(size, 2));
      const result = await szafa.upload(source, { path: 'waiting', volumeSize: SIZE });
      assert.deepEqual([result.size, result.grown], [size, false]);
      assertBytes(await read(result.fileId), content(size, 2));
    } finally {
      await source.close();
    }
  }
});

test('a file of one volume that is rewritten after it was opened is not stored', async () => {
  const path = join(service.folder, 'small');
  for (const size of [SIZE, 3_000_000]) {
    writeFileSync(path, content(size));
    const source = await fileSource(path);
    try {
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
    } finally {
      await source.close();
    }
  }
});

test('a file that is removed or replaced during its upload: the error says which', async () => {
  const path = join(service.folder, 'going');
  for (const [replace, expected] of [
    [false, { code: 'file-removed', message: /was removed/ }],
    [true, { code: 'file-changed', message: /was replaced/ }],
  ] as const) {
    writeFileSync(path, content(3 * SIZE));
    const source = await fileSource(path);
    try {
      const onProgress = () => {
        rmSync(path, { force: true });
        if (replace) writeFileSync(path, content(3 * SIZE));
      };
      const options = { path: 'going', volumeSize: SIZE, onProgress };
      await assert.rejects(szafa.upload(source, options), expected);
    } finally {
      await source.close();
    }
  }
});

test('only the mode changes during an upload: the content is compared, and stored', async () => {
  const path = join(service.folder, 'chmod');
  writeFileSync(path, content(3 * SIZE));
  const source = await fileSource(path);
  try {
    const onProgress = () => chmodSync(path, 0o600 + Math.floor(Math.random() * 0o77));
    const { fileId, grown } = await szafa.upload(source, { path: 'chmod', volumeSize: SIZE, onProgress });
    assert.equal(grown, false);
    assertBytes(await read(fileId), content(3 * SIZE));
  } finally {
    await source.close();
  }
});

test('the upload of a file that has grown since goes on if it still begins with the same bytes', async () => {
  const path = join(service.folder, 'growing');
  for (const changed of [undefined, 10]) {
    const journal = fileJournal(join(service.folder, `growing-${changed}`));
    const options = { path: `growing ${changed}`, volumeSize: SIZE, journal };
    const bytes = content(5 * SIZE);
    writeFileSync(path, bytes);
    const left = await cutOff(path, options);
    if (changed !== undefined) bytes[changed]! ^= 1;
    const now = Buffer.concat([bytes, Buffer.from('what came later')]);
    writeFileSync(path, now);
    const source = await fileSource(path);
    try {
      const { fileId, resumed, size, grown } = await szafa.upload(source, options);
      const isAnew = changed !== undefined;
      assert.deepEqual([resumed, size, grown], isAnew ? [0, now.length, false] : [2, bytes.length, true]);
      assertBytes(await read(fileId), isAnew ? now : bytes);
      if (isAnew)
        await assert.rejects(
          szafa.api.call('received', { params: { transfer_id: left } }).then(({ received }) => received),
          { status: 404 },
        );
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
    const options = { path: 'resumed', volumeSize: SIZE, journal, parallel: 1 };
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
    const unfinished = { place: source.place, path: 'resumed' };
    const here = await user.storedOf(journal, unfinished);
    assert.ok(here === 4 * SIZE || here === 5 * SIZE, String(here));

    proxy.before = undefined;
    proxy.requests.length = 0;
    const seen: UploadProgress[] = [];
    source = await fileSource(path);
    const again = await sameUser(szafa, proxy.url);
    const onProgress = (progress: UploadProgress) => void seen.push(progress);
    const { fileId, resumed } = await again.upload(source, { ...options, onProgress });
    await source.close();
    assert.ok(resumed >= 4 && resumed <= 5, String(resumed));
    assert.deepEqual(seen[0], { done: resumed * SIZE, stored: resumed * SIZE, total: 8 * SIZE });
    assert.deepEqual(seen.at(-1), { done: 8 * SIZE, stored: 8 * SIZE, total: 8 * SIZE });
    assert.ok(seen.every(({ done, stored }) => stored <= done && stored % SIZE === 0));
    assert.equal(await user.storedOf(journal, unfinished), 0, 'nothing is unfinished');
    assert.equal(proxy.requests.filter(({ method }) => method === 'PUT').length, 8 - resumed);
    assert.ok(!proxy.requests.some(({ path: asked }) => asked.endsWith('/init')));
    assertBytes(await read(fileId), content(8 * SIZE));
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
    assertBytes(await read(anew.fileId), content(8 * SIZE, 9));

    // The transfer is gone meanwhile: it begins anew as well.
    proxy.before = (method, where) =>
      method === 'PUT' && where.endsWith('/5') ? { status: 409 } : undefined;
    source = await fileSource(path);
    await assert.rejects(again.upload(source, options), { status: 409 });
    const lost = /transfer\/([^/]+)\/chunk/.exec(proxy.requests.at(-1)!.path)![1]!;
    await szafa.api.call('cancel', { params: { transfer_id: lost } });
    proxy.before = undefined;
    const third = await again.upload(source, options);
    await source.close();
    assertBytes(await read(third.fileId), content(8 * SIZE, 9));
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
  assert.deepEqual(
    (await szafa.api.call('received', { params: { transfer_id: transferId } })).received,
    [1, 2],
  );
  return transferId;
}

test('a file of which nothing changed but what the service has already is uploaded anew', async () => {
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
  const left = await cutOff(path, options);
  bytes[10]! ^= 1;
  write();
  const source = await fileSource(path);
  try {
    const { fileId, resumed } = await szafa.upload(source, options);
    assert.equal(resumed, 0);
    assertBytes(await read(fileId), bytes);
    await assert.rejects(
      szafa.api.call('received', { params: { transfer_id: left } }).then(({ received }) => received),
      { status: 404 },
    );
  } finally {
    await source.close();
  }
});

test('an unfinished upload goes on at its own path only; one that is abandoned is gone on both sides', async () => {
  const journal = fileJournal(join(service.folder, 'own-journal'));
  const path = join(service.folder, 'own');
  writeFileSync(path, content(5 * SIZE));
  const options = { path: 'folder/own', volumeSize: SIZE, journal };
  const left = await cutOff(path, options);
  const { dirId } = (await szafa.dirs()).find(({ name }) => name === 'folder')!;
  const source = await fileSource(path);
  try {
    const atTop = await szafa.upload(source, { ...options, path: 'own' });
    assert.equal(atTop.resumed, 0);
    assert.deepEqual(await szafa.list({ dirId }), []);
    assert.deepEqual((await szafa.api.call('received', { params: { transfer_id: left } })).received, [1, 2]);
    const unfinished = { place: source.place, path: 'folder/own' };
    const stop = new AbortController();
    const breaking: Transport = (request) => {
      if (request.method === 'DELETE') stop.abort(new Error('no line'));
      return transport(request);
    };
    const offline = await sameUser(szafa, service.url, { transport: breaking });
    await assert.rejects(offline.abandon(journal, unfinished, { signal: stop.signal }), /no line/);
    await szafa.abandon(journal, unfinished);
    await assert.rejects(
      szafa.api.call('received', { params: { transfer_id: left } }).then(({ received }) => received),
      { status: 404 },
    );
    assert.equal((await szafa.upload(source, options)).resumed, 0);
    assert.equal((await szafa.list({ dirId })).length, 1);
  } finally {
    await source.close();
  }
});

test('an unfinished upload that a newer file of its name has overtaken goes on, and is the newest then', async () => {
  const journal = fileJournal(join(service.folder, 'overtaken-journal'));
  const path = join(service.folder, 'overtaken');
  writeFileSync(path, content(3 * SIZE));
  const options = { path: 'overtaken', volumeSize: SIZE, journal };
  await cutOff(path, options);
  await szafa.upload(bytesSource(content(SIZE)), { path: 'overtaken', after: 6 });
  const source = await fileSource(path);
  const { fileId, resumed } = await szafa.upload(source, { ...options, after: 7 });
  await source.close();
  assert.equal(resumed, 2);
  const named = (await szafa.list()).filter(({ name }) => name === 'overtaken');
  assert.deepEqual(
    (await szafa.versions(named)).map(({ entry, metadata }) => [entry.fileId === fileId, metadata?.gen]),
    [
      [true, 8],
      [false, 7],
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
    const { fileId } = await user.upload(bytesSource(content(3 * SIZE)), { path: 'x', volumeSize: SIZE });
    assertBytes(await read(fileId), content(3 * SIZE));
    proxy.before = (method) =>
      method === 'PUT' ? { status: 200, body: Buffer.from('{"ok":true}') } : undefined;
    const options = { path: 'x', volumeSize: 5 };
    await assert.rejects(user.upload(bytesSource(content(9)), options), { code: 'incomplete' });
    await assert.rejects(user.upload(bytesSource(content(9)), { path: 'x' }), { code: 'not-the-service' });
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
      const { fileId } = await user.upload(bytesSource(content(length)), { path: 'x' });
      assertBytes(await read(fileId), content(length));
    }
    assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/file')).length, 1);
    assert.equal(proxy.requests.filter(({ path }) => path.endsWith('/complete')).length, 2);
  } finally {
    await proxy.stop();
  }
});

/** In parts that fit nothing, some of them empty. */
async function* inParts(bytes: Uint8Array) {
  for (let at = 0; at < bytes.length; at += 70_001) {
    yield bytes.subarray(at, at + 70_001);
    yield new Uint8Array(0);
  }
}

test('streams of unknown length: in volumes, in one request, empty, to the byte', async () => {
  const proxy = await startProxy(service.url);
  try {
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
        assert.equal(Buffer.compare(await read(done.fileId), bytes), 0);
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
  } finally {
    await proxy.stop();
  }
});

test('a stream that fails, is broken off, waits forever or is too long leaves nothing on the service', async () => {
  const proxy = await startProxy(service.url);
  try {
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
      for (const id of ids)
        await assert.rejects(
          szafa.api.call('received', { params: { transfer_id: id! } }).then(({ received }) => received),
          { status: 404 },
        );
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
  } finally {
    await proxy.stop();
  }
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
    assertBytes(await read(fileId), bytes);
    assert.equal(journal.entries.size, 0);
  }
});

test('the bytes that were given stay the caller’s, in a Buffer of Node too', async () => {
  for (const pull of [undefined, pullHost({ server: service.url })]) {
    const bytes = Buffer.from(content(300_000));
    const { fileId } = await szafa.upload(bytesSource(bytes), { path: 'given', pull });
    assertBytes(bytes, content(300_000));
    assertBytes(await read(fileId), content(300_000));
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
