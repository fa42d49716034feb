import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { Metadata } from '../src/metadata.ts';
import { Report } from '../src/operator/commands/report.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { paths } from '../src/stores.ts';
import { fsck } from '../src/upkeep/commands/fsck.ts';
import { FILE_DONE } from '../src/upkeep/file-walk.ts';
import { Scrub, scrubState } from '../src/upkeep/scrub.ts';
import { InProcess } from './in-process.ts';

const DAY = 86_400_000;

/** The clock of these tests. */
let clock = Date.now();
const ours = () => true;

async function begun(t: TestContext) {
  const service = await InProcess.start(t);
  const { services } = service;
  const config = { ...services.config, scrubMs: 30 * DAY, scrubBytesPerSecond: 1e12 };
  const scrub = (over: Partial<typeof config> = {}) =>
    new Scrub({ ...services, config: { ...config, ...over }, now: () => clock });
  const work = (one = scrub()) => one.work(AbortSignal.timeout(30_000), ours);
  /** The names of a file's volumes on the disk, in order. */
  const onDisk = async (fileId: string) => {
    const folder = join(service.folder, 'volumes', fileId.slice(0, 2), fileId);
    const names = (await readdir(folder)).filter((name) => /^\d/.test(name));
    return names
      .sort((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
      .map((name) => join(folder, name));
  };
  const faults = async () =>
    (await services.metadata.checks.faults(1000)).map(({ file_id, idx, fault }) => [file_id, idx, fault]);
  return { service, ...services, scrub, work, onDisk, faults };
}

const volumes = (count: number, bytes = 100) => Array.from({ length: count }, () => randomBytes(bytes));

test('a scrub finds what is missing and what is wrong, touches nothing, and forgets what was put back', async (t) => {
  const { service, metadata, metrics, scrub, work, onDisk, faults } = await begun(t);
  const [good, bad] = [await service.upload(volumes(2)), await service.upload(volumes(4))];
  const places = await onDisk(bad);
  const [, changed, short, gone] = places as [string, string, string, string];
  const before = await readFile(changed);
  await writeFile(changed, Buffer.concat([before.subarray(0, 99), Buffer.from([before[99]! ^ 1])]));
  await writeFile(short, randomBytes(99));
  await rm(gone);
  const one = scrub();
  await work(one);
  const found = [
    [bad, 2, 'wrong'],
    [bad, 3, 'wrong'],
    [bad, 4, 'missing'],
  ];
  assert.deepEqual(await faults(), found);
  const state = await scrubState(metadata);
  assert.deepEqual(
    { ...state },
    {
      running: false,
      startedAt: clock,
      endedAt: clock,
      progress: 1,
      files: 2,
      volumes: 6,
      bytes: 500,
      faults: 3,
    },
  );
  assert.ok(metrics.snapshot()['szafa_scrub_read_bytes_total']! >= 500);
  assert.deepEqual((await onDisk(bad)).length, 3, 'what is wrong stays where it is');
  assert.equal((await onDisk(good)).length, 2);

  // What somebody puts back is seen within the hour, although the next scrub is far away.
  await writeFile(changed, before);
  clock += DAY / 24;
  await work(one);
  assert.deepEqual(await faults(), found.slice(1));
  // What is deleted is no fault any more.
  assert.equal((await service.call('DELETE', pathOf('deleteFile', { file_id: bad }))).status, 200);
  clock += DAY / 24;
  await work(one);
  assert.deepEqual(await faults(), []);
  assert.equal((await scrubState(metadata)).endedAt, state.endedAt, 'no round was due');
});

test('a file that is deleted while the scrub looks at it is no fault', async (t) => {
  const { service, metadata, volumes: store, scrub, work, onDisk, faults } = await begun(t);
  const fileId = await service.upload(volumes(1));
  for (const place of await onDisk(fileId)) await rm(place);
  const open = store.open.bind(store);
  t.mock.method(store, 'open', async (...args: Parameters<typeof open>) => {
    await metadata.fileChanges.remove(fileId, clock);
    return open(...args);
  });
  await work(scrub());
  assert.deepEqual(await faults(), []);
  assert.equal((await scrubState(metadata)).faults, 0);
});

test('a scrub is due when its days are over, covers what was there when it began, and can be off', async (t) => {
  const { service, metadata, scrub, work } = await begun(t);
  const files = async () => (await scrubState(metadata)).files;
  await work();
  assert.equal(await files(), 0, 'the first one is at once');
  await service.upload(volumes(1));
  clock += 30 * DAY - 1;
  await work();
  assert.equal(await files(), 0);
  clock += 1;
  await work(scrub({ scrubMs: 0 }));
  assert.equal(await files(), 0, 'off');
  await work();
  assert.equal(await files(), 1);
  assert.equal((await scrubState(metadata)).endedAt, clock);
});

test('a scrub goes on where it was, in the middle of a file, in another process and after any stop', async (t) => {
  const { service, metadata, scrub, onDisk } = await begun(t);
  const ids = [
    await service.upload(volumes(3)),
    await service.upload(volumes(5)),
    await service.upload(volumes(2)),
  ];
  const opened: string[] = [];
  const { volumes: store } = service.services;
  const open = store.open.bind(store);
  let stop = new AbortController();
  t.mock.method(store, 'open', async (id: string, volume: { idx: number; sha256: string }) => {
    opened.push(`${ids.indexOf(id)}.${volume.idx}`);
    // It is stopped while it reads; that volume is read again.
    if (opened.length % 4 === 0) stop.abort();
    return open(id, volume);
  });
  for (let rounds = 0; rounds === 0 || (await scrubState(metadata)).running; rounds++) {
    assert.ok(rounds < 20);
    stop = new AbortController();
    await scrub().work(stop.signal, ours);
  }
  const all = ['0.1', '0.2', '0.3', '1.1', '1.2', '1.3', '1.4', '1.5', '2.1', '2.2'];
  assert.deepEqual([...new Set(opened)], all, 'each one, in order');
  assert.ok(opened.length <= all.length + 4, `at most one again for each stop: ${opened}`);
  const { files, faults } = await scrubState(metadata);
  assert.deepEqual({ files, faults }, { files: 3, faults: 0 });
  assert.equal((await onDisk(ids[1]!)).length, 5);
});

test('whoever has lost the right to it stops, and does not take back what another one has reached', async (t) => {
  const { service, metadata, scrub } = await begun(t);
  await service.upload(volumes(6));
  const { checks } = metadata;
  let calls = 0;
  await scrub().work(new AbortController().signal, () => ++calls < 4);
  const reached = await checks.progress('scrub');
  assert.equal(reached.idx, 2);
  const ahead = { ...reached, idx: 5, volumes: 5 };
  assert.ok(await checks.save('scrub', reached, ahead));
  assert.equal(await checks.save('scrub', reached, { ...reached, idx: 3 }), false);
  assert.deepEqual({ ...(await checks.progress('scrub')) }, { ...ahead });
});

test('the scrub reads no faster than it is set to', async (t) => {
  const { service, scrub } = await begun(t);
  await service.upload(volumes(2, 300_000));
  const from = performance.now();
  await scrub({ scrubBytesPerSecond: 1_000_000 }).work(AbortSignal.timeout(30_000), ours);
  const ms = performance.now() - from;
  assert.ok(ms > 500, `${ms} ms for 600,000 bytes`);
});

test('a fsck that was broken off goes on with the files that it had not come to, and keeps what it had found', async (t) => {
  const { service, metadata, onDisk } = await begun(t);
  const ids = [
    await service.upload(volumes(1)),
    await service.upload(volumes(1)),
    await service.upload(volumes(1)),
  ];
  const [broken] = await onDisk(ids[0]!);
  await rm(broken!);
  const { volumes: store, config } = service.services;
  const sql = new SqliteStore(paths.database(config));
  t.after(() => sql.close());
  const pair = { config, sql, metadata: new Metadata(sql), volumes: store, close: async () => undefined };
  const run = async (goOn: boolean) => {
    const lines: Record<string, unknown>[] = [];
    const report = new Report(true, (line) => void lines.push(JSON.parse(line)));
    await fsck(pair, { repair: false, goOn, bytesPerSecond: 1e12 }, report);
    report.end();
    const { ok, files } = lines.at(-1)!;
    return { ok, files: files ?? 0, problems: lines.slice(0, -1).map(({ problem }) => problem) };
  };
  const whole = { ok: false, files: 3, problems: ['missing volumes'] };
  assert.deepEqual(await run(false), whole);
  assert.deepEqual(await run(true), whole, 'that one was not broken off');
  const { checks } = metadata;
  const round = await checks.start('fsck', Date.now());
  const seq = (await metadata.files.get(ids[0]!))!.seq;
  assert.ok(await checks.save('fsck', round, { ...round, seq, idx: FILE_DONE, faults: 1 }));
  assert.deepEqual(await run(true), {
    ok: false,
    files: 2,
    problems: ['problems that the interrupted run found'],
  });
  assert.equal(await metadata.timestamps.get('fsck'), 0, 'not all is well');
  assert.deepEqual(await run(true), whole, 'it has come to its end');
});

test('a fsck checks every file, although another one is started meanwhile', async (t) => {
  const { service, metadata, onDisk } = await begun(t);
  await service.upload(volumes(2));
  const broken = await service.upload(volumes(1));
  await rm((await onDisk(broken))[0]!);
  const { volumes: store, config } = service.services;
  const sql = new SqliteStore(paths.database(config));
  t.after(() => sql.close());
  const now = performance.now.bind(performance);
  let later = 0;
  t.mock.method(performance, 'now', () => now() + later);
  const open: typeof store.open = async (...args) => {
    if (later === 0) await metadata.checks.start('fsck', Date.now() + 1);
    later = 10_000;
    return store.open(...args);
  };
  const watched = new Proxy(store, {
    get: (_, name) => (name === 'open' ? open : Reflect.get(store, name)),
  });
  const pair = { config, sql, metadata: new Metadata(sql), volumes: watched, close: async () => undefined };
  const lines: Record<string, unknown>[] = [];
  const report = new Report(true, (line) => void lines.push(JSON.parse(line)));
  await fsck(pair, { repair: false, bytesPerSecond: 1e12 }, report);
  report.end();
  assert.deepEqual(
    lines.map(({ problem, file, ok }) => problem ?? ok ?? file),
    ['missing volumes', false],
  );
  assert.equal(await metadata.timestamps.get('fsck'), 0, 'not all is well');
});

test('a fsck that takes days records orphans and its success at their time, not at its start', async (t) => {
  const { service, metadata } = await begun(t);
  await service.upload(volumes(1));
  const orphan = 'ab'.repeat(16);
  const folder = join(service.folder, 'volumes', 'ab', orphan);
  await mkdir(folder);
  await utimes(folder, 1, 1);
  const { volumes: store, config } = service.services;
  const sql = new SqliteStore(paths.database(config));
  t.after(() => sql.close());
  const now = Date.now.bind(Date);
  let later = 0;
  t.mock.method(Date, 'now', () => now() + later);
  const open: typeof store.open = async (...args) => {
    later = 2 * DAY;
    return store.open(...args);
  };
  const watched = new Proxy(store, {
    get: (_, name) => (name === 'open' ? open : Reflect.get(store, name)),
  });
  const pair = { config, sql, metadata: new Metadata(sql), volumes: watched, close: async () => undefined };
  const begunAt = now();
  const report = new Report(true, () => undefined);
  await fsck(pair, { repair: false, bytesPerSecond: 1e12 }, report);
  assert.equal(report.counts['volume groups without a record'], 1);
  const [recorded] = await metadata.orphans.list('', 10);
  assert.equal(recorded!.file_id, orphan);
  assert.ok(recorded!.first_seen >= begunAt + 2 * DAY, 'the server deletes it a day after it was first seen');
  assert.ok((await metadata.timestamps.get('fsck')) >= begunAt + 2 * DAY);
});

test('a fsck ends, although a file arrives for each one that it checks', async (t) => {
  const { service } = await begun(t);
  await service.upload(volumes(1));
  const { volumes: store, config } = service.services;
  const sql = new SqliteStore(paths.database(config));
  t.after(() => sql.close());
  let arrived = 0;
  const open: typeof store.open = async (...args) => {
    if (arrived++ < 5) await service.upload(volumes(1));
    return store.open(...args);
  };
  const watched = new Proxy(store, {
    get: (_, name) => (name === 'open' ? open : Reflect.get(store, name)),
  });
  const pair = { config, sql, metadata: new Metadata(sql), volumes: watched, close: async () => undefined };
  const report = new Report(true, () => undefined);
  await fsck(pair, { repair: false, bytesPerSecond: 1e12 }, report);
  assert.equal(report.counts['files'], 1);
});
