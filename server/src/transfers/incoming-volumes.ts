/**
 * Handles a PUT of a volume after put.ts has authenticated it. The volume must be the one declared by init or, in a streamed
 * transfer, one that fits. Space is reserved; the store verifies the bytes and makes them durable; then the volume is
 * recorded.
 */
import { limits, parseContentDigest, type Volume } from '@szafa/protocol';
import { overQuota } from '../files/refusals.ts';
import type { Uses } from '../parts.ts';
import { VolumeRejected } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { Service } from '../platform/service.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { ReceivedVolumes } from './received-volumes.ts';
import { tooManyOpen, transferGone, unknownTransfer, volumeNotStored } from './refusals.ts';
import { isStreaming } from './streamed-table.ts';
import type { Transfers } from './transfers.ts';
import type { TransferState } from './transfers-table.ts';

/** Longest time between two touches of a running upload; must be less than `limits.emptyUploadSeconds`. */
const TOUCH_MS = 120_000;

type Dependencies = Uses<'metadata' | 'volumes' | 'space' | 'config'> & {
  transfers: Transfers;
  receivedVolumes: ReceivedVolumes;
};

/** A volume as described by the head of its PUT. */
export interface VolumeUpload {
  idx: number;
  /** Content-Length */
  length: number | undefined;
  /** Content-Digest */
  digest: string | undefined;
  body: Body;
  /** Asks the client for the body. */
  begin: () => void;
}

interface ExpectedVolume {
  volume: Volume;
  /** Whether a streamed transfer has received this volume before. */
  isKnown: boolean;
}

export class IncomingVolumes extends Service<Dependencies> {
  /** Receives a volume. When this resolves, the verified bytes are durable. */
  async receive(transferId: string, found: TransferState | undefined, upload: VolumeUpload): Promise<void> {
    const { metadata, transfers, receivedVolumes, config } = this.deps;
    const transfer = await transfers.use(transferId, found);
    if (transfer.status === 'storing' || transfer.status === 'done') throw transferComplete();
    const streaming = isStreaming(transfer);
    const expected = streaming
      ? await this.#expectStreamed(transferId, transfer, upload)
      : await this.#expectDeclared(transfer, upload);
    // Uploads for file requests expire early while they have no volume and are not touched.
    if (transfer.streamed === 'sized' && this.now() - transfer.touched_at > TOUCH_MS)
      await transfers.touch(transferId);
    const space = await this.deps.space.forBody(expected.volume.size, upload.body);
    // Keeps the transfer from expiring while the volume arrives, however long it takes.
    const keepAlive = setInterval(
      () => {
        // The next touch makes up for one that failed.
        metadata.transfers.touch(transferId, this.now()).catch(() => undefined);
      },
      Math.min(config.transferTtlMs / 4, TOUCH_MS),
    );
    try {
      if (streaming) await this.#storeStreamed(transferId, transfer, expected, space.body, upload.begin);
      else {
        upload.begin();
        await receivedVolumes.put(transfer.file_id, expected.volume, space.body);
      }
    } catch (error) {
      volumeNotStored(error);
    } finally {
      clearInterval(keepAlive);
      space.end();
    }
  }

