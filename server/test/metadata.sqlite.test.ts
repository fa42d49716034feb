import assert from 'node:assert/strict';
import { renameSync, symlinkSync } from 'node:fs';
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { Metadata } from '../src/metadata.ts';
import type { Sql, SqlStore, Value } from '../src/platform/sql/sql.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { migrate } from '../src/schema.ts';
import { metadataContract } from './metadata.contract.ts';
import { openInThread } from './sqlite-thread.ts';

metadataContract('SQLite', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-metadata-'));
  return {
    open: () => openInThread(join(folder, 'szafa.db')),
    destroy: () => rm(folder, { recursive: true, force: true }),
  };
});

test('the log is written ahead, by the reader as by the writer', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-metadata-'));
  const store = new SqliteStore(join(folder, 'szafa.db'));
  try {
    for (const run of [store.query.bind(store), store.execute.bind(store)]) {
      assert.deepEqual({ ...(await run<object>('PRAGMA journal_mode'))[0] }, { journal_mode: 'wal' });
    }
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

test('after a sync of the log that failed, no commit counts on what the log may have lost', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-metadata-'));
  const path = join(folder, 'szafa.db');
  const store = new SqliteStore(path);
  try {
    // SQLite has the log open, and goes on writing; nobody can open it to sync it.
    const commit = store.transaction(async (sql) => {
      await sql.execute('CREATE TABLE doubtful (x)');
      renameSync(`${path}-wal`, `${path}-aside`);
      symlinkSync(`${path}-wal`, `${path}-wal`);
    });
    await assert.rejects(commit, { name: 'StorageFault', code: 'ELOOP' });
    renameSync(`${path}-aside`, `${path}-wal`);
    await store.execute('INSERT INTO doubtful VALUES (1)');
    // What came before the commit that was told no longer needs the log, of which a power cut may take that part.
    await copyFile(path, join(folder, 'without-log.db'));
    const database = new DatabaseSync(join(folder, 'without-log.db'));
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    database.close();
    assert.deepEqual(
      tables.map(({ name }) => name),
      ['doubtful'],
    );
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});

/** The store, and the plan of each statement that it is given. */
function explaining(store: SqlStore, plans: string[]): SqlStore {
  const watched = <T extends Sql>(sql: T): T =>
    new Proxy(sql, {
      get(target, name) {
        if (name === 'query' || name === 'execute') {
          return async (text: string, ...params: Value[]) => {
            const steps = await target.query<{ detail: string }>(`EXPLAIN QUERY PLAN ${text}`, ...params);
            plans.push(...steps.map(({ detail }) => detail));
            return target[name](text, ...params);
          };
        }
        if (name === 'transaction')
          return (run: (tx: Sql) => unknown) => target.transaction(async (tx) => run(watched(tx)));
        return Reflect.get(target, name, target);
      },
    });
  return watched(store);
}

test('transfers that are done, as many as the files, keep nobody waiting who asks for those under way', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-metadata-'));
  const store = new SqliteStore(join(folder, 'szafa.db'));
  try {
    await migrate(store);
    const plans: string[] = [];
    const metadata = new Metadata(explaining(store, plans));
    const asked = async (ask: () => Promise<unknown>) => {
      plans.length = 0;
      await ask();
      return plans.filter((step) => /\btransfers\b/.test(step));
    };
    const dirId = (await metadata.dirs.create('ann', 'd', 1))!;
    for (const [ask, index] of [
      [() => metadata.transfers.untouchedSince(5, 100), 'transfers_touched'],
      [() => metadata.transfers.storing(), 'transfers_open'],
      [() => metadata.transfers.openCount('uploading'), 'transfers_open'],
      [() => metadata.dirs.remove('ann', dirId), 'transfers_dir'],
    ] as const) {
      const steps = await asked(ask);
      assert.ok(steps.length > 0);
      for (const step of steps) assert.match(step, new RegExp(`USING (COVERING )?INDEX ${index}\\b`));
    }
  } finally {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  }
});
