import type { Metadata } from '../metadata.ts';
import { requireWritable } from '../operator/mode.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { PendingDeletion } from './deletion-table.ts';

const FILES_PER_STEP = 500;
const SHARES_PER_STEP = 10;
const TRANSFERS_PER_STEP = 100;
const ACCOUNTS_PER_ROUND = 100;

/** Removes everything that belongs to a deleted account, then frees its name. Can be repeated, even by several nodes at once. */
export class AccountDeletion {
  readonly #deps;

  constructor(metadata: Metadata, volumes: Pick<VolumeStore, 'hasManifest'>, now = Date.now) {
    this.#deps = { metadata, volumes, now };
  }

  /** Continues unfinished deletions and returns the errors: an account that fails does not hold up the others. */
  async resumeAll(): Promise<unknown[]> {
    const errors: unknown[] = [];
    for (const account of await this.#deps.metadata.deletions.listPending(ACCOUNTS_PER_ROUND))
      await this.finish(account).catch((error: unknown) => errors.push(error));
    return errors;
  }

  /**
   * Resolves when nothing of the account is left and its name is free; the sweeper frees the bytes. This may take minutes.
   * Throws if an operator makes the server read-only in the meantime; the rest is then removed later.
   */
  async finish(account: PendingDeletion): Promise<void> {
    const { metadata, now } = this.#deps;
    const { deletions } = metadata;
    const repeat = async (step: () => Promise<number | boolean>) => {
      do await requireWritable(metadata);
      while (await step());
    };
    // Repeats if a request that began before the deletion has added something since.
    do {
      await repeat(() => this.#removeTransfers(account));
      await deletions.release(account);
      await repeat(() => deletions.removeShares(account, SHARES_PER_STEP));
      await repeat(() => deletions.removeRequests(account, SHARES_PER_STEP));
      await repeat(() => deletions.endReceived(account, now(), SHARES_PER_STEP));
      await repeat(() => deletions.removeFiles(account, now(), FILES_PER_STEP));
      await repeat(() => deletions.removeDir(account));
    } while (!(await deletions.finish(account)));
  }

  async #removeTransfers(account: PendingDeletion): Promise<boolean> {
    const { metadata, volumes, now } = this.#deps;
    const transfers = await metadata.deletions.openTransfers(account, TRANSFERS_PER_STEP);
    for (const { transfer_id, file_id, status } of transfers) {
      // If a manifest exists, the database was restored from a backup and the volumes belong to a completed file, so they
      // must stay.
      const keepVolumes = status === 'uploading' && (await volumes.hasManifest(file_id));
      await metadata.deletions.removeTransfer(account, transfer_id, now(), keepVolumes);
    }
    return transfers.length > 0;
  }
}
