import type { Volume } from '@szafa/protocol';
import type { AccountRef } from '../accounts/sessions.ts';
import type { Config } from '../config.ts';
import type { Metadata } from '../metadata.ts';
import type { DiskSpace } from '../platform/disk-space.ts';
import { isOsError, StoreUnavailable } from '../platform/errors.ts';
import { ApiError, DetailError } from '../platform/http/api-error.ts';
import { newFileId } from '../platform/ids.ts';
import type { OpenVolume, VolumePlace, VolumeStore } from '../platform/volumes/store.ts';
import type { Custody } from '../upkeep/custody.ts';
import { digestsOf, type SmallBody } from './digests.ts';
import { type FileRow, isOwn, type ReadableFile } from './files-table.ts';
import { manifestFor } from './manifest.ts';
import { badDirectory, CloneExists, unknownFile, unknownVolume } from './refusals.ts';
import { withThumbnail } from './thumbnails-table.ts';

/** How long a removal or a copy may stay silent before the sweeper takes it over. */
const LEASE_MS = 30_000;

interface Target {
  fileId: string;
  owner: string;
  accountId: string;
  dirId: number;
}

export class Files {
  readonly #metadata: Metadata;
  readonly #volumes: VolumeStore;
  readonly #space: DiskSpace;
  readonly #config: Pick<Config, 'quotaBytes' | 'quotaEnforced'>;
  readonly #custody: Pick<Custody, 'mayRemove'>;
  readonly #now: () => number;

  constructor(
    metadata: Metadata,
    volumes: VolumeStore,
    space: DiskSpace,
    config: Pick<Config, 'quotaBytes' | 'quotaEnforced'>,
    custody: Pick<Custody, 'mayRemove'>,
    now = Date.now,
  ) {
    this.#metadata = metadata;
    this.#volumes = volumes;
    this.#space = space;
    this.#config = config;
    this.#custody = custody;
    this.#now = now;
  }

