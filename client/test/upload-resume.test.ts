/** Uploads that are interrupted and resumed. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sealedSize } from '@szafa/format';
import { assertBytes } from '../../tests/harness/bytes.ts';
import {
  bytesSource,
  type Journal,
  type Szafa,
  type Transport,
  type UploadOptions,
  type UploadProgress,
} from '../src/index.ts';
import { fileJournal, fileSource } from '../src/node/index.ts';
import { receivedNumbers, receivedVolumes, writeVolume } from '../src/transfers/calls.ts';
import { memoryJournal } from './memory-journal.ts';
import { assertOneUse } from './one-use.ts';
import { type HostileProxy, startProxy } from './proxy.ts';
import { content, engine, newUser, type Service, sameUser, startService, transport } from './service.ts';
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

for (let changed = 1; changed <= VOLUMES; changed++) {
  test(`a file whose volume ${changed} changed between two attempts: what was sealed is not sealed again otherwise`, async () => {
    await using proxy = await startProxy(service.url);
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
    assertBytes(await read(szafa, fileId), bytes);
    const again = proxy.requests.slice(first);
    assert.ok(again.some(({ method, path }) => method === 'DELETE' && path.includes(left)));
    assert.ok(
      !again.some(
        ({ method, path }) => method === 'PUT' && path.includes(left) && path.endsWith(`/${changed}`),
      ),
    );
    assertOneUse(proxy.requests);
    assert.equal(journal.entries.size, 0);
  });
}

/** Interrupts an upload of five volumes after the first two, and returns its transfer. */
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

test('a journal that is torn or older than the upload: the upload resumes from what is known, or starts again', async () => {
  await using proxy = await startProxy(service.url);
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
    assertBytes(await read(szafa, fileId), bytes);
    assert.equal(journal.entries.size, 0);
    assertOneUse(proxy.requests);
  }
});

test('what is appended behind a torn end is found again', async () => {
  await using proxy = await startProxy(service.url);
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
  assertBytes(await read(szafa, fileId), bytes);
});

test('where the service has another volume of a number, the upload starts again, and stops if that keeps happening', async () => {
  await using proxy = await startProxy(service.url);
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
      if (request.method === 'PUT' && request.url.endsWith('/4') && met++ < times) await strange(request.url);
      return transport(request);
    };
    const meddled = await sameUser(szafa, proxy.url, { transport: before });
    const done = meddled.upload(samePlace(bytes), { path: `met ${times}`, volumeSize: SIZE, journal });
    if (times === 1) assertBytes(await read(szafa, (await done).fileId), bytes);
    else await assert.rejects(done, { code: 'other-upload' });
    assert.equal(met, times === 1 ? 2 : 3);
    assert.equal(journal.entries.size, 0);
  }
  assertOneUse(proxy.requests);
  const begun = new Set(proxy.requests.map(({ path }) => /transfer\/([^/]+)\/chunk/.exec(path)?.[1]));
  begun.delete(undefined);
  assert.equal(begun.size, 5, 'each time under another transfer, and another key');
});

test('an upload whose complete was not answered is the same file when it goes on', async () => {
  await using proxy = await startProxy(service.url);
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
});

test('an upload that was cut off goes on; nothing in the journal tells the key or the transfer', async () => {
  const journal = fileJournal(join(service.folder, 'journal'));
  const path = join(service.folder, 'resumed');
  writeFileSync(path, content(8 * SIZE));
  await using proxy = await startProxy(service.url);
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
  assertBytes(await read(szafa, fileId), content(8 * SIZE));
  assert.deepEqual(readdirSync(join(service.folder, 'journal')), []);

  // Changed since: under a new key, and the old transfer is given up.
  proxy.before = (method, where) => (method === 'PUT' && where.endsWith('/5') ? { status: 409 } : undefined);
  source = await fileSource(path);
  await assert.rejects(again.upload(source, options), { status: 409 });
  await source.close();
  proxy.before = undefined;
  writeFileSync(path, content(8 * SIZE, 9));
  proxy.requests.length = 0;
  source = await fileSource(path);
  const restarted = await again.upload(source, options);
  await source.close();
  assert.equal(restarted.resumed, 0);
  assert.ok(proxy.requests.some(({ method }) => method === 'DELETE'));
  assertBytes(await read(szafa, restarted.fileId), content(8 * SIZE, 9));

  // The transfer has been removed: the upload starts again, too.
  proxy.before = (method, where) => (method === 'PUT' && where.endsWith('/5') ? { status: 409 } : undefined);
  source = await fileSource(path);
  await assert.rejects(again.upload(source, options), { status: 409 });
  const lost = /transfer\/([^/]+)\/chunk/.exec(proxy.requests.at(-1)!.path)![1]!;
  await szafa.api.call('cancel', { params: { transfer_id: lost } });
  proxy.before = undefined;
  const third = await again.upload(source, options);
  await source.close();
  assertBytes(await read(szafa, third.fileId), content(8 * SIZE, 9));
});

test('an unfinished upload goes on at its own path only; one that is abandoned is gone on both sides', async () => {
  const journal = fileJournal(join(service.folder, 'own-journal'));
  const path = join(service.folder, 'own');
  writeFileSync(path, content(5 * SIZE));
  const options = { path: 'folder/own', volumeSize: SIZE, journal };
  const left = await cutOff(szafa, path, options);
  const { dirId } = (await szafa.dirs()).find(({ name }) => name === 'folder')!;
  await using source = await openSource(path);
  const atTop = await szafa.upload(source, { ...options, path: 'own' });
  assert.equal(atTop.resumed, 0);
  assert.deepEqual(await szafa.list({ dirId }), []);
  assert.deepEqual(await receivedNumbers(szafa.api, left), [1, 2]);
  const unfinished = { place: source.place, path: 'folder/own' };
  const stop = new AbortController();
  const breaking: Transport = (request) => {
    if (request.method === 'DELETE') stop.abort(new Error('no line'));
    return transport(request);
  };
  const offline = await sameUser(szafa, service.url, { transport: breaking });
  await assert.rejects(offline.abandon(journal, unfinished, { signal: stop.signal }), /no line/);
  await szafa.abandon(journal, unfinished);
  await assertGone(szafa, left);
  assert.equal((await szafa.upload(source, options)).resumed, 0);
  assert.equal((await szafa.list({ dirId })).length, 1);
});

test('an unfinished upload that a newer file of its name has overtaken goes on, and is the newest then', async () => {
  const journal = fileJournal(join(service.folder, 'overtaken-journal'));
  const path = join(service.folder, 'overtaken');
  writeFileSync(path, content(3 * SIZE));
  const options = { path: 'overtaken', volumeSize: SIZE, journal };
  await cutOff(szafa, path, options);
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
