import { limits } from '@szafa/protocol';
import { AccountDeletion } from '../accounts/deletion.ts';
import { expiredBefore } from '../accounts/sessions.ts';
import type { Mode } from '../operator/mode.ts';
import { TotalsCount } from '../operator/totals.ts';
import type { Uses } from '../parts.ts';
import { StoreError } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { Service } from '../platform/service.ts';
import type { Completion } from '../transfers/completion.ts';
import type { TransferRow } from '../transfers/transfer-rows.ts';
import type { Custody } from './custody.ts';
import { DocumentQueue } from './documents.ts';
import { OrphanSearch } from './orphans.ts';

const LEASE_MS = 60_000;
const BATCH = 100;
const TRASH_BATCH = 500;
const TRASH_BATCHES = 20;
/** Uploads of requests that ended longer ago expire like any other upload. */
const LEFT_OVER_MS = 86_400_000;

type Abandoned = Pick<TransferRow, 'transfer_id' | 'file_id'>;

type Dependencies = Uses<'metadata' | 'volumes' | 'config' | 'log' | 'metrics'> & {
  completion: Completion;
  custody: Custody;
  mode: Pick<Mode, 'isReadOnly'>;
  /** Whether other nodes use the same stores. */
  shared: boolean;
};

/** Finishes interrupted work, deletes expired rows and frees space. One process at a time runs it. */
export class Sweeper extends Service<Dependencies> {
  readonly #documents = new DocumentQueue(this.deps);
  readonly #orphans = new OrphanSearch(this.deps);
  readonly #accountDeletion = new AccountDeletion(this.deps.metadata, this.deps.volumes, this.now);
  readonly #totals = new TotalsCount(this.deps.metadata);
  #readOnly = false;

  /** Ends all leases at the start of a server that does not share its stores. */
  async recover(): Promise<void> {
    await this.deps.metadata.garbage.release();
    await this.deps.metadata.pulls.endLeases();
    await this.deps.metadata.streamed.releaseAllClaims();
    await this.finishStoring();
  }

  async finishStoring(): Promise<void> {
    for (const transfer of await this.deps.metadata.transfers.storing()) {
      await this.deps.completion.store(transfer).catch((error: unknown) => {
        // The transfer has failed or was cancelled; the client's next complete continues it.
        if (!(error instanceof ApiError || error instanceof StoreError)) throw error;
      });
    }
  }

  async sweep(): Promise<void> {
    const { custody, metadata, volumes, config, mode } = this.deps;
    const now = this.now();
    await metadata.receivedVolumes.expire();
    await metadata.pulls.expire(now);
    await metadata.accounts.expire(now - config.loginWaitMs * 10);
    await metadata.sessions.expire(expiredBefore(now, config.sessionTtlMs), now);
    await metadata.recoveries.expire(now);
    await metadata.passkeys.expire(now);
    await metadata.audit.expire(now - config.auditMs);
    await metadata.invitations.expire(now);
    await metadata.shares.expire(now, now - limits.endedShareSeconds * 1000);
    await metadata.requests.expire(now, now - limits.endedShareSeconds * 1000);
    await this.#totals.step();
    // In read-only mode the store must not change: not even garbage is removed.
    const wasReadOnly = this.#readOnly;
    this.#readOnly = await mode.isReadOnly();
    if (this.#readOnly) return;
    const ours = await custody.keep();
    // A node may have died while storing. If it has not, finishing twice is harmless.
    if (this.deps.shared || wasReadOnly) await this.finishStoring();
    // Documents of a contested store must not change either: they may be newer than this database.
    if (!ours) return;
    // Continues account deletions that a process left unfinished.
    const faults = await this.#accountDeletion.resumeAll();
    const removes = await custody.mayRemove();
    if (removes) {
      await this.#removeAbandoned(now);
      await this.#keepFiledClones(now);
      await this.#emptyTrash(now);
      faults.push(...(await this.#removeGarbage(now)));
      await volumes.reclaim((ids) => metadata.orphans.files(ids));
    }
    faults.push(...(await this.#documents.work()));
    if (removes) await this.#orphans.work(now);
    if (faults.length > 0)
      throw new AggregateError(
        faults,
        `sweep: ${faults.length} groups, documents or accounts failed; the next sweep tries them again`,
      );
  }

  /**
   * Removes abandoned uploads. If the group has a manifest, the upload became a file in another database, so its volumes stay
   * as an orphan.
   */
  async #removeAbandoned(now: number): Promise<void> {
    const { metadata, volumes, config } = this.deps;
    const { transfers } = metadata;
    const before = expiredBefore(now, config.transferTtlMs);
    const removeAll = async (more: () => Promise<Abandoned[]>, untouchedSince: number) => {
      for (let found = await more(); found.length > 0; ) {
        let gone = 0;
        for (const { transfer_id, file_id } of found) {
          const keepVolumes = await volumes.hasManifest(file_id);
          const only = { keepVolumes, untouchedSince };
          if (await transfers.remove(transfer_id, ['uploading', 'failed'], now, only)) gone++;
        }
        found = gone === 0 ? [] : await more();
      }
    };
    await removeAll(() => transfers.untouchedSince(before, BATCH), before);
    const empty = now - limits.emptyUploadSeconds * 1000;
    await removeAll(() => metadata.requests.emptyUploads(empty, BATCH), empty);
    await removeAll(
      () => metadata.requests.abandonedUploads(now - LEFT_OVER_MS, BATCH),
      Number.POSITIVE_INFINITY,
    );
  }

  /** Deletes expired files from the trash. Limits the work per sweep; the next sweeps delete the rest. */
  async #emptyTrash(now: number): Promise<void> {
    const { metadata, config } = this.deps;
    for (let batches = 0; batches < TRASH_BATCHES; batches++) {
      if ((await metadata.trash.expire(now - config.trashMs, now, TRASH_BATCH)) === 0) return;
    }
  }

  /**
   * Keeps expired clones with a manifest: such a clone may be a file whose record was lost in a failover. It stays as an
   * orphan.
   */
  async #keepFiledClones(now: number): Promise<void> {
    const { metadata, volumes } = this.deps;
    for (const id of await metadata.garbage.dueClones(now)) {
      if (await volumes.hasManifest(id)) await metadata.garbage.unclaim(id);
    }
  }

  /**
   * Removes garbage; a group that cannot be removed does not stop the others. Checks custody after each batch, because this
   * may take long.
   */
  async #removeGarbage(now: number): Promise<unknown[]> {
    const { custody, metadata, volumes } = this.deps;
    const faults: unknown[] = [];
    const take = () => metadata.garbage.take(now, now + LEASE_MS, BATCH);
    for (let ids = await take(); ids.length > 0; ids = (await custody.keep()) ? await take() : []) {
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
}
