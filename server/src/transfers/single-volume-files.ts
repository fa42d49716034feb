/**
 * Beyond the specification: files of one volume, sent in one request, alone or in a batch. A repeated request returns the
 * same files.
 */
import { checkFile, type NewTransfer, RuleError, type SentInit, type Volume } from '@szafa/protocol';
import { toManifest } from '../files/manifest.ts';
import type { Uses } from '../parts.ts';
import { isNoSpace, StoreError, StoreUnavailable } from '../platform/errors.ts';
import { ApiError, DetailError, OutOfScope, TryLater } from '../platform/http/api-error.ts';
import { newFileId } from '../platform/ids.ts';
import { inParallel } from '../platform/parallel.ts';
import { Service } from '../platform/service.ts';
import type { Body } from '../platform/volumes/body.ts';
import { type Creation, toFile } from './create-transfer.ts';
import { requireSize } from './incoming-volumes.ts';
import { refuseCreation, unknownTransfer, volumeNotStored } from './refusals.ts';
import { type NewTransferIds, toTransfer } from './transfer-rows.ts';
import { type Creator, creatorIds } from './transfers.ts';

/** Safely less than the age at which the sweeper removes a group without a record. */
const UNRECORDED_MS = 1_800_000;
/** Files of a batch stored at the same time: while some wait for the disk, the next ones are read. */
const AT_ONCE = 16;

export interface SingleVolumeFile {
  /** Chosen by the client. */
  transferId: string;
  /** Reads and validates the init; throws if it breaks a rule. */
  init: () => SentInit;
  /** Content-Length, if it was sent. */
  length: number | undefined;
  body: Body;
}

/** A file in a batch. */
export interface BatchFile extends SingleVolumeFile {
  /** Resolves when the body of this file is next; until then nothing is reserved for it. */
  turn: Promise<void>;
  /** Reads the rest of the body, so that the next file can be read. */
  skip(): Promise<void>;
}

/** A file that is in the store but not yet in the database. */
interface StoredFile {
  init: NewTransfer;
  ids: Required<NewTransferIds>;
  storedSince: number;
}

export class SingleVolumeFiles extends Service<Uses<'metadata' | 'volumes' | 'space' | 'config'>> {
  /** Returns the id of the file. `begin` asks the client for the body. */
  async receive(file: SingleVolumeFile, creator: Creator, begin: () => void): Promise<string> {
    const stored = await this.#store(file, creator, begin);
    const [creation] = await this.#record([stored]);
    return this.#fileIdOf(stored, creation!);
  }

  /**
   * Receives a batch, one body after another; `end` checks that no bytes follow. Returns the id of each file, or the error
   * that refused it. An error that does not concern a single file refuses the whole batch.
   */
  async receiveAll(
    files: BatchFile[],
    creator: Creator,
    end: () => Promise<void>,
  ): Promise<(string | Error)[]> {
    const results: (string | Error)[] = [];
    const stored = new Map<number, StoredFile>();
    try {
      await inParallel(files.entries(), AT_ONCE, async ([at, file]) => {
        try {
          await file.turn;
          const result = await this.#store(file, creator).catch(asFileError);
          if (result instanceof Error) results[at] = result;
          else stored.set(at, result);
        } finally {
          await file.skip();
        }
      });
      await end();
    } catch (error) {
      await Promise.all([...stored.values()].map((file) => this.#discard(file)));
      throw error;
    }
    const positions = [...stored.keys()].sort((a, b) => a - b);
    const all = positions.map((at) => stored.get(at)!);
    const creations = await this.#record(all);
    await Promise.all(
      positions.map(async (at, nth) => {
        results[at] = await this.#fileIdOf(all[nth]!, creations[nth]!).catch(asFileError);
      }),
    );
    return results;
  }

  async #store(file: SingleVolumeFile, creator: Creator, begin?: () => void): Promise<StoredFile> {
    const { volumes, config } = this.deps;
    const init = checkFile(file.transferId, file.init(), config.maxVolumeBytes);
    const [volume] = init.volumes as [Volume];
    requireSize(volume, file.length);
    const space = await this.deps.space.forBody(volume.size, file.body);
    begin?.();
    const { transferId } = file;
    const ids = { transferId, fileId: newFileId(), ...creatorIds(creator), now: this.now() };
    const stored = { init, ids, storedSince: performance.now() };
    try {
      const row = toFile(toTransfer(init, ids, 'done'), ids.now);
      await volumes.putFile(toManifest(row, creator.accountId, init.volumes), volume, space.body);
      return stored;
    } catch (error) {
      await this.#discard(stored);
      return volumeNotStored(error);
    } finally {
      space.end();
    }
  }

  /** Creates the records of all files in one transaction. */
  async #record(files: StoredFile[]): Promise<Creation[]> {
    if (files.length === 0) return [];
    const { metadata, config } = this.deps;
    if (files.some(({ storedSince }) => performance.now() - storedSince > UNRECORDED_MS))
      throw new ApiError(409, 'the volume took too long to arrive');
    const quota = config.quotaEnforced ? config.quotaBytes : undefined;
    return metadata.transfers.createDone(files, quota).catch(async (error: unknown) => {
      // The records may exist nevertheless, so the volumes stay, unless the account has been deleted.
      if (error instanceof DetailError) await Promise.all(files.map((file) => this.#discard(file)));
      return volumeNotStored(error);
    });
  }

  async #fileIdOf(stored: StoredFile, creation: Creation): Promise<string> {
    const { init, ids } = stored;
    if (creation === 'created') return ids.fileId;
    await this.#discard(stored);
    if (creation !== 'taken') return refuseCreation(creation);
    const existing = await this.deps.metadata.transfers.get(ids.transferId);
    if (!existing) throw unknownTransfer();
    const isSame = existing.creator === ids.creator && existing.total_sha256 === init.totalSha256;
    return existing.status === 'done' && isSame ? existing.file_id : refuseCreation(creation);
  }

  #discard({ ids }: StoredFile): Promise<void> {
    return this.deps.volumes.discard(ids.fileId).catch(() => undefined /* the sweeper finds it */);
  }
}

/** Errors of the token, the connection or a store concern the whole batch. */
const BATCH_ERRORS = [DetailError, OutOfScope, StoreUnavailable, TryLater];
const FILE_ERRORS = [ApiError, StoreError, RuleError];

/** Returns an error that concerns a single file, and throws any other. */
function asFileError(error: unknown): Error {
  const isOfBatch = BATCH_ERRORS.some((kind) => error instanceof kind);
  const isOfFile = FILE_ERRORS.some((kind) => error instanceof kind) || isNoSpace(error);
  if (isOfFile && !isOfBatch) return error as Error;
  throw error;
}
