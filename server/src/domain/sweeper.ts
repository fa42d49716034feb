import type { Config } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { Metadata } from '../metadata/metadata.ts';
import type { VolumeStore } from '../volumes/store.ts';
import { DocumentQueue } from './documents.ts';
import { expiredBefore } from './last-use.ts';
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
  config: Pick<Config, 'transferTtlMs' | 'sessionTtlMs' | 'loginWaitMs'>;
  /** Other nodes work on the same stores. */
  shared: boolean;
  /** The volume store goes by the clock of this machine. */
  localClock: boolean;
  now?: () => number;
}

/** Finishes what was left unfinished and frees what nobody needs. One process at a time runs it. */
export class Sweeper {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  readonly #documents: DocumentQueue;
  #orphansSeenAt = 0;
  #startedAt = 0;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#documents = new DocumentQueue(deps);
  }

  /** At a start that is not shared no other process works on anything: every lease is void. */
  async recover(): Promise<void> {
    if (this.#deps.localClock) this.#startedAt = this.#now();
    await this.#deps.metadata.garbage.release();
    await this.#deps.metadata.pulls.abandon();
    await this.finishStoring();
  }

  async finishStoring(): Promise<void> {
    for (const transfer of await this.#deps.metadata.transfers.storing()) {
      await this.#deps.transfers.store(transfer).catch((error: unknown) => {
        // It is `failed` now, or was cancelled: the client's next complete goes on. Others must not wait for it.
        if (!(error instanceof ServiceError)) throw error;
      });
    }
  }

  async sweep(): Promise<void> {
    const now = this.#now();
    // A node may have died in the middle; one that has not and this one do no harm to each other.
    if (this.#deps.shared) await this.finishStoring();
    await this.#removeAbandoned(now);
    const faults = await this.#removeGarbage(now);
    faults.push(...(await this.#documents.work()));
    await this.#deps.metadata.arrivals.expire();
    await this.#deps.metadata.pulls.expire(now);
    await this.#deps.metadata.accounts.expire(
      expiredBefore(now, this.#deps.config.sessionTtlMs),
      now - this.#deps.config.loginWaitMs * 10,
    );
    if (now - this.#orphansSeenAt > ORPHAN_SCAN_MS) {
      // What is older than the start belongs to nobody that still lives.
      await this.#removeOrphans(Math.max(this.#startedAt, now - ORPHAN_MS));
      this.#orphansSeenAt = now;
    }
    await this.#deps.volumes.reclaim();
    if (faults.length > 0)
      throw new AggregateError(faults, `${faults.length} groups could not be removed, or documents written`);
  }

  async #removeAbandoned(now: number): Promise<void> {
    const { transfers } = this.#deps.metadata;
    const before = expiredBefore(now, this.#deps.config.transferTtlMs);
    for (let ids = [''], gone = 1; ids.length > 0 && gone > 0; ) {
      ids = await transfers.untouchedSince(before, BATCH);
      gone = 0;
      for (const id of ids) if (await transfers.remove(id, ['uploading', 'failed'], now)) gone++;
    }
  }

  /** All that is due; a group that cannot be removed keeps no other one waiting. */
  async #removeGarbage(now: number): Promise<unknown[]> {
    const { metadata, volumes } = this.#deps;
    const faults: unknown[] = [];
    const take = () => metadata.garbage.take(now, now + LEASE_MS, BATCH);
    for (let ids = await take(); ids.length > 0; ids = await take()) {
      for (const id of ids) {
        try {
          await volumes.remove(id);
          await metadata.garbage.forget(id);
        } catch (error) {
          faults.push(error);
        }
      }
    }
    return faults;
  }

  async #removeOrphans(before: number): Promise<void> {
    for await (const { id, changedAt } of this.#deps.volumes.groups()) {
      if (changedAt < before && !(await this.#deps.metadata.garbage.isKnown(id)))
        await this.#deps.volumes.remove(id);
    }
  }
}
