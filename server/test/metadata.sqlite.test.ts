import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { SqliteStore } from '../src/metadata/sqlite.ts';
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
