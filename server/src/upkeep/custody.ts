import type { Uses } from '../parts.ts';
import { isNoSpace, StoreUnavailable } from '../platform/errors.ts';
import { Service } from '../platform/service.ts';
import { isForeign, newRandomId, pairStores, StoreRefused } from './store-identity.ts';

/** Minimum time between two renewals of the mark, which new files trigger. */
const RENEW_MS = 10_000;
/**
 * For this many sweeps after a start, a minute by default, nothing is removed from a store that others can reach. In that
 * time, another server using the store sees our mark and answers with its own.
 */
const QUIET_ROUNDS = 12;
const REPEAT_LOG_MS = 3_600_000;

/**
 * Custody: whether this database is the only one that uses the volume store. Both hold a mark, which the sweeping process
 * renews, first in the database and then in the store. A mark in the store that the database does not know was written by
 * another database: the original of a restored backup, a running copy, or the old primary after a failover that lost
 * transactions. That database may refer to volumes that this one does not know. The store is then contested: the server reads
 * and writes as usual, but removes nothing until an operator decides.
 */
export class Custody extends Service<Uses<'metadata' | 'volumes' | 'config' | 'log'>> {
  readonly #quietUntil = this.deps.config.s3 ? this.now() + QUIET_ROUNDS * this.deps.config.sweepMs : 0;
  /** Whether the last check found the store in our custody. */
  #isOurs = false;
  #renewedAt: number | undefined;
  #newestFile = -1;
  #loggedAt = Number.NEGATIVE_INFINITY;

  /** Whether volumes may be removed. Reads only the database. */
  async mayRemove(): Promise<boolean> {
    if (this.now() < this.#quietUntil) return false;
    return (await this.deps.metadata.store.get()).contestedAt === null;
  }

  /** Checks custody at the start, before any removal. If the store does not answer, the first sweep repeats the check. */
  async begin(): Promise<void> {
    await this.#check().catch((error: unknown) => {
      if (!(error instanceof StoreUnavailable)) throw error;
    });
  }

  /** Called at the start of every sweep: compares the marks and renews ours. False if the store is contested. */
  async keep(): Promise<boolean> {
    const { ours, mark } = await this.#check();
    if (ours) await this.#renew(mark).catch(unlessFull);
    return ours;
  }

  async #check(): Promise<{ ours: boolean; mark: string | undefined }> {
    const { metadata, volumes } = this.deps;
    const { facts, mark } = await pairStores(metadata.store, volumes).catch(async (error: unknown) => {
      // An operator has given the store to another database.
      if (error instanceof StoreRefused && error.found !== undefined)
        await metadata.store.contest(this.now());
      throw error;
    });
    if (facts.contestedAt === null && isForeign(facts, mark)) {
      await metadata.store.contest(this.now());
      facts.contestedAt = this.now();
      // Both databases are in use at the same time: a mark that neither knows makes the other one stop removing too.
      if (this.#isOurs) await volumes.writeNote('store-mark', newRandomId());
    }
    this.#isOurs = facts.contestedAt === null;
    if (facts.contestedAt === null) return { ours: true, mark };
    this.#renewedAt = undefined;
    this.#logContest(facts.contestedAt);
    return { ours: false, mark };
  }

  /** `found` is the mark in the store. The database keeps it, in case the new one never reaches the store. */
  async #renew(found: string | undefined): Promise<void> {
    const { metadata, volumes } = this.deps;
    const newest = await metadata.files.newest();
    const now = this.now();
    const due = newest !== this.#newestFile && now - (this.#renewedAt ?? now) >= RENEW_MS;
    if (this.#renewedAt !== undefined && !due) return;
    const mark = newRandomId();
    await metadata.store.addMark(mark, found);
    await volumes.writeNote('store-mark', mark);
    this.#renewedAt = now;
    this.#newestFile = newest;
  }

  #logContest(since: number): void {
    if (this.now() - this.#loggedAt < REPEAT_LOG_MS) return;
    this.#loggedAt = this.now();
    this.deps.log.error(
      { since: new Date(since).toISOString() },
      'the volume store is contested: another database has used it. Nothing is deleted from it until ' +
        '"szafa-server rescue --missing" or "szafa-server adopt" has been run',
    );
  }
}

/** Sweeping must work on a full disk, because it frees space. */
function unlessFull(error: unknown): void {
  if (!isNoSpace(error)) throw error;
}
