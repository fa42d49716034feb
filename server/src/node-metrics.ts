import { statfs } from 'node:fs/promises';
import type { Config } from './config.ts';
import type { Metadata } from './metadata.ts';
import { type Samples, series } from './platform/metrics/registry.ts';
import { scrubState } from './upkeep/scrub.ts';
import { VERSION } from './version.ts';

/** Samples of the node itself, available even while the database is unreachable. */
export async function nodeSamples(
  config: Pick<Config, 'dataFolder' | 'minFreeBytes' | 'scrubMs'>,
): Promise<Samples> {
  const { bavail, bsize, blocks } = await statfs(config.dataFolder);
  return {
    [series('szafa_build_info', { version: VERSION, node: process.version })]: 1,
    szafa_disk_bytes: blocks * bsize,
    szafa_disk_free_bytes: bavail * bsize,
    szafa_disk_reserve_bytes: config.minFreeBytes,
    szafa_scrub_interval_seconds: config.scrubMs / 1000,
  };
}

/** Samples from the database, identical on every node. Reads only a few rows, however large the tables are. */
export async function storeSamples(metadata: Metadata, now = Date.now()): Promise<Samples> {
  const { accounts, files, bytes, trashBytes } = await metadata.totals.get();
  const scrub = await scrubState(metadata);
  const samples: Samples = {
    szafa_pulls_running: await metadata.pulls.running(now),
    szafa_shares: await metadata.shares.count(),
    szafa_requests: await metadata.requests.count(),
    szafa_garbage_groups: await metadata.garbage.count(),
    szafa_orphans: await metadata.orphans.count(),
    szafa_store_contested: (await metadata.store.get()).contestedAt === null ? 0 : 1,
    szafa_fsck_success_timestamp_seconds: (await metadata.timestamps.get('fsck')) / 1000,
    szafa_accounts: accounts,
    szafa_files: files,
    szafa_stored_bytes: Number(bytes),
    szafa_trash_bytes: Number(trashBytes),
    szafa_scrub_begun_timestamp_seconds: scrub.startedAt / 1000,
    szafa_scrub_ended_timestamp_seconds: scrub.endedAt / 1000,
    szafa_scrub_progress_ratio: scrub.progress,
    szafa_scrub_faults: scrub.faults,
  };
  for (const state of ['uploading', 'storing', 'failed'] as const)
    samples[series('szafa_transfers', { state })] = await metadata.transfers.openCount(state);
  return samples;
}
