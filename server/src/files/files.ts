import { checkNames, type NamesBody } from '@szafa/protocol';
import type { AccountRef } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import type { DiskSpace } from '../platform/disk-space.ts';
import { isOsError, StoreUnavailable } from '../platform/errors.ts';
import { ApiError, DetailError } from '../platform/http/api-error.ts';
import { newFileId } from '../platform/ids.ts';
import { collectInTurns } from '../platform/parallel.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { Custody } from '../upkeep/custody.ts';
import { type OpenContent, openDigests } from './download.ts';
import type { CloneTarget } from './file-changes-table.ts';
import { type FileRow, isOwn, type ReadableFile } from './files-table.ts';
import { readManifest } from './manifest.ts';
import { badDirectory, CloneExists, overQuota, unknownFile, unknownVolume } from './refusals.ts';
import { withThumbnail } from './thumbnails-table.ts';

/** How long a removal or clone may go without renewing its lease before the sweeper takes over. */
const LEASE_MS = 30_000;

interface Dependencies {
  metadata: Metadata;
  volumes: VolumeStore;
  space: DiskSpace;
  config: Pick<Config, 'quotaBytes' | 'quotaEnforced'>;
  custody: Pick<Custody, 'mayRemove'>;
}

export class Files {
  readonly #deps: Dependencies;

  constructor(deps: Dependencies) {
    this.#deps = deps;
  }

