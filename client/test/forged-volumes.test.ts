/** Somebody who was given a file key, and the server, put volumes of their own in the place of the owner's: no reader gives out a byte of them. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { extentOf, type FileSecrets, type Layout, sealVolume } from '@szafa/format';
import {
  bytesSource,
  type Entry,
  LinkVisit,
  newTicket,
  type ReadableHeader,
  type RemoteFile,
  RequestVisit,
  type Szafa,
} from '../src/index.ts';
import { downloadToFile, fileRevs } from '../src/node/index.ts';
import { readVolumeHeaders } from '../src/transfers/calls.ts';
import { ask, more, visiting } from './ask.ts';
import { proxy, service } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import { content, engine, newUser, sameUser } from './service.ts';

const SEGMENT = 262_144;
const VOLUME = 3 * SEGMENT;
const SIZE = 3 * VOLUME - 1000;
const whole = content(SIZE);
/** None of its bytes is the one that the owner wrote at the same place. */
const other = whole.map((byte) => byte ^ 0xff);

type Forged = Map<number, Buffer>;

/** What a holder of the file key makes: volumes that open, of other bytes. */
async function forge(header: FileSecrets & { layout: Layout }, ...numbers: number[]): Promise<Forged> {
  const { fileId, fileKey, layout } = header;
  const forged: Forged = new Map();
  for (const idx of numbers) {
    const place = { fileId, fileKey, idx, isLast: idx === layout.count };
    const { bytes, release } = await sealVolume(
      engine,
      place,
      bytesSource(other.slice(0, layout.size)),
      extentOf(layout, idx),
    );
    forged.set(idx, Buffer.from(bytes));
    release();
  }
  return forged;
}

/** A server that gives these in the place of the owner's, ranges included. `list`: what it says of the digests. */
function giving(forged: Forged, list: 'honest' | 'forged' | 'none' = 'honest'): Hostility {
  return ({ method, path, headers, body, status }) => {
    if (method !== 'GET') return undefined;
    if (/\/digests$/.test(path) && status === 200 && list !== 'honest') {
      if (list === 'none') return { status: 404, body: Buffer.from('{"error":"no such route"}') };
      const digests = Buffer.from(body);
      for (const [idx, bytes] of forged)
        createHash('sha256')
          .update(bytes)
          .digest()
          .copy(digests, (idx - 1) * 32);
      return { body: digests };
    }
    const bytes = forged.get(Number(/\/chunk\/(\d+)$/.exec(path)?.[1]));
    if (!bytes || status >= 300) return undefined;
    const [, from, to] = /^bytes (\d+)-(\d+)/.exec(String(headers['content-range'] ?? '')) ?? [];
    return { body: from === undefined ? bytes : bytes.subarray(Number(from), Number(to) + 1) };
  };
}

const isPrefix = (bytes: Uint8Array) => Buffer.from(bytes).equals(whole.subarray(0, bytes.length));

/** Reads in every way, volume 2 being forged: what is given out is the owner's, and ends before it. */
async function assertNothingForged(
  open: () => Promise<RemoteFile<ReadableHeader>>,
  stages: readonly string[],
): Promise<void> {
  const isRefused = (error: Error & { stage?: string }) => stages.includes(error.stage ?? '');
  const got: Uint8Array[] = [];
  const streaming = async () => {
    for await (const piece of (await open()).stream()) got.push(piece);
  };
  await assert.rejects(streaming(), isRefused);
  assert.ok(isPrefix(Buffer.concat(got)), 'a stream');
  assert.ok(Buffer.concat(got).length <= VOLUME);
  await assert.rejects((await open()).verify(), isRefused);
  for (const [at, length] of [
    [VOLUME, 10],
    [VOLUME + SEGMENT + 5, 10],
    [VOLUME - 5, 10],
    [VOLUME, VOLUME],
    [2 * VOLUME - 1, 2],
    [0, SIZE],
  ] as const) {
    await assert.rejects((await open()).readRange(at, length), isRefused, `${length} at ${at}`);
  }
  const folder = mkdtempSync(join(service.folder, 'forged-'));
  await assert.rejects(downloadToFile(await open(), join(folder, 'x')), isRefused);
  assert.deepEqual(readdirSync(folder), []);
}

async function entryAt(user: Szafa, path: string): Promise<Entry> {
  return (await user.list()).find((entry) => entry.path === path)!;
}

/** An account with a file that is shared by a link. */
async function shared(): Promise<{ owner: Szafa; entry: Entry; link: string }> {
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(whole), { path: 'film', volumeSize: VOLUME });
  const { link } = await owner.shareLink([{ entry: await entryAt(owner, 'film'), name: 'film' }]);
  return { owner, entry: await entryAt(owner, 'film'), link };
}

const opener = (user: Szafa, entry: Entry) => () => user.openFile(entry.fileId, { record: entry.record });

