import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Metadata } from '../../server/src/metadata.ts';
import { createLog } from '../../server/src/platform/log/log.ts';
import { Metrics } from '../../server/src/platform/metrics/registry.ts';
import { SqliteStore } from '../../server/src/platform/sql/sqlite.ts';
import { FolderStore } from '../../server/src/platform/volumes/folder.ts';
import { newProcessName } from '../../server/src/stores.ts';
import { OrphanSearch } from '../../server/src/upkeep/orphans.ts';
import { eventually, filesBelow, type Service } from '../harness/index.ts';

interface Known {
  files: Map<string, number>;
  transfers: Set<string>;
  garbage: string[];
}

function known(service: Service): Known {
  const database = new DatabaseSync(join(service.data, 'szafa.db'), { readOnly: true, timeout: 5000 });
  const ids = (text: string) => (database.prepare(text).all() as { id: string; n: number }[]).values();
  try {
    return {
      files: new Map(ids('SELECT file_id AS id, chunk_count AS n FROM files').map(({ id, n }) => [id, n])),
      transfers: new Set(ids('SELECT file_id AS id FROM transfers').map(({ id }) => id)),
      garbage: [...ids('SELECT file_id AS id FROM garbage')].map(({ id }) => id),
    };
  } finally {
    database.close();
  }
}

/** Volume groups that lie on the disk. */
export async function groupsOnDisk(service: Service): Promise<string[]> {
  const top = join(service.data, 'volumes');
  const prefixes = (await readdir(top)).filter((name) => /^[0-9a-f]{2}$/.test(name));
  return (await Promise.all(prefixes.map((prefix) => readdir(join(top, prefix))))).flat();
}

/**
 * What must be true once the sweeper has been around: nothing in the temp area, the trash or the garbage list,
 * no group that the database does not know, and every volume of every file in its place.
 */
export async function assertTidy(
  service: Service,
  withinMs = 60_000,
  isAllowed: (group: string) => boolean = () => false,
): Promise<void> {
  await eventually(async () => {
    for (const place of ['tmp', 'trash', 'landing']) {
      const left = await filesBelow(join(service.data, place));
      assert.deepEqual([...left.keys()], [], `left in ${place}`);
    }
    const { files, transfers, garbage } = known(service);
    assert.deepEqual(garbage, [], 'garbage that nobody took away');
    const groups = await groupsOnDisk(service);
    const strangers = groups.filter((id) => !files.has(id) && !transfers.has(id) && !isAllowed(id));
    assert.deepEqual(strangers, [], 'groups on disk that the database does not know');
    for (const [id, count] of files) {
      const names = await readdir(join(service.data, 'volumes', id.slice(0, 2), id));
      assert.equal(names.filter((name) => /^\d+-[0-9a-f]{64}$/.test(name)).length, count, `volumes of ${id}`);
      const documents = names.filter((name) => name.endsWith('.json'));
      assert.deepEqual(documents, ['manifest.json'], `documents of ${id}`);
    }
  }, withinMs);
}

/**
 * The same where processes were killed, two days later: what they left without a record is gone by then, but for what
 * was cut off between its manifest and its record. That one looks like a file, and a person decides about it.
 */
export async function assertTidyAfterCrash(service: Service): Promise<void> {
  const sql = new SqliteStore(join(service.data, 'szafa.db'));
  const volumes = new FolderStore(service.data, newProcessName());
  const stores = { metadata: new Metadata(sql), volumes, metrics: new Metrics(), log: createLog('silent') };
  const search = new OrphanSearch(stores);
  for (const hours of [26, 52]) await search.work(Date.now() + hours * 3_600_000, 60_000);
  await sql.execute('UPDATE garbage SET not_before = 0 WHERE not_before > ?', Date.now() + 3_600_000);
  await sql.close();
  const hasManifest = (id: string) =>
    existsSync(join(service.data, 'volumes', id.slice(0, 2), id, 'manifest.json'));
  // The claim of a clone whose process died ends after half a minute.
  await assertTidy(service, 60_000, hasManifest);
}