  /** Finds a file of the caller. With `inTrash` it may also be in the trash, where it can only be deleted. */
  async find(fileId: string, caller: string, { inTrash = false } = {}): Promise<FileRow> {
    const file = requireOwned(await this.#deps.metadata.files.get(fileId), caller);
    if (file.trashed_at > 0 && !inTrash) throw unknownFile();
    return file;
  }

  /** Opens a volume of a file that was read together with the session. `whole`: the whole volume will be sent. */
  async openVolume(fileId: string, found: ReadableFile | undefined, caller: string, whole: boolean) {
    const { file, known } = requireReadable(found, caller);
    const volume = await this.#deps.volumes.open(fileId, known, whole);
    if (!volume) throw unknownVolume();
    return { file, sha256: known.sha256, volume };
  }

  /** Makes the same checks as `openVolume` and returns where another program can read the volume. */
  locateVolume(fileId: string, found: ReadableFile | undefined, caller: string) {
    const { file, known } = requireReadable(found, caller);
    return { file, sha256: known.sha256, place: this.#deps.volumes.locate(fileId, known) };
  }

  async openDigests(fileId: string, caller: string): Promise<OpenContent> {
    await this.find(fileId, caller);
    return openDigests(await this.#deps.metadata.files.volumes(fileId));
  }

  async move(fileId: string, caller: string, dirId: number): Promise<void> {
    const file = await this.find(fileId, caller);
    const result = await this.#deps.metadata.fileChanges.move(file, caller, dirId);
    if (result === 'no file') throw unknownFile();
    if (result === 'no directory') throw badDirectory();
  }

  /** Renames and moves all files in the body, or none. */
  async rename(caller: string, body: NamesBody): Promise<void> {
    const names = await collectInTurns(checkNames(body));
    const options = { inTrash: body.in_trash === true, quota: this.#quota };
    const refused = await this.#deps.metadata.fileChanges.rename(caller, names, options);
    if (refused === 'over quota') throw overQuota();
    if (refused === 'no directory') throw badDirectory();
    if (refused.length === 0) return;
    throw new ApiError(412, 'some of these files have changed, or are not yours', {
      extra: { files: refused },
    });
  }

  /** Deletes the record first, so that no listed file lacks its volumes. Restores it if the volumes cannot be removed. */
  async remove(fileId: string, caller: string): Promise<void> {
    const { metadata, volumes, custody } = this.#deps;
    const [, mayRemove] = await Promise.all([
      this.find(fileId, caller, { inTrash: true }),
      custody.mayRemove(),
    ]);
    const leaseUntil = Date.now() + (mayRemove ? LEASE_MS : 0);
    const removed = await metadata.fileChanges.remove(fileId, leaseUntil).catch(notRemoved);
    if (!removed) throw unknownFile();
    // The volumes are garbage now; the sweeper removes them when custody allows it.
    if (!mayRemove) return;
    try {
      await volumes.remove(fileId);
    } catch (cause) {
      // Some volumes may be gone, so the file cannot be restored; the sweeper removes the rest.
      if (!volumes.removesAtOnce) return;
      await metadata.fileChanges.restore(removed, leaseUntil);
      notRemoved(cause);
    }
    await metadata.garbage.forget(fileId);
  }

  async clone(fileId: string, { username, accountId }: AccountRef, dirId: number): Promise<string> {
    const source = await this.find(fileId, username);
    const reservation = await this.#deps.space.forVolumes(source.stored_size);
    try {
      return await this.#clone(source, { fileId: newFileId(), owner: username, accountId, dirId });
    } finally {
      reservation.end();
    }
  }

  async #clone(source: FileRow, target: CloneTarget & { accountId: string }): Promise<string> {
    const { fileChanges, garbage } = this.#deps.metadata;
    const begun = await fileChanges
      .beginClone(source, { ...target, leaseUntil: Date.now() + LEASE_MS }, this.#quota)
      .catch(notCopied);
    if (begun === 'no directory') throw badDirectory();
    if (begun === 'over quota') throw new ApiError(507, 'the copy would exceed your quota');
    if (begun === 'exists') throw new CloneExists();
    const renewal = setInterval(() => {
      // `finishClone` reports a lost lease.
      garbage.extendLease(target.fileId, Date.now() + LEASE_MS).catch(() => undefined);
    }, LEASE_MS / 6);
    try {
      return await this.#copy(source, target);
    } catch (error) {
      // If the store is unavailable, the clone may exist nevertheless; the sweeper removes it when its lease expires.
      if (!(error instanceof StoreUnavailable)) await this.#discard(target.fileId);
      throw error;
    } finally {
      clearInterval(renewal);
    }
  }

  /** Removes the volumes of a failed clone; if that fails, the sweeper does it later. */
  async #discard(fileId: string): Promise<void> {
    try {
      await this.#deps.volumes.remove(fileId);
      await this.#deps.metadata.garbage.forget(fileId);
    } catch (error) {
      if (!isOsError(error)) throw error;
    }
  }

  async #copy(source: FileRow, target: CloneTarget): Promise<string> {
    const { metadata, volumes: store } = this.#deps;
    const now = Date.now();
    try {
      const volumes = await metadata.files.volumes(source.file_id);
      await store.copy(source.file_id, target.fileId, withThumbnail(volumes, source));
      const { fileId: file_id, owner, dirId: dir_id } = target;
      const clone = { ...source, file_id, owner, dir_id, created_at: now, rev: 0 };
      await store.writeManifest(await readManifest(metadata, clone, source.file_id));
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      const current = await metadata.files.get(source.file_id);
      if (!current || current.trashed_at > 0) throw unknownFile();
      throw new ApiError(409, 'the volumes could not be copied', { cause });
    }
    const finished = await metadata.fileChanges.finishClone(source, { ...target, now }).catch(notCopied);
    if (finished === 'source vanished') throw unknownFile();
    if (finished === 'lease lost') throw new ApiError(409, 'the copy took too long and was cancelled');
    return target.fileId;
  }

  get #quota(): number | undefined {
    const { quotaEnforced, quotaBytes } = this.#deps.config;
    return quotaEnforced ? quotaBytes : undefined;
  }
}

function requireReadable(found: ReadableFile | undefined, caller: string) {
  const file = requireOwned(found, caller);
  if (!file.volume) throw unknownVolume();
  return { file, known: file.volume };
}

/** "On a file, the owner must equal the caller. For `admin`, the owner must be `admin` or absent. Otherwise 403." */
function requireOwned<File extends { owner: string }>(file: File | undefined, caller: string): File {
  if (!file) throw unknownFile();
  if (!isOwn(caller, file)) throw new DetailError(403, 'the file belongs to another account');
  return file;
}

/** "409 {error} when the copy fails", "409 {error} on an OS failure during removal" */
const conflictIfOsError =
  (message: string) =>
  (cause: unknown): never => {
    if (!isOsError(cause)) throw cause;
    throw new ApiError(409, message, { cause });
  };
const notCopied = conflictIfOsError('the file could not be copied');
const notRemoved = conflictIfOsError('the file could not be deleted; it is unchanged');