  /** `inTrash`: also one that is there, which nothing else can be done with. */
  async owned(fileId: string, caller: string, { inTrash = false } = {}): Promise<FileRow> {
    const file = requireOwned(await this.#metadata.files.get(fileId), caller);
    if (file.trashed_at > 0 && !inTrash) throw unknownFile();
    return file;
  }

  /** One that is in the trash, of the caller. */
  async trashed(fileId: string, caller: string): Promise<FileRow> {
    const file = await this.#metadata.files.get(fileId);
    if (!file || !isOwn(caller, file) || file.trashed_at === 0) throw unknownFile();
    return file;
  }

  /** The record goes first, so that nothing listed lacks its volumes; it comes back when they cannot be moved. */
  async remove(fileId: string, caller: string): Promise<void> {
    const [, atOnce] = await Promise.all([
      this.owned(fileId, caller, { inTrash: true }),
      this.#custody.mayRemove(),
    ]);
    const leaseUntil = this.#now() + (atOnce ? LEASE_MS : 0);
    const removed = await this.#metadata.files.remove(fileId, leaseUntil).catch(notRemoved);
    if (!removed) throw unknownFile();
    // The volumes are garbage now; the sweeper knows when it may remove them.
    if (!atOnce) return;
    try {
      await this.#volumes.remove(fileId);
    } catch (cause) {
      // A part may be gone, so there is no way back: the file is, and the sweeper removes the rest.
      if (!this.#volumes.removesAtOnce) return;
      await this.#metadata.files.restore(removed, leaseUntil);
      notRemoved(cause);
    }
    await this.#metadata.garbage.forget(fileId);
  }

  async move(fileId: string, caller: string, dirId: number): Promise<void> {
    const file = await this.owned(fileId, caller);
    const result = await this.#metadata.files.move(file, caller, dirId);
    if (result === 'no file') throw unknownFile();
    if (result === 'no directory') throw badDirectory();
  }

  async clone(fileId: string, { username, accountId }: AccountRef, dirId: number): Promise<string> {
    const source = await this.owned(fileId, username);
    const room = await this.#space.forVolumes(source.stored_size);
    try {
      return await this.#clone(source, { fileId: newFileId(), owner: username, accountId, dirId });
    } finally {
      room.end();
    }
  }

  async #clone(source: FileRow, target: Target): Promise<string> {
    const quota = this.#config.quotaEnforced ? this.#config.quotaBytes : undefined;
    const begun = await this.#metadata.files
      .beginClone(source, { ...target, leaseUntil: this.#now() + LEASE_MS }, quota)
      .catch(notCopied);
    if (begun === 'no directory') throw badDirectory();
    if (begun === 'over quota') throw new ApiError(507, 'the copy would exceed your quota');
    if (begun === 'exists') throw new CloneExists();
    const lease = setInterval(() => {
      // A lost renewal shows at the end as a lost lease.
      this.#metadata.garbage.hold(target.fileId, this.#now() + LEASE_MS).catch(() => undefined);
    }, LEASE_MS / 6);
    try {
      return await this.#copy(source, target);
    } catch (error) {
      // Where an answer was lost the copy may be a file by now; if it is none, the sweeper finds it when its lease ends.
      if (!(error instanceof StoreUnavailable)) await this.#discard(target.fileId);
      throw error;
    } finally {
      clearInterval(lease);
    }
  }

  /** What cannot be removed now stays garbage for the sweeper. */
  async #discard(fileId: string): Promise<void> {
    try {
      await this.#volumes.remove(fileId);
      await this.#metadata.garbage.forget(fileId);
    } catch (error) {
      if (!isOsError(error)) throw error;
    }
  }

  async #copy(source: FileRow, target: Target): Promise<string> {
    const now = this.#now();
    try {
      const volumes = await this.#metadata.files.volumes(source.file_id);
      await this.#volumes.copy(source.file_id, target.fileId, withThumbnail(volumes, source));
      const { fileId: file_id, owner, dirId: dir_id } = target;
      const copy = { ...source, file_id, owner, dir_id, created_at: now, rev: 0 };
      await this.#volumes.writeManifest(await manifestFor(this.#metadata, copy, source.file_id));
    } catch (cause) {
      if (cause instanceof StoreUnavailable) throw cause;
      const now = await this.#metadata.files.get(source.file_id);
      if (!now || now.trashed_at > 0) throw unknownFile();
      throw new ApiError(409, 'the volumes could not be copied', { cause });
    }
    const finished = await this.#metadata.files.finishClone(source, { ...target, now }).catch(notCopied);
    if (finished === 'source vanished') throw unknownFile();
    if (finished === 'lease lost') throw new ApiError(409, 'the copy took too long and was cancelled');
    return target.fileId;
  }

  /** Where another program finds a volume, and what travels in its headers; checked as if it was opened. */
  locateVolume(
    fileId: string,
    found: ReadableFile | undefined,
    caller: string,
  ): { file: ReadableFile; sha256: string; place: VolumePlace } {
    const { file, known } = readableVolume(found, caller);
    return { file, sha256: known.sha256, place: this.#volumes.locate(fileId, known) };
  }

  /** The digests of all volumes of a file. */
  async openDigests(fileId: string, caller: string): Promise<SmallBody> {
    await this.owned(fileId, caller);
    return digestsOf(await this.#metadata.files.volumes(fileId));
  }

  /** The volume and what travels in its headers. */
  async openVolume(
    fileId: string,
    found: ReadableFile | undefined,
    caller: string,
    whole: boolean,
  ): Promise<{ file: ReadableFile; sha256: string; volume: OpenVolume }> {
    const { file, known } = readableVolume(found, caller);
    const volume = await this.#volumes.open(fileId, known, whole);
    if (!volume) throw unknownVolume();
    return { file, sha256: known.sha256, volume };
  }
}

/** The file and what its record says of the volume, for whoever may read it. */
function readableVolume(
  found: ReadableFile | undefined,
  caller: string,
): { file: ReadableFile; known: Volume } {
  const file = requireOwned(found, caller);
  if (!file.volume) throw unknownVolume();
  return { file, known: file.volume };
}

/** "On a file, the owner must equal the caller. For `admin`, the owner must be `admin` or absent. Otherwise 403." */
function requireOwned<File extends { owner: string }>(file: File | undefined, caller: string): File {
  if (!file) throw unknownFile();
  if (!isOwn(caller, file)) {
    throw new DetailError(403, 'the file belongs to another account');
  }
  return file;
}

/** "409 {error} when the copy fails" */
function notCopied(cause: unknown): never {
  if (!isOsError(cause)) throw cause;
  throw new ApiError(409, 'the file could not be copied', { cause });
}

/** "409 {error} on an OS failure during removal" */
function notRemoved(cause: unknown): never {
  if (!isOsError(cause)) throw cause;
  throw new ApiError(409, 'the file could not be deleted; it is unchanged', { cause });
}
