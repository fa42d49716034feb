import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import { Metadata } from '../src/metadata.ts';
import { createLog } from '../src/platform/log/log.ts';
import { Metrics } from '../src/platform/metrics/registry.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { FolderStore } from '../src/platform/volumes/folder.ts';
import { migrate } from '../src/schema.ts';
import { OrphanSearch } from '../src/upkeep/orphans.ts';
import { claimOrphan } from '../src/upkeep/orphans-table.ts';
import { begin, filed, NOW, newId } from './metadata.fixture.ts';

const DAY = 86_400_000;

let root: string;
let sql: SqliteStore;
let metadata: Metadata;
let volumes: FolderStore;
let metrics: Metrics;
let search: OrphanSearch;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'szafa-orphans-'));
  await FolderStore.prepare(root);
  volumes = new FolderStore(root, 'a'.repeat(12));
  sql = new SqliteStore(join(root, 'szafa.db'));
  await migrate(sql);
  metadata = new Metadata(sql);
  metrics = new Metrics();
  search = new OrphanSearch({ metadata, volumes, metrics, log: createLog('silent') });
});
afterEach(async () => {
  await sql.close();
  await rm(root, { recursive: true, force: true });
});

/** A group on the disk, two hours old. */
async function group(id = newId(), { manifest = false, at = NOW - 7_200_000 } = {}): Promise<string> {
  const folder = join(root, 'volumes', id.slice(0, 2), id);
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '1'), 'x');
  if (manifest) await writeFile(join(folder, 'manifest.json'), '{');
  await utimes(folder, at / 1000, at / 1000);
  return id;
}

const noted = async () => (await metadata.orphans.list('', 10_000)).map(({ file_id }) => file_id);
const doomed = async () =>
  (await sql.query<{ file_id: string }>('SELECT file_id FROM garbage ORDER BY file_id')).map(
    (row) => row.file_id,
  );
const removed = () => metrics.snapshot()['szafa_orphans_removed_total'] ?? 0;

test('an orphan is noted and stays for a day; one with a manifest stays until somebody decides', async () => {
  await group(await filed(metadata, 'ann'));
  await group((await begin(metadata, 'ann')).fileId);
  const [left, file] = [await group(), await group(newId(), { manifest: true })];
  const young = await group(newId(), { at: NOW - 1000 });
  await search.work(NOW);
  assert.deepEqual(await noted(), [left, file].sort());
  await search.work(NOW + DAY - 1);
  assert.deepEqual(await doomed(), [], 'one round a day');
  await search.work(NOW + DAY);
  assert.deepEqual(await doomed(), [left]);
  assert.equal(removed(), 1);
  await volumes.remove(left);
  await metadata.garbage.forget(left);
  for (let days = 2; days < 5; days++) await search.work(NOW + days * DAY);
  assert.deepEqual(await doomed(), [young]);
  assert.deepEqual(await noted(), [file]);
  assert.equal(removed(), 2);
});

test('one that is known by the time of its removal stays', async () => {
  const [one, two] = [await group(), await group()];
  await search.work(NOW);
  const ids = { transferId: 't1', fileId: one, creator: 'ann', now: NOW };
  await sql.execute(
    `INSERT INTO transfers (transfer_id, file_id, creator, dir_id, status, file_name, file_size, stored_size, total_sha256,
       chunk_count, created_at, touched_at, enc_params, streamed)
     VALUES (?, ?, 'ann', 0, 'uploading', 'n', 1, 1, '', 1, 0, 0, '{}', 'no')`,
    ids.transferId,
    ids.fileId,
  );
  assert.equal(await metadata.orphans.makeGarbage(one, NOW), false);
  // Of two who want it one gets it.
  const [dooms, takes] = await Promise.all([
    metadata.orphans.makeGarbage(two, NOW),
    sql.transaction((tx) => claimOrphan(tx, two)),
  ]);
  assert.equal(dooms, true);
  assert.equal(takes, false);
  await search.work(NOW + DAY);
  assert.deepEqual(await doomed(), [two]);
});

for (const [count, known, goes] of [
  [19, 0, true],
  [20, 0, false],
  [20, 379, false],
  [20, 380, true],
] as const) {
  test(`${count} orphans beside ${known} files: ${goes ? 'they go' : 'none goes'}`, async () => {
    await Promise.all(Array.from({ length: known }, async () => group(await filed(metadata, 'ann'))));
    for (let made = 0; made < count; made++) await group();
    await search.work(NOW);
    await search.work(NOW + DAY);
    assert.equal((await doomed()).length, goes ? count : 0);
    assert.equal((await noted()).length, goes ? 0 : count);
  });
}

test('a round is a slice at a time and goes on in another process; it is counted as a whole', async () => {
  for (let made = 0; made < 2100; made++) await group();
  let slices = 0;
  for (; (await metadata.orphans.round()).after !== null || slices === 0; slices++) {
    assert.ok(slices < 10);
    // Another process each time, with no time at all.
    await new OrphanSearch({ metadata, volumes, metrics, log: createLog('silent') }).work(NOW, 0);
  }
  assert.equal(slices, 4, 'three pages, and the end');
  const { groups, orphans } = await metadata.orphans.round();
  assert.deepEqual({ groups, orphans }, { groups: 2100, orphans: 2100 });
  await search.work(NOW + 2 * DAY, 60_000);
  assert.deepEqual(await doomed(), []);
});

test('what was removed in another time and is a file now stays in the trash; what nobody made stays everywhere', async () => {
  const [file, gone] = [await group(await filed(metadata, 'ann')), await group()];
  for (const id of [file, gone]) await volumes.remove(id);
  const trash = join(root, 'trash');
  await mkdir(join(trash, 'holiday'));
  await volumes.reclaim((ids) => metadata.orphans.files(ids));
  const names = (await readdir(trash)).map((name) => name.split('-')[0]).sort();
  assert.deepEqual(names, [file, 'holiday'].sort());
});
