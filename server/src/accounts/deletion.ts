import type { Metadata } from '../metadata.ts';
import { requireWritable } from '../operator/mode.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { Leaving } from './deletion-table.ts';

const FILES_AT_ONCE = 500;
const SHARES_AT_ONCE = 10;
const TRANSFERS_AT_ONCE = 100;
const ACCOUNTS_AT_ONCE = 100;

/** Takes away what an account has whose deletion has begun, and then its name. May be repeated, also by several at once. */
export class Departures {
  readonly #metadata: Metadata;
  readonly #volumes: Pick<VolumeStore, 'hasManifest'>;
  readonly #now: () => number;

  constructor(metadata: Metadata, volumes: Pick<VolumeStore, 'hasManifest'>, now = Date.now) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#now = now;
  }

  /** Goes on with all that were left unfinished; one that cannot be cleared keeps no other one waiting. Why they could not. */
  async work(): Promise<unknown[]> {
    const faults: unknown[] = [];
    for (const account of await this.#metadata.departures.leaving(ACCOUNTS_AT_ONCE))
      await this.clear(account).catch((error: unknown) => faults.push(error));
    return faults;
  }

  /**
   * Resolves when nothing of the account is left, and its name is free. Bytes are freed by the sweeper. It may take minutes:
   * where an operator makes the service read-only meanwhile, the rest stays until it is so no more.
   */
  async clear(account: Leaving): Promise<void> {
    const { departures } = this.#metadata;
    // Once more where a request that began before has left something meanwhile.
    do {
      await this.#removeTransfers(account);
      await departures.release(account);
      do await requireWritable(this.#metadata);
      while ((await departures.removeShares(account, SHARES_AT_ONCE)) > 0);
      do await requireWritable(this.#metadata);
      while ((await departures.removeRequests(account, SHARES_AT_ONCE)) > 0);
      do await requireWritable(this.#metadata);
      while ((await departures.endReceived(account, this.#now(), SHARES_AT_ONCE)) > 0);
      do await requireWritable(this.#metadata);
      while ((await departures.removeFiles(account, this.#now(), FILES_AT_ONCE)) > 0);
      do await requireWritable(this.#metadata);
      while (await departures.removeDir(account));
    } while (!(await departures.finish(account)));
  }

  async #removeTransfers(account: Leaving): Promise<void> {
    const { departures } = this.#metadata;
    const page = () => departures.openTransfers(account, TRANSFERS_AT_ONCE);
    for (let found = await page(); found.length > 0; found = await page()) {
      await requireWritable(this.#metadata);
      for (const { transfer_id, file_id, status } of found) {
        // By a manifest from another database, as before a restore, it is a file there, and its volumes stay.
        const keepVolumes = status === 'uploading' && (await this.#volumes.hasManifest(file_id));
        await departures.removeTransfer(account, transfer_id, this.#now(), keepVolumes);
      }
    }
  }
}
