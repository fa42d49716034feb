import type { Config } from '../config.ts';
import type { Metadata } from '../metadata/metadata.ts';
import type { VolumeStore } from '../volumes/store.ts';
import { expiredBefore } from './last-use.ts';
import type { Pulls } from './pulls.ts';
import type { Transfers } from './transfers.ts';

const LEASE_MS = 60_000;
const BATCH = 100;
/** A group that no record names for so long was left by an init that never finished. */
const ORPHAN_MS = 3_600_000;
const ORPHAN_SCAN_MS = 3_600_000;

interface Dependencies {
  metadata: Metadata;
  volumes: VolumeStore;
  transfers: Transfers;
  pulls: Pulls;
  config: Pick<Config, 'transferTtlMs' | 'sessionTtlMs' | 'loginWaitMs'>;
  now?: () => number;
}

/** Finishes what was left unfinished and frees what nobody needs. One process at a time runs it. */
export class Sweeper {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  #orphansSeenAt = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
  }

  /** At a start no other process works on anything: every lease is void. */
  async recover(): Promise<void> {
    await this.#deps.metadata.garbage.release();
    await this.#deps.metadata.pulls.abandon();
    await this.finishStoring();
  }

  async finishStoring(): Promise<void> {
    for (const transfer of await this.#deps.metadata.transfers.storing())
      await this.#deps.transfers.store(transfer);
  }

  async sweep(): Promise<void> {
    const now = this.#now();
    for (const id of await this.#deps.metadata.transfers.untouchedSince(
      expiredBefore(now, this.#deps.config.transferTtlMs),
      BATCH,
    )) {
      await this.#deps.metadata.transfers.remove(id, ['uploading', 'failed', 'done'], now);
    }
    for (const id of await this.#deps.metadata.garbage.take(now, now + LEASE_MS, BATCH)) {
      await this.#deps.volumes.remove(id);
      await this.#deps.metadata.garbage.forget(id);
    }
    await this.#deps.metadata.accounts.expire(
      expiredBefore(now, this.#deps.config.sessionTtlMs),
      now - this.#deps.config.loginWaitMs * 10,
    );
    if (now - this.#orphansSeenAt > ORPHAN_SCAN_MS) {
      await this.#removeOrphans(now - ORPHAN_MS);
      this.#orphansSeenAt = now;
    }
    await this.#deps.pulls.reclaim();
    await this.#deps.volumes.reclaim();
  }

  async #removeOrphans(before: number): Promise<void> {
    for await (const { id, changedAt } of this.#deps.volumes.groups()) {
      if (changedAt < before && !(await this.#deps.metadata.garbage.isKnown(id)))
        await this.#deps.volumes.remove(id);
    }
  }
}