test('of a shared file: no byte of a forged volume, whatever the server says of the digests', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const { owner, entry, link } = await shared();
  const device = await sameUser(owner, proxy.url, more);
  const { header } = await opener(device, entry)();
  assert.equal(header.metadata.shared, true);
  const forged = await forge(header, 2);
  const visited = await (await LinkVisit.begin(link.replace(service.url, proxy.url), visiting)).open();
  const ticket = newTicket(engine);
  await visited.take(ticket);
  for (const reader of [opener(device, entry), async () => visited.file(1, ticket)]) {
    proxy.hostility = giving(forged);
    await assertNothingForged(reader, ['digest']);
    proxy.hostility = giving(forged, 'forged');
    await assertNothingForged(reader, ['digests']);
    proxy.hostility = giving(forged, 'none');
    await assertNothingForged(reader, ['digests']);
    // What is the owner's is read all the same, in any part.
    proxy.hostility = giving(forged);
    const remote = await reader();
    assert.deepEqual(await remote.readRange(10, 100), whole.slice(10, 110));
    assert.deepEqual(await remote.readRange(2 * VOLUME + 7, 9), whole.slice(2 * VOLUME + 7, 2 * VOLUME + 16));
    proxy.hostility = giving(new Map(), 'none');
    assert.deepEqual(await remote.readRange(0, SIZE), whole);
    proxy.hostility = () => undefined;
    assert.deepEqual(
      await (await reader()).readRange(VOLUME - 5, SEGMENT),
      whole.slice(VOLUME - 5, VOLUME - 5 + SEGMENT),
    );
  }
});

test('a volume that was right when it was verified is not forged later; its segments then travel alone', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const { owner, entry } = await shared();
  const device = await sameUser(owner, proxy.url, more);
  const remote = await opener(device, entry)();
  const forged = await forge(remote.header, 2);
  assert.deepEqual(await remote.readRange(VOLUME + 1, 2), whole.slice(VOLUME + 1, VOLUME + 3));
  proxy.requests.length = 0;
  assert.deepEqual(
    await remote.readRange(VOLUME + SEGMENT, 2),
    whole.slice(VOLUME + SEGMENT, VOLUME + SEGMENT + 2),
  );
  assert.equal(proxy.requests.length, 1);
  proxy.hostility = giving(forged);
  for (const at of [VOLUME, VOLUME + SEGMENT, 2 * VOLUME - 1])
    await assert.rejects(remote.readRange(at, 1), { code: 'tampered', stage: 'volume' });
});

test('the digests of segments are kept for a few volumes only; any other volume is verified as a whole again', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const owner = await newUser(service.url, more);
  const [size, count] = [1000, 65];
  await owner.upload(bytesSource(whole.slice(0, size * count)), { path: 'long', volumeSize: size });
  await owner.shareLink([{ entry: await entryAt(owner, 'long'), name: 'long' }]);
  const device = await sameUser(owner, proxy.url, more);
  const remote = await opener(device, await entryAt(device, 'long'))();
  const forged = await forge(remote.header, 1, count);
  for (let at = 0; at < size * count; at += size)
    assert.deepEqual(await remote.readRange(at, 9), whole.slice(at, at + 9));
  proxy.hostility = giving(forged);
  const last = size * (count - 1);
  await assert.rejects(remote.readRange(last, 9), { code: 'tampered', stage: 'volume' });
  await assert.rejects(remote.readRange(0, 9), { code: 'tampered', stage: 'digest' });
  proxy.hostility = () => undefined;
  assert.deepEqual(await remote.readRange(0, 9), whole.slice(0, 9));
});

test('a file of one volume needs no list, and its forged volume gives no byte', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(whole.slice(0, VOLUME)), { path: 'one', volumeSize: VOLUME });
  await owner.shareLink([{ entry: await entryAt(owner, 'one'), name: 'one' }]);
  const entry = await entryAt(owner, 'one');
  const device = await sameUser(owner, proxy.url, more);
  const open = () => device.openFile(entry.fileId, { record: entry.record, headOnly: true });
  proxy.requests.length = 0;
  const remote = await open();
  assert.deepEqual(await remote.readRange(5, 10), whole.slice(5, 15));
  await remote.verify();
  assert.ok(!proxy.requests.some(({ path }) => path.endsWith('/digests')));
  proxy.hostility = giving(await forge(remote.header, 1));
  const refusal = { code: 'tampered', stage: 'digest' };
  for (const [at, length] of [
    [0, 1],
    [SEGMENT, 1],
    [0, VOLUME],
  ] as const)
    await assert.rejects((await open()).readRange(at, length), refusal);
  await assert.rejects((await open()).verify(), refusal);
  // Small enough to come with its header.
  await assert.rejects((await opener(device, entry)()).readRange(0, 1), refusal);
});

