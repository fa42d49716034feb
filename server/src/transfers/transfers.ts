/**
 * Transfers, from init to their end. Volumes that arrive in between are handled in incoming-volumes.ts, and completion in
 * completion.ts.
 */
import {
  checkInit,
  checkStreamedInit,
  type InitBody,
  isStreamedInit,
  type NewTransfer,
  type Received,
  type Sent,
  type SentInit,
  type StreamedInitBody,
  type Volume,
} from '@szafa/protocol';
import { type AccountRef, lastUse } from '../accounts/sessions.ts';
import type { Metadata } from '../metadata.ts';
import type { Uses } from '../parts.ts';
import { isOsError } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { newFileId, newTransferId } from '../platform/ids.ts';
import { Service } from '../platform/service.ts';
import type { Sql } from '../platform/sql/sql.ts';
import { newName as nameOf } from '../platform/volumes/names.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { Creation, UploadLimits } from './create-transfer.ts';
import { refuseCreation, unknownTransfer } from './refusals.ts';
import { isStreaming } from './streamed-table.ts';
import type { NewTransferIds, TransferRow } from './transfer-rows.ts';
import type { TransferState } from './transfers-table.ts';

/** Excludes `storing`: such a transfer is about to become a file. */
const CANCELLABLE = ['uploading', 'failed'] as const;

/** The account that begins an upload, and its session. */
export type Creator = AccountRef & { sessionId?: string | null };

export const creatorIds = ({ username, accountId, sessionId = null }: Creator) => ({
  creator: username,
  accountId,
  creatorSession: sessionId,
});

export class Transfers extends Service<Uses<'metadata' | 'volumes' | 'space' | 'config'>> {
  async init(sent: Sent<InitBody | StreamedInitBody>, creator: Creator): Promise<string> {
    const { metadata, config } = this.deps;
    const init = isStreamedInit(sent.body)
      ? checkStreamedInit(sent.body, config.maxVolumeBytes)
      : checkInit(sent as SentInit, config.maxVolumeBytes);
    return this.begin(init, creator, (ids, limits) => metadata.transfers.create(init, ids, limits));
  }

  /** Creates the group and the record of a transfer, and returns its id. `create` inserts the record. */
  async begin(
    init: NewTransfer,
    creator: Creator,
    create: (ids: Required<NewTransferIds>, limits: UploadLimits) => Promise<Creation>,
  ): Promise<string> {
    const { metadata, volumes, space, config } = this.deps;
    space.requireForVolumes(init.storedSize);
    const ids = {
      ...{ transferId: newTransferId(), fileId: newFileId() },
      ...creatorIds(creator),
      now: this.now(),
    };
    const quota = config.quotaEnforced ? config.quotaBytes : undefined;
    const open = { transfers: config.openTransfers, volumes: config.openVolumes };
    // In parallel: the client does not learn the id before both exist, and the sweeper removes what a crash leaves behind.
    const [group, record] = await Promise.allSettled([
      volumes.create(ids.fileId),
      create(ids, { quota, open }),
    ]);
    const created = record.status === 'fulfilled' && record.value === 'created';
    if (created && group.status === 'fulfilled') return ids.transferId;
    // If this fails too, the sweeper finds an unknown group or an unused transfer.
    await volumes.remove(ids.fileId).catch(() => undefined);
    if (created) await metadata.transfers.remove(ids.transferId, ['uploading'], ids.now).catch(() => false);
    if (group.status === 'rejected') throw group.reason;
    if (record.status === 'rejected') throw record.reason;
    return refuseCreation(record.value);
  }

  async find(transferId: string): Promise<TransferRow> {
    return this.use(transferId, await this.deps.metadata.transfers.get(transferId));
  }

  /**
   * Throws 404 if the transfer was not found; otherwise records its use. Every request does so, which keeps the transfer from
   * expiring.
   */
  async use<T extends TransferState>(transferId: string, transfer: T | undefined): Promise<T> {
    if (!transfer) throw unknownTransfer();
    // A done transfer does not expire before its file is deleted.
    if (transfer.status === 'done') return transfer;
    const isFresh = lastUse(transfer.touched_at, this.now(), this.deps.config.transferTtlMs) === 'fresh';
    if (!isFresh) await this.touch(transferId);
    return transfer;
  }

  /**
   * Records the use of a transfer. Ignores disk errors: a full disk must not refuse requests that need no space, and the only
   * cost is that the upload expires earlier.
   */
  async touch(transferId: string): Promise<void> {
    await this.deps.metadata.transfers.touch(transferId, this.now()).catch(ignoreOsError);
  }

  async received(transfer: TransferState): Promise<Received> {
    if (transfer.streamed !== 'no') {
      const volumes = await this.#streamedVolumes(transfer);
      return { received: volumes.map(({ idx }) => idx), volumes };
    }
    const { status, chunk_count, file_id } = transfer;
    if (status === 'done') return { received: Array.from({ length: chunk_count }, (_, at) => at + 1) };
    return { received: await this.deps.volumes.received(file_id) };
  }

  async #streamedVolumes(transfer: TransferState): Promise<Volume[]> {
    const volumes = await this.deps.metadata.streamed.volumes(transfer);
    if (isStreaming(transfer) || transfer.status === 'done') return volumes;
    // The complete has failed or is running, and fsck may have withdrawn volumes since.
    const names = new Set((await this.deps.volumes.list(transfer.file_id)).map(nameOf));
    return volumes.filter((volume) => names.has(nameOf(volume)));
  }

  /** Beyond the specification: cancels an upload for its creator. */
  async cancel(transferId: string, caller: string): Promise<void> {
    const transfer = await this.find(transferId);
    if (transfer.creator !== caller) throw new ApiError(403, 'only the creator of a transfer may cancel it');
    await cancelTransfer(this.deps.metadata, this.deps.volumes, transfer, this.now());
  }
}

/** Cancels a transfer; `also` runs in the same transaction. */
export async function cancelTransfer(
  { transfers }: Metadata,
  volumes: Pick<VolumeStore, 'hasManifest'>,
  { transfer_id, file_id, status }: TransferRow,
  now: number,
  also?: (tx: Sql) => Promise<void>,
): Promise<void> {
  // If a manifest exists, the database was restored from a backup and the group is a file that a rescue can bring back.
  const keepVolumes = status === 'uploading' && (await volumes.hasManifest(file_id));
  const options = { keepVolumes, ...(also && { also }) };
  if (!(await transfers.remove(transfer_id, [...CANCELLABLE], now, options)))
    throw new ApiError(409, 'the transfer is complete; delete the file instead');
}

export function ignoreOsError(error: unknown): void {
  if (!isOsError(error)) throw error;
}