  async #expectDeclared(
    { file_id, chunk_count }: TransferState,
    { idx, length }: VolumeUpload,
  ): Promise<ExpectedVolume> {
    const inRange = Number.isInteger(idx) && idx >= 1 && idx <= chunk_count;
    const volume = inRange ? await this.deps.metadata.files.volume(file_id, idx) : undefined;
    if (!volume) throw numberOutside(chunk_count);
    requireSize(volume, length);
    return { volume, isKnown: false };
  }

  async #expectStreamed(
    transferId: string,
    { file_id, streamed, chunk_count }: TransferState,
    { idx, length, digest }: VolumeUpload,
  ): Promise<ExpectedVolume> {
    const { metadata, config } = this.deps;
    const last = streamed === 'sized' ? chunk_count : limits.volumesPerFile;
    if (!(Number.isInteger(idx) && idx >= 1 && idx <= last)) throw numberOutside(last);
    const sha256 = parseContentDigest(digest);
    if (length === undefined) throw new ApiError(411, 'a volume of a streamed transfer needs Content-Length');
    if (length > config.maxVolumeBytes)
      throw new VolumeRejected('size', `the volume is larger than ${config.maxVolumeBytes} bytes`);
    const declared = streamed === 'sized' ? await metadata.files.volume(file_id, idx) : undefined;
    if (declared) requireSize(declared, length);
    const known = await metadata.streamed.find(file_id, idx);
    if (known && known.sha256 !== sha256) throw otherDigest(idx);
    // Not checked again after the body, so concurrent volumes may exceed the limit by a few.
    const isNew = !known && streamed === 'unsized';
    if (isNew && (await metadata.streamed.hasMaxOpenVolumes(transferId, config.openVolumes)))
      throw tooManyOpen();
    return { volume: { idx, size: length, sha256 }, isKnown: known !== undefined };
  }

  async #storeStreamed(
    transferId: string,
    transfer: TransferState,
    { volume, isKnown }: ExpectedVolume,
    body: Body,
    begin: () => void,
  ): Promise<void> {
    const { metadata, volumes } = this.deps;
    const { file_id: fileId, streamed } = transfer;
    // A volume that was received before is already counted.
    const hasClaim = !isKnown && (await this.#claimQuota(transferId, transfer, volume));
    const releaseClaim = async () => {
      // If this fails, the claim counts until a volume of this number is received, or the transfer ends.
      if (hasClaim) await metadata.streamed.releaseClaim(transferId, volume.idx).catch(() => undefined);
    };
    begin();
    try {
      await volumes.put(fileId, volume, body).catch(transferGone);
    } catch (error) {
      await releaseClaim();
      throw error;
    }
    // If this fails, the row may exist nevertheless, so the volume stays.
    const recording = await metadata.streamed.record({ transferId, fileId, streamed }, volume, hasClaim);
    if (recording === 'recorded') return;
    await releaseClaim();
    const now = await metadata.transfers.state(transferId);
    if (now && (await this.#isKnown(fileId, volume))) return;
    await this.#discard(fileId, volume, now);
    if (!now) throw unknownTransfer();
    throw now.status === 'uploading' ? otherDigest(volume.idx) : transferComplete();
  }

  /** Claims quota for a volume whose size was not declared at init; returns whether it did. */
  async #claimQuota(transferId: string, { streamed }: TransferState, volume: Volume): Promise<boolean> {
    const { metadata, config } = this.deps;
    if (!config.quotaEnforced || streamed !== 'unsized') return false;
    const result = await metadata.streamed.claimQuota(transferId, volume, config.quotaBytes);
    if (result === 'over quota') throw overQuota();
    return result === 'claimed';
  }

  /** Removes a volume if the transfer has another one with this number, or does not accept volumes any more. */
  async #discard(fileId: string, volume: Volume, transfer: TransferState | undefined): Promise<void> {
    const { volumes } = this.deps;
    try {
      // If a manifest exists, the database was restored from a backup and the group is a file that may need this volume.
      const isOurs = transfer !== undefined && transfer.status !== 'uploading';
      if (!isOurs && (await volumes.hasManifest(fileId))) return;
      await volumes.withdraw(fileId, volume, () => this.#isKnown(fileId, volume));
    } catch {
      // If it cannot be removed, fsck finds it.
    }
  }

  async #isKnown(fileId: string, { idx, sha256 }: Volume): Promise<boolean> {
    return (await this.deps.metadata.streamed.find(fileId, idx))?.sha256 === sha256;
  }
}

export function requireSize(volume: Volume, length: number | undefined): void {
  if (length !== undefined && length !== volume.size)
    throw new VolumeRejected('size', `volume has ${length} bytes instead of ${volume.size}`);
}

const transferComplete = () => new VolumeRejected('state', 'the transfer is complete');
const numberOutside = (last: number) =>
  new VolumeRejected('number', `the volume number is outside 1 to ${last}`);
const otherDigest = (idx: number) =>
  new VolumeRejected('digest', `volume ${idx} was received before with a different digest`);
