import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { LISTED_IN_MANIFEST } from '../../server/src/volumes/store.ts';
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
export async function assertTidy(service: Service, withinMs = 10_000): Promise<void> {
  await eventually(async () => {
    for (const place of ['tmp', 'trash', 'landing']) {
      const left = await filesBelow(join(service.data, place));
      assert.deepEqual([...left.keys()], [], `left in ${place}`);
    }
    const { files, transfers, garbage } = known(service);
    assert.deepEqual(garbage, [], 'garbage that nobody took away');
    const groups = await groupsOnDisk(service);
    const strangers = groups.filter((id) => !files.has(id) && !transfers.has(id));
    assert.deepEqual(strangers, [], 'groups on disk that the database does not know');
    for (const [id, count] of files) {
      const names = await readdir(join(service.data, 'volumes', id.slice(0, 2), id));
      assert.equal(names.filter((name) => /^\d+$/.test(name)).length, count, `volumes of ${id}`);
      const documents = count > LISTED_IN_MANIFEST ? ['manifest.json', 'volumes.json'] : ['manifest.json'];
      assert.deepEqual(
        names.filter((name) => name.endsWith('.json')).sort(),
        documents,
        `documents of ${id}`,
      );
    }
  }, withinMs);
}
