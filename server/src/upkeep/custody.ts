import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import { isNoSpace, StoreUnavailable } from '../platform/errors.ts';
import type { Log } from '../platform/log/log.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { isForeign, newMark, StoreRefused, settleStore } from './store-identity.ts';

/** New files renew the mark, but no more often than this. */
const RENEW_MS = 10_000;
/**
 * For this many rounds after a start, a minute by default, nothing is deleted from a store that others can reach: another
 * server that uses it finds our mark meanwhile and answers with its own.
 */
const QUIET_ROUNDS = 12;
const TELL_MS = 3_600_000;

interface Dependencies {
  metadata: Metadata;
  volumes: VolumeStore;
  config: Pick<Config, 's3' | 'sweepMs'>;
  log: Log;
  now?: () => number;
}

/**
 * Whether this database is still the one that has the store. Both hold a mark, which the sweeping process renews: first
 * in the database, then in the store. So a mark in the store that the database does not know comes from another one,
 * which may name volumes that this one does not, or no more: a restored backup, a copy of the database in another place,
 * a failover that lost its tail. The store is contested then: it is served and written to, and nothing is removed
 * until a person has decided.
 */
export class Custody {
  readonly #deps: Dependencies;
  readonly #now: () => number;
  readonly #quietUntil: number;
  /** At the last look; also on a node that has not swept yet. */
  #hadIt = false;
  #renewedAt: number | undefined;
  #newestFile = -1;
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(deps: Dependencies) {
    this.#deps = deps;
    this.#now = deps.now ?? Date.now;
    this.#quietUntil = deps.config.s3 ? this.#now() + QUIET_ROUNDS * deps.config.sweepMs : 0;
  }

  /** Whether volumes may be removed; asks the database only. */
  async mayRemove(): Promise<boolean> {
    if (this.#now() < this.#quietUntil) return false;
    return (await this.#deps.metadata.store.get()).contestedAt === null;
  }

  /** At a start, before anybody can ask for a removal. A store that is away now is looked at before anything is removed. */
  async begin(): Promise<void> {
    await this.#look().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
    });
  }

  /** The first thing in every round of whoever sweeps: compares, and renews the mark. False when the store is contested. */
  async keep(): Promise<boolean> {
    const { ours, mark } = await this.#look();
    if (ours) await this.#renew(mark).catch(unlessFull);
    return ours;
  }

  async #look(): Promise<{ ours: boolean; mark: string | undefined }> {
    const { metadata, volumes } = this.#deps;
    const { facts, mark } = await settleStore(metadata.store, volumes).catch(async (error: unknown) => {
      // It was given to another database while we run.
      if (error instanceof StoreRefused && error.found !== undefined)
        await metadata.store.contest(this.#now());
      throw error;
    });
    if (facts.contestedAt === null && isForeign(facts, mark)) {
      await metadata.store.contest(this.#now());
      facts.contestedAt = this.#now();
      // We had it until now, so both are in use at once: a mark that nobody knows stops the other one, too.
      if (this.#hadIt) await volumes.writeNote('store-mark', newMark());
    }
    this.#hadIt = facts.contestedAt === null;
    if (facts.contestedAt === null) return { ours: true, mark };
    this.#renewedAt = undefined;
    this.#tell(facts.contestedAt);
    return { ours: false, mark };
  }

  /** `found` is what the store shows. A mark that does not get there leaves that one, which the database keeps. */
  async #renew(found: string | undefined): Promise<void> {
    const { metadata, volumes } = this.#deps;
    const newest = await metadata.files.newest();
    const now = this.#now();
    const due = newest !== this.#newestFile && now - (this.#renewedAt ?? now) >= RENEW_MS;
    if (this.#renewedAt !== undefined && !due) return;
    const mark = newMark();
    await metadata.store.addMark(mark, found);
    await volumes.writeNote('store-mark', mark);
    this.#renewedAt = now;
    this.#newestFile = newest;
  }

  #tell(since: number): void {
    if (this.#now() - this.#toldAt < TELL_MS) return;
    this.#toldAt = this.#now();
    this.#deps.log.error(
      { since: new Date(since).toISOString() },
      'the volume store is contested: another database has used it. Nothing is deleted from it until ' +
        '"szafa-server rescue --missing" or "szafa-server adopt" has been run',
    );
  }
}

/** What frees space must work on a full disk. */
function unlessFull(error: unknown): void {
  if (!isNoSpace(error)) throw error;
}
