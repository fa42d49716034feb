import type { Metadata } from '../metadata/metadata.ts';
import type { PoolLoad } from '../metadata/sql.ts';
import { type Samples, series } from './registry.ts';

export function poolSamples(load: PoolLoad | undefined): Samples {
  if (!load) return {};
  return {
    [series('szafa_database_connections', { state: 'busy' })]: load.total - load.idle,
    [series('szafa_database_connections', { state: 'idle' })]: load.idle,
    szafa_database_waiting: load.waiting,
  };
}

/** What is the same on every node, read from the database when it is asked for. */
export async function storeSamples({ marks, store }: Metadata, now = Date.now()): Promise<Samples> {
  const samples: Samples = {};
  const transfers = await marks.openTransfers();
  for (const state of ['uploading', 'storing', 'failed']) {
    samples[series('szafa_transfers', { state })] = transfers[state] ?? 0;
  }
  samples['szafa_pulls_running'] = await marks.pullsRunning(now);
  samples['szafa_garbage_groups'] = await marks.garbageGroups();
  samples['szafa_orphans'] = await marks.orphanGroups();
  samples['szafa_store_contested'] = (await store.get()).contestedAt === null ? 0 : 1;
  samples['szafa_fsck_success_timestamp_seconds'] = (await marks.get('fsck')) / 1000;
  return samples;
}