test('copies of a shared file, in the trash or made later, and what a visitor delivered: the same', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(whole), { path: 'film', volumeSize: VOLUME });
  for (const path of ['copy', 'in trash']) await owner.copyTo(await entryAt(owner, 'film'), path);
  await owner.trash([await entryAt(owner, 'in trash')]);
  await owner.shareLink([{ entry: await entryAt(owner, 'film'), name: 'film' }]);
  await owner.copyTo(await entryAt(owner, 'film'), 'later');
  await owner.rename([{ entry: await entryAt(owner, 'later'), path: 'folder/later' }]);
  await owner.restore(await owner.listTrash());
  const { owner: asking, link } = await ask({ folder: 'in', size: 2 * SIZE });
  const visit = await RequestVisit.begin(link, visiting);
  await visit.upload(bytesSource(whole), { name: 'film', volumeSize: VOLUME });
  const [delivery] = await asking.deliveries();
  await asking.takeOver(delivery!);
  for (const [user, path] of [
    [owner, 'film'],
    [owner, 'copy'],
    [owner, 'in trash'],
    [owner, 'folder/later'],
    [asking, 'in/film'],
  ] as const) {
    const device = await sameUser(user, proxy.url, more);
    const open = opener(device, await entryAt(device, path));
    proxy.hostility = giving(await forge((await open()).header, 2));
    await assertNothingForged(open, ['digest']);
    proxy.hostility = () => undefined;
  }
});

test('a copy that another device makes while its original is marked is marked too', async (t) => {
  t.after(() => {
    proxy.before = undefined;
  });
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(whole), { path: 'film', volumeSize: VOLUME });
  const entry = await entryAt(owner, 'film');
  const device = await sameUser(owner, proxy.url, more);
  let copied = 0;
  proxy.before = async (method, path) => {
    if (method === 'POST' && path === '/api/files/names' && copied++ === 0) await owner.copyTo(entry, 'copy');
    return undefined;
  };
  await device.shareLink([{ entry, name: 'film' }]);
  assert.ok(copied > 0);
  for (const path of ['film', 'copy']) {
    const { metadata } = await opener(owner, await entryAt(owner, path))();
    assert.equal(metadata.shared, true, path);
  }
});

test('a header without the mark, shown again, is refused by a device that has seen the mark', async (t) => {
  t.after(() => {
    proxy.hostility = () => undefined;
  });
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(whole), { path: 'film', volumeSize: VOLUME });
  const before = await entryAt(owner, 'film');
  const { encParamsText } = await readVolumeHeaders(owner.api, before.fileId, 1);
  const revs = fileRevs(mkdtempSync(join(service.folder, 'revs-')), service.url);
  const device = await sameUser(owner, proxy.url, { ...more, revs });
  await device.shareLink([{ entry: before, name: 'film' }]);
  proxy.hostility = ({ path, headers }) =>
    path.includes('/chunk/') ? { headers: { ...headers, 'x-enc-params': encParamsText } } : undefined;
  await assert.rejects(device.openFile(before.fileId, { record: before.record }), {
    code: 'tampered',
    stage: 'rev',
  });
});

test('files are marked in one request, before the share is made, and once', async (t) => {
  t.after(() => {
    proxy.before = undefined;
  });
  const owner = await newUser(service.url, more);
  for (let at = 1; at <= 12; at++)
    await owner.upload(bytesSource(content(at)), { path: `folder/file ${at}` });
  await owner.upload(bytesSource(content(99)), { path: 'other' });
  const device = await sameUser(owner, proxy.url, more);
  const listed = await device.list();
  const items = listed.filter(({ path }) => path !== 'other').map((entry) => ({ entry, name: entry.path }));
  const asked = (...wanted: string[]) =>
    proxy.requests
      .filter(({ method }) => method === 'POST')
      .map(({ path }) => path)
      .filter((path) => wanted.includes(path));
  const [names, shares] = ['/api/files/names', '/api/shares'];
  proxy.requests.length = 0;
  // What is cut off behind the mark leaves files that can be shared and read as before.
  proxy.before = (method, path) =>
    method === 'POST' && path === shares ? { status: 409, body: Buffer.from('{"error":"no"}') } : undefined;
  await assert.rejects(device.shareLink(items), { code: 'api' });
  assert.deepEqual(asked(names, shares), [names, shares]);
  proxy.before = undefined;
  proxy.requests.length = 0;
  // By what was listed before the mark, too.
  await device.shareLink(items);
  await device.shareLink(
    items.map(({ name, entry }) => ({ name, entry: listed.find(({ fileId }) => fileId === entry.fileId)! })),
  );
  assert.deepEqual(asked(names, shares), [shares, shares]);
  for (const { path, fileId, record, age } of await device.list()) {
    const { metadata } = await device.openFile(fileId, { record });
    assert.deepEqual(
      [metadata.shared, metadata.rev, age?.rev],
      path === 'other' ? [undefined, 1, 1] : [true, 2, 2],
      path,
    );
  }
});
