import {
  type CompleteBody,
  checkComplete,
  checkInit,
  checkStreamedInit,
  deliveryName,
  type InitBody,
  isStreamedInit,
  type NewTransfer,
  type Received,
  RuleError,
  type Sent,
  type SentInit,
  type StreamedFile,
  type StreamedInitBody,
  type Volume,
} from '@szafa/protocol';
import { type AccountRef, type Caller, lastUse } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import { readManifest } from '../files/manifest.ts';
import type { Metadata } from '../metadata.ts';
import type { DiskSpace } from '../platform/disk-space.ts';
import { isOsError, VolumeRejected } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { newFileId, newTransferId } from '../platform/ids.ts';
import type { Sql } from '../platform/sql/sql.ts';
import type { Body } from '../platform/volumes/body.ts';
import { newName as nameOf } from '../platform/volumes/names.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import { Arrivals } from './arrivals.ts';
import { notFiled, notTaken, refuse, unknownTransfer } from './refusals.ts';
import { type Maker, makerOf, requireSize, WholeFiles } from './single-volume-files.ts';
import { type SentVolume, StreamedVolumes } from './streamed.ts';
import { isStreaming } from './streamed-table.ts';
import {
  type Bounds,
  type Creation,
  fileOf,
  type NewIds,
  type TransferRow,
  type TransferState,
} from './transfers-table.ts';

type Settings = Pick<
  Config,
  'maxVolumeBytes' | 'quotaBytes' | 'quotaEnforced' | 'openTransfers' | 'openVolumes' | 'transferTtlMs'
>;

/** Who completes one, and by what. */
type Completer = AccountRef & Partial<Pick<Caller, 'scope' | 'sessionId'>>;

/** One that is being stored is a file in a moment. */
const CANCELLED = ['uploading', 'failed'] as const;
/** Longest time between two signs of life of a running upload; less than `limits.emptyUploadSeconds`. */
const TOUCH_MS = 120_000;

/** From init to a file, or to an end. One file: what may still happen to a transfer depends on all that may have happened to it. */
export class Transfers {
  readonly arrivals: Arrivals;
  readonly whole: WholeFiles;
  readonly #streamed: StreamedVolumes;
  readonly #metadata: Metadata;
  readonly #volumes: VolumeStore;
  readonly #space: DiskSpace;
  readonly #settings: Settings;
  readonly #now: () => number;

