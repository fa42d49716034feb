import { limits, parseContentDigest, type StreamedFile, type Volume } from '@szafa/protocol';
import type { AccountRef } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import { overQuota } from '../files/refusals.ts';
import type { Metadata } from '../metadata.ts';
import { VolumeRejected } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import type { Body } from '../platform/volumes/body.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { groupGone, tooManyOpen, unknownTransfer } from './refusals.ts';
import type { TransferRow, TransferState } from './transfers-table.ts';

type Settings = Pick<Config, 'maxVolumeBytes' | 'quotaBytes' | 'quotaEnforced' | 'openVolumes'>;

/** What the head of a PUT says of its body. */
export interface SentVolume {
  /** Content-Length */
  length: number | undefined;
  /** Content-Digest */
  digest: string | undefined;
}

/** Volumes of streamed transfers that are open. */
export class StreamedVolumes {
  readonly #metadata: Metadata;
  readonly #volumes: VolumeStore;
  readonly #settings: Settings;

  constructor(metadata: Metadata, volumes: VolumeStore, settings: Settings) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#settings = settings;
  }

  /** What the volume has to be, by its head and by what init has said; and whether the transfer has it already. */
  async expect(
    transferId: string,
    { file_id, streamed, chunk_count }: TransferState,
    idx: number,
    { length, digest }: SentVolume,
  ): Promise<{ volume: Volume; isHere: boolean }> {
    const most = streamed === 'sized' ? chunk_count : limits.volumesPerFile;
    if (!(Number.isInteger(idx) && idx >= 1 && idx <= most)) {
      throw new VolumeRejected('number', `the volume number is outside 1 to ${most}`);
    }
    const sha256 = parseContentDigest(digest);
    if (length === undefined) throw new ApiError(411, 'a volume of a streamed transfer needs Content-Length');
    if (length > this.#settings.maxVolumeBytes) {
      throw new VolumeRejected('size', `the volume is larger than ${this.#settings.maxVolumeBytes} bytes`);
    }
    const declared = streamed === 'sized' ? await this.#metadata.files.volume(file_id, idx) : undefined;
    if (declared && declared.size !== length) {
      throw new VolumeRejected('size', `volume has ${length} bytes instead of ${declared.size}`);
    }
    const there = await this.#metadata.streamed.find(file_id, idx);
    if (there && there.sha256 !== sha256) throw otherDigest(idx);
    // Asked before the body, and not again: those that come at the same moment may be a few more.
    const isOneMore = !there && streamed === 'unsized';
    if (isOneMore && (await this.#metadata.streamed.isFull(transferId, this.#settings.openVolumes))) {
      throw tooManyOpen();
    }
    return { volume: { idx, size: length, sha256 }, isHere: there !== undefined };
  }

  /** Claims the quota that a volume needs where init could not; says whether it did. */
  async claim(transferId: string, { streamed }: TransferState, volume: Volume): Promise<boolean> {
    if (!this.#settings.quotaEnforced || streamed !== 'unsized') return false;
    const result = await this.#metadata.streamed.claim(transferId, volume, this.#settings.quotaBytes);
    if (result === 'over quota') throw overQuota();
    return result === 'claimed';
  }

  /** Takes a volume; once it resolves, the verified bytes are durable, and so is the row that says so. */
  async take(
    transferId: string,
    { file_id: fileId, streamed }: TransferState,
    volume: Volume,
    body: Body,
    claimed: boolean,
  ): Promise<void> {
    const unclaim = async () => {
      // Where this fails, the bytes count until a volume of that number arrives, or the transfer ends.
      if (claimed) await this.#metadata.streamed.unclaim(transferId, volume.idx).catch(() => undefined);
    };
    try {
      await this.#volumes.put(fileId, volume, body).catch(groupGone);
    } catch (error) {
      await unclaim();
      throw error;
    }
    // Where this fails the row may be there all the same, so the volume stays.
    const arrival = await this.#metadata.streamed.arrive({ transferId, fileId, streamed }, volume, claimed);
    if (arrival === 'arrived') return;
    await unclaim();
    const now = await this.#metadata.transfers.state(transferId);
    if (now && (await this.#isKnown(fileId, volume))) return;
    await this.#discard(fileId, volume, now);
    if (!now) throw unknownTransfer();
    if (now.status === 'uploading') throw otherDigest(volume.idx);
    throw new VolumeRejected('state', 'the transfer is complete');
  }

  /** Nobody has use for it: it is not the one that the transfer has, or the transfer takes no more. */
  async #discard(fileId: string, volume: Volume, transfer: TransferState | undefined): Promise<void> {
    try {
      // By a manifest from another database, as before a restore, the group is a file: that one may be made of it.
      const isOurs = transfer !== undefined && transfer.status !== 'uploading';
      if (!isOurs && (await this.#volumes.hasManifest(fileId))) return;
      await this.#volumes.withdraw(fileId, volume, () => this.#isKnown(fileId, volume));
    } catch {
      // fsck finds it.
    }
  }

  /** Makes the transfer one in `storing`, as any other. */
  async beginStoring(transfer: TransferRow, owner: AccountRef, file: StreamedFile): Promise<TransferRow> {
    const quota = this.#settings.quotaEnforced ? this.#settings.quotaBytes : undefined;
    const { username, accountId } = owner;
    const { streamed } = this.#metadata;
    const result = await streamed.beginStoring(transfer.transfer_id, username, file, quota, accountId);
    if (result === undefined) throw unknownTransfer();
    if (result === 'over quota') throw overQuota();
    if (result === 'other') throw new ApiError(409, 'the transfer was completed with other values');
    if (result === 'gaps') throw await this.#notWhole(transfer, file);
    return result;
  }

  async #isKnown(fileId: string, { idx, sha256 }: Volume): Promise<boolean> {
    return (await this.#metadata.streamed.find(fileId, idx))?.sha256 === sha256;
  }

  /** "409 {status: incomplete, received: [integer...], error} when volumes are missing", or are too many. */
  async #notWhole({ file_id, streamed, chunk_count }: TransferRow, file: StreamedFile): Promise<ApiError> {
    const received = (await this.#metadata.streamed.list(file_id)).map(({ idx }) => idx);
    const missing = file.chunkCount - received.filter((idx) => idx <= file.chunkCount).length;
    const error =
      streamed === 'sized' && chunk_count !== file.chunkCount
        ? `chunk_count is ${file.chunkCount}, but was ${chunk_count} at init`
        : missing > 0
          ? `${missing} of ${file.chunkCount} volumes are missing`
          : `there are volumes beyond number ${file.chunkCount}`;
    return new ApiError(409, error, { extra: { status: 'incomplete', received } });
  }
}

const otherDigest = (idx: number) =>
  new VolumeRejected('digest', `volume ${idx} is there already, with another digest`);
