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
export async function storeSamples(metadata: Metadata, now = Date.now()): Promise<Samples> {
  const samples: Samples = {};
  const transfers = await metadata.transfers.openByStatus();
  for (const state of ['uploading', 'storing', 'failed']) {
    samples[series('szafa_transfers', { state })] = transfers[state] ?? 0;
  }
  samples['szafa_pulls_running'] = await metadata.pulls.running(now);
  samples['szafa_garbage_groups'] = await metadata.garbage.count();
  samples['szafa_orphans'] = await metadata.orphans.count();
  samples['szafa_store_contested'] = (await metadata.store.get()).contestedAt === null ? 0 : 1;
  samples['szafa_fsck_success_timestamp_seconds'] = (await metadata.times.get('fsck')) / 1000;
  return samples;
}