  constructor(
    metadata: Metadata,
    volumes: VolumeStore,
    space: DiskSpace,
    settings: Settings,
    now = Date.now,
  ) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#space = space;
    this.arrivals = new Arrivals(metadata, volumes);
    this.#streamed = new StreamedVolumes(metadata, volumes, settings);
    this.whole = new WholeFiles(metadata, volumes, space, settings, now);
    this.#settings = settings;
    this.#now = now;
  }

  async init(sent: Sent<InitBody | StreamedInitBody>, maker: Maker): Promise<string> {
    const init = isStreamedInit(sent.body)
      ? checkStreamedInit(sent.body, this.#settings.maxVolumeBytes)
      : checkInit(sent as SentInit, this.#settings.maxVolumeBytes);
    return this.begin(init, maker, (ids, bounds) => this.#metadata.transfers.create(init, ids, bounds));
  }

  /** The group and the record of a new transfer; `create` makes the record, or throws. */
  async begin(
    init: NewTransfer,
    maker: Maker,
    create: (ids: Required<NewIds>, bounds: Bounds) => Promise<Creation>,
  ): Promise<string> {
    this.#space.requireForVolumes(init.storedSize);
    const ids = { transferId: newTransferId(), fileId: newFileId(), ...makerOf(maker), now: this.#now() };
    const open = { transfers: this.#settings.openTransfers, volumes: this.#settings.openVolumes };
    // Side by side: nobody knows the transfer before both are there, and the sweeper removes what a crash leaves.
    const [group, record] = await Promise.allSettled([
      this.#volumes.create(ids.fileId),
      create(ids, { quota: this.#quota, open }),
    ]);
    const created = record.status === 'fulfilled' && record.value === 'created';
    if (created && group.status === 'fulfilled') return ids.transferId;
    // If this fails as well, the sweeper finds a group that nobody knows, or a transfer that nobody uses.
    await this.#volumes.remove(ids.fileId).catch(() => undefined);
    if (created)
      await this.#metadata.transfers.remove(ids.transferId, ['uploading'], ids.now).catch(() => false);
    if (group.status === 'rejected') throw group.reason;
    if (record.status === 'rejected') throw record.reason;
    return refuse(record.value);
  }

  async find(transferId: string): Promise<TransferRow> {
    return this.use(transferId, await this.#metadata.transfers.get(transferId));
  }

  /** The transfer as it was found; every request to one goes through here and so keeps it from being swept. */
  async use<T extends TransferState>(transferId: string, transfer: T | undefined): Promise<T> {
    if (!transfer) throw unknownTransfer();
    // That one lives as long as its file.
    if (transfer.status === 'done') return transfer;
    const now = this.#now();
    if (lastUse(transfer.touched_at, now, this.#settings.transferTtlMs) !== 'fresh') {
      await this.#touch(transferId);
    }
    return transfer;
  }

  /** A full disk must not refuse what needs no space: an upload that is not touched only expires earlier. */
  async #touch(transferId: string): Promise<void> {
    await this.#metadata.transfers.touch(transferId, this.#now()).catch(unlessOsError);
  }

  async received(transfer: TransferState): Promise<Received> {
    if (transfer.streamed !== 'no') {
      const volumes = await this.#here(transfer);
      return { received: volumes.map(({ idx }) => idx), volumes };
    }
    const { status, chunk_count, file_id } = transfer;
    if (status === 'done') return { received: Array.from({ length: chunk_count }, (_, at) => at + 1) };
    return { received: await this.#volumes.received(file_id) };
  }

  /** The volumes that a streamed transfer has. */
  async #here(transfer: TransferState): Promise<Volume[]> {
    const volumes = await this.#metadata.streamed.volumes(transfer);
    if (isStreaming(transfer) || transfer.status === 'done') return volumes;
    // It met a fault after complete, and fsck may have withdrawn some.
    const names = new Set((await this.#volumes.list(transfer.file_id)).map(nameOf));
    return volumes.filter((volume) => names.has(nameOf(volume)));
  }

  /** `begin` asks the client for its body. */
  async receive(
    transferId: string,
    found: TransferState | undefined,
    idx: number,
    body: Body,
    sent: SentVolume,
    begin: () => void,
  ): Promise<void> {
    const transfer = await this.use(transferId, found);
    if (transfer.status === 'storing' || transfer.status === 'done') {
      throw new VolumeRejected('state', 'the transfer is complete');
    }
    const streaming = isStreaming(transfer);
    const { volume, isHere } = streaming
      ? await this.#streamed.expect(transferId, transfer, idx, sent)
      : { volume: await this.#specified(transfer, idx, sent), isHere: false };
    // An upload by a request ends soon if it has no volume and nothing touches it.
    if (transfer.streamed === 'sized' && this.#now() - transfer.touched_at > TOUCH_MS)
      await this.#touch(transferId);
    const space = await this.#space.forBody(volume.size, body);
    // A volume that is still coming in keeps its transfer alive, however long it takes.
    const alive = setInterval(
      () => {
        // If one touch is lost, the next one makes up for it.
        this.#metadata.transfers.touch(transferId, this.#now()).catch(() => undefined);
      },
      Math.min(this.#settings.transferTtlMs / 4, TOUCH_MS),
    );
    try {
      // One that has arrived counts already.
      const claimed = streaming && !isHere && (await this.#streamed.claim(transferId, transfer, volume));
      begin();
      if (streaming) await this.#streamed.take(transferId, transfer, volume, space.body, claimed);
      else await this.arrivals.take(transfer.file_id, volume, space.body);
    } catch (error) {
      notTaken(error);
    } finally {
      clearInterval(alive);
      space.end();
    }
  }

  async #specified(
    { file_id, chunk_count }: TransferState,
    idx: number,
    { length }: SentVolume,
  ): Promise<Volume> {
    const inRange = Number.isInteger(idx) && idx >= 1 && idx <= chunk_count;
    const volume = inRange ? await this.#metadata.files.volume(file_id, idx) : undefined;
    if (!volume) throw new VolumeRejected('number', `the volume number is outside 1 to ${chunk_count}`);
    requireSize(volume, length);
    return volume;
  }

  /** `said`: what came along with it, which only a streamed transfer needs. */
  async complete(transferId: string, caller: Completer, said: () => Sent<CompleteBody>): Promise<string> {
    const transfer = await this.find(transferId);
    await this.#requireCompleter(transfer, caller);
    const file = transfer.streamed === 'no' ? undefined : filedBy(caller, transfer, checkComplete(said()));
    const isHeld = transfer.status === 'storing' || transfer.status === 'done' || isStreaming(transfer);
    // Also when it is done: a write, and so its answer, waits until what it found is on disk.
    if (!isHeld) await this.#requireAll(transfer);
    const storing = await (file
      ? this.#streamed.beginStoring(transfer, caller, file)
      : this.#beginStoring(transferId, caller)
    ).catch(notFiled);
    if (!storing) throw unknownTransfer();
    if (storing === 'over quota') return refuse(storing);
    await this.store(storing);
    return storing.file_id;
  }

  /** A visitor's upload belongs to the owner of the request and counts there: nobody else may make a file of their own of it. */
  async #requireCompleter({ transfer_id, streamed }: TransferRow, { scope }: Completer): Promise<void> {
    if (scope === 'upload' || streamed !== 'sized') return;
    if (await this.#metadata.requests.isUpload(transfer_id))
      throw new ApiError(403, 'this upload was begun by a link; only its upload token completes it');
  }

  #beginStoring(
    transferId: string,
    { username, accountId }: AccountRef,
  ): Promise<TransferRow | 'over quota' | undefined> {
    const { transfers } = this.#metadata;
    return this.#quota === undefined
      ? transfers.beginStoring(transferId, username, accountId)
      : transfers.beginStoringWithin(this.#quota, transferId, username, accountId);
  }

  /** Finishes a transfer in `storing`; several may do so at once, the file appears once. */
  async store(transfer: TransferRow): Promise<void> {
    if (transfer.status === 'done') return;
    const now = this.#now();
    try {
      const file = fileOf(transfer, now);
      await this.#volumes.writeManifest(await readManifest(this.#metadata, file));
      if (!(await this.#metadata.transfers.finishStoring(transfer, now))) throw unknownTransfer();
    } catch (error) {
      // Where even this cannot be written down the transfer stays in `storing`, which complete also goes on from.
      if (isOsError(error))
        await this.#metadata.transfers.failStoring(transfer.transfer_id).catch(unlessOsError);
      notFiled(error);
    }
  }

  /** Beyond the specification: the creator cancels the upload. */
  async cancel(transferId: string, caller: string): Promise<void> {
    const transfer = await this.find(transferId);
    if (transfer.creator !== caller) throw new ApiError(403, 'only the creator of a transfer may cancel it');
    await cancelUpload(this.#metadata, this.#volumes, transfer, this.#now());
  }

  get #quota(): number | undefined {
    return this.#settings.quotaEnforced ? this.#settings.quotaBytes : undefined;
  }

  async #requireAll(transfer: TransferRow): Promise<void> {
    if (transfer.streamed === 'no' && (await this.arrivals.knowsAll(transfer))) return;
    const { received } = await this.received(transfer);
    if (received.length === transfer.chunk_count) return;
    const error = `${transfer.chunk_count - received.length} of ${transfer.chunk_count} volumes are missing`;
    throw new ApiError(409, error, { extra: { status: 'incomplete', received } });
  }
}

/** What a visitor has uploaded: its name is not theirs to choose, and it counts for no more than was sent. */
function filedBy(
  { scope, sessionId }: Completer,
  { stored_size }: TransferRow,
  file: StreamedFile,
): StreamedFile {
  if (scope !== 'upload') return file;
  if (file.fileSize !== stored_size) throw new RuleError(`file_size: the volumes have ${stored_size} bytes`);
  return { ...file, fileName: deliveryName(sessionId!) };
}

/** Whoever decides it. `also` is part of the transaction. */
export async function cancelUpload(
  { transfers }: Metadata,
  volumes: Pick<VolumeStore, 'hasManifest'>,
  { transfer_id, file_id, status }: TransferRow,
  now: number,
  also?: (tx: Sql) => Promise<void>,
): Promise<void> {
  // It has a manifest by another database, as before a restore: it is a file there, and its volumes stay.
  const keepVolumes = status === 'uploading' && (await volumes.hasManifest(file_id));
  if (!(await transfers.remove(transfer_id, [...CANCELLED], now, { keepVolumes, ...(also && { also }) }))) {
    throw new ApiError(409, 'the transfer is complete; delete the file instead');
  }
}

function unlessOsError(error: unknown): void {
  if (!isOsError(error)) throw error;
}
