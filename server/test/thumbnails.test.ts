import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { contentDigest } from '@szafa/protocol';
import { Metadata } from '../src/metadata.ts';
import { Report } from '../src/operator/commands/report.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { paths } from '../src/stores.ts';
import { fsck } from '../src/upkeep/commands/fsck.ts';
import { Scrub } from '../src/upkeep/scrub.ts';
import { Sweeper } from '../src/upkeep/sweeper.ts';
import { InProcess } from './in-process.ts';

const digestOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

test('a thumbnail that is lost is found and forgotten, one without a record goes, and the manifest follows', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes, thumbnails, config } = service.services;
  const fileId = await service.upload([randomBytes(50)]);
  const bytes = randomBytes(200);
  const admin = { username: 'admin', uploadRate: null } as Parameters<typeof thumbnails.write>[1];
  const put = (some: Buffer) => thumbnails.write(fileId, admin, some, contentDigest(digestOf(some)));
  const sweep = () => new Sweeper({ ...service.services, shared: false }).sweep();
  const sql = new SqliteStore(paths.database(config));
  t.after(() => sql.close());
  const pair = { config, sql, metadata: new Metadata(sql), volumes, close: async () => undefined };
  const check = async (repair: boolean) => {
    const report = new Report(true, () => undefined);
    await fsck(pair, { repair, bytesPerSecond: 1e9 }, report);
    return report.problems;
  };
  await put(bytes);
  await sweep();
  assert.deepEqual((await volumes.manifest(fileId))?.thumbnail, { size: 200, sha256: digestOf(bytes) });
  assert.equal(await check(false), 0);
  // One that cannot be read does not keep the others away.
  const broken = await service.upload([randomBytes(50)]);
  await thumbnails.write(
    broken,
    admin,
    Buffer.from('picture'),
    contentDigest(digestOf(Buffer.from('picture'))),
  );
  const at = join(
    service.folder,
    'volumes',
    broken.slice(0, 2),
    broken,
    `0-${digestOf(Buffer.from('picture'))}`,
  );
  await rm(at);
  await mkdir(at);
  const caller = { username: 'admin', downloadRate: null } as Parameters<typeof thumbnails.readMany>[1];
  const read = new Map(
    (await thumbnails.readMany([broken, fileId], caller)).map((one) => [one.file_id, one.thumbnail]),
  );
  assert.deepEqual([read.get(fileId), read.get(broken)], [bytes.toString('base64'), null]);
  await assert.rejects(thumbnails.readMany([broken], caller));
  await rm(at, { recursive: true });
  await writeFile(at, 'picture');
  // As a crash leaves one, between its bytes and the record.
  const stray = { idx: 0, size: 3, sha256: digestOf(Buffer.from('abc')) };
  await volumes.put(fileId, stray, {
    pour: async (sink) => {
      sink.target().set(Buffer.from('abc'));
      await sink.advance(3);
    },
  });
  assert.equal(await check(false), 1);
  assert.equal(await check(true), 0);
  const folder = join(service.folder, 'volumes', fileId.slice(0, 2), fileId);
  const kept = `0-${digestOf(bytes)}`;
  const here = async () => (await readdir(folder)).filter((name) => name.startsWith('0-'));
  assert.deepEqual(await here(), [kept]);
  await rm(join(folder, kept));
  const scrub = new Scrub({ ...service.services, config: { ...config, scrubBytesPerSecond: 1e12 } });
  await scrub.work(AbortSignal.timeout(30_000), () => true);
  assert.deepEqual(
    (await metadata.checks.faults(1000)).map(({ file_id, idx, fault }) => [file_id, idx, fault]),
    [[fileId, 0, 'missing']],
  );
  assert.equal(await check(false), 1);
  assert.equal(await check(true), 0);
  assert.equal((await metadata.files.get(fileId))?.thumbnail, null);
  await put(Buffer.from('another'));
  await sweep();
  assert.equal((await volumes.manifest(fileId))?.thumbnail?.size, 7);
});
