/** POST complete: turns a transfer into a file. */
import {
  type CompleteBody,
  checkComplete,
  deliveryName,
  RuleError,
  type Sent,
  type StreamedFile,
} from '@szafa/protocol';
import type { AccountRef, Caller } from '../accounts/sessions.ts';
import { readManifest } from '../files/manifest.ts';
import { overQuota } from '../files/refusals.ts';
import type { Uses } from '../parts.ts';
import { isOsError } from '../platform/errors.ts';
import { ApiError } from '../platform/http/api-error.ts';
import { Service } from '../platform/service.ts';
import { toFile } from './create-transfer.ts';
import type { ReceivedVolumes } from './received-volumes.ts';
import { fileNotStored, unknownTransfer } from './refusals.ts';
import { isStreaming } from './streamed-table.ts';
import type { TransferRow } from './transfer-rows.ts';
import { ignoreOsError, type Transfers } from './transfers.ts';

type Completer = AccountRef & Partial<Pick<Caller, 'scope' | 'sessionId'>>;

type Dependencies = Uses<'metadata' | 'volumes' | 'config'> & {
  transfers: Transfers;
  receivedVolumes: ReceivedVolumes;
};

export class Completion extends Service<Dependencies> {
  /** Returns the id of the file. `readBody` is called only for a streamed transfer; others do not need the body. */
  async complete(transferId: string, caller: Completer, readBody: () => Sent<CompleteBody>): Promise<string> {
    const transfer = await this.deps.transfers.find(transferId);
    await this.#requireCompleter(transfer, caller);
    const file =
      transfer.streamed === 'no' ? undefined : describeFile(caller, transfer, checkComplete(readBody()));
    // `#begin` checks a streaming transfer by its rows.
    const isChecked = transfer.status === 'storing' || transfer.status === 'done' || isStreaming(transfer);
    if (!isChecked) await this.#requireAll(transfer);
    // Called even for a transfer that is done, so that the response waits until the commit it depends on is on disk.
    const storing = await this.#begin(transfer, caller, file).catch(fileNotStored);
    await this.store(storing);
    return storing.file_id;
  }

  /** Finishes a transfer in `storing`. Several requests may do so at once and still create only one file. */
  async store(transfer: TransferRow): Promise<void> {
    if (transfer.status === 'done') return;
    const { metadata, volumes } = this.deps;
    const now = this.now();
    try {
      await volumes.writeManifest(await readManifest(metadata, toFile(transfer, now)));
      if (!(await metadata.transfers.finishStoring(transfer, now))) throw unknownTransfer();
    } catch (error) {
      // If this fails too, the transfer stays in `storing`, from which complete can also be repeated.
      if (isOsError(error)) await metadata.transfers.failStoring(transfer.transfer_id).catch(ignoreOsError);
      fileNotStored(error);
    }
  }

  /** A visitor's upload counts for the owner of the file request, so only its upload token may complete it. */
  async #requireCompleter({ transfer_id, streamed }: TransferRow, { scope }: Completer): Promise<void> {
    if (scope === 'upload' || streamed !== 'sized') return;
    if (await this.deps.metadata.requests.isUpload(transfer_id))
      throw new ApiError(403, 'this upload was begun by a link; only its upload token completes it');
  }

  async #requireAll(transfer: TransferRow): Promise<void> {
    const { transfers, receivedVolumes } = this.deps;
    if (transfer.streamed === 'no' && (await receivedVolumes.hasAll(transfer))) return;
    const { received } = await transfers.received(transfer);
    const missing = transfer.chunk_count - received.length;
    if (missing !== 0)
      throw incomplete(`${missing} of ${transfer.chunk_count} volumes are missing`, received);
  }

  async #begin(
    transfer: TransferRow,
    { username, accountId }: AccountRef,
    file: StreamedFile | undefined,
  ): Promise<TransferRow> {
    const { metadata, config } = this.deps;
    const { transfer_id } = transfer;
    const quota = config.quotaEnforced ? config.quotaBytes : undefined;
    const { transfers, streamed } = metadata;
    const result = await (file
      ? streamed.beginStoring(transfer_id, username, file, quota, accountId)
      : quota === undefined
        ? transfers.beginStoring(transfer_id, username, accountId)
        : transfers.beginStoringWithin(quota, transfer_id, username, accountId));
    if (result === undefined) throw unknownTransfer();
    if (result === 'over quota') throw overQuota();
    if (result === 'other') throw new ApiError(409, 'the transfer was completed with other values');
    if (result === 'gaps') throw await this.#describeGaps(transfer, file!);
    return result;
  }

  async #describeGaps(
    { file_id, streamed, chunk_count }: TransferRow,
    file: StreamedFile,
  ): Promise<ApiError> {
    const received = (await this.deps.metadata.streamed.list(file_id)).map(({ idx }) => idx);
    const missing = file.chunkCount - received.filter((idx) => idx <= file.chunkCount).length;
    if (streamed === 'sized' && chunk_count !== file.chunkCount)
      return incomplete(`chunk_count is ${file.chunkCount}, but was ${chunk_count} at init`, received);
    if (missing > 0) return incomplete(`${missing} of ${file.chunkCount} volumes are missing`, received);
    return incomplete(`there are volumes beyond number ${file.chunkCount}`, received);
  }
}

/** "409 {status: incomplete, received: [integer...], error} when volumes are missing" */
const incomplete = (error: string, received: number[]) =>
  new ApiError(409, error, { extra: { status: 'incomplete', received } });

/** Visitors cannot choose the name of a file, nor make it count for more than they have sent. */
function describeFile(
  { scope, sessionId }: Completer,
  { stored_size }: TransferRow,
  file: StreamedFile,
): StreamedFile {
  if (scope !== 'upload') return file;
  if (file.fileSize !== stored_size) throw new RuleError(`file_size: the volumes have ${stored_size} bytes`);
  return { ...file, fileName: deliveryName(sessionId!) };
}
