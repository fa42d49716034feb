/** The files of an account: the tree, uploads, downloads and the trash. */
import type { Attributes, AttributesChange, Bytes } from '@szafa/format';
import { deliveredBy, type FileRecord } from '@szafa/protocol';
import { Account } from '../accounts/account.ts';
import type { Proof } from '../accounts/changes.ts';
import type { ConnectOptions, SessionKeys } from '../accounts/connect.ts';
import { type FinishedRekey, type FinishRekeyOptions, finishRekey } from '../accounts/rekey.ts';
import type { CallOptions } from '../call.ts';
import { type OpenOptions, openFile } from '../transfers/download/open-file.ts';
import type { RemoteFile } from '../transfers/download/remote-file.ts';
import { type Version, versionsOf } from '../transfers/download/versions.ts';
import type { Journal } from '../transfers/upload/journal.ts';
import { VolumeMemory } from '../transfers/upload/memory.ts';
import type { UploadContext, UploadOptions, UploadResult } from '../transfers/upload/options.ts';
import { bytesSource, type Source } from '../transfers/upload/source.ts';
import { type ByteStream, isStream } from '../transfers/upload/stream.ts';
import { uploadStream } from '../transfers/upload/stream-upload.ts';
import {
  cancelUpload,
  listUnfinished,
  storedOf,
  type Unfinished,
  type UnfinishedUpload,
} from '../transfers/upload/unfinished.ts';
import { uploadFile } from '../transfers/upload/upload.ts';
import { filePages } from './calls.ts';
import type { CopyOptions, FolderOptions, MoveOptions, TreeContext, TreeOptions } from './context.ts';
import { Directories } from './directories.ts';
import { readAttributes, recordFolder } from './folder-records.ts';
import { type DirEntry, type Entry, listEntries } from './listing.ts';
import { copyTo, type Move, makeFolder, rename, renameFolder } from './moves.ts';
import { checkPath } from './paths.ts';
import { type Resealed, type ResealOptions, reseal } from './reseal.ts';
import { resealPaths } from './reseal-files.ts';
import { SeenRevs } from './seen-revs.ts';
import { readThumbnails, sendThumbnail, type Thumbnail, writeThumbnail } from './thumbnails.ts';
import { breakTies } from './ties.ts';
import {
  emptyTrash,
  listTrash,
  type PruneOptions,
  prunable,
  removeFolder,
  restore,
  type TrashEntry,
  trash,
} from './trash.ts';
import { type FileNode, type Folder, Tree } from './tree.ts';

/** The part of `Szafa` that concerns files. */
export class AccountFiles extends Account {
  protected readonly context: TreeContext & UploadContext;

  protected constructor(options: ConnectOptions, session: SessionKeys) {
    super(options, session);
    const { api, engine, keys, username } = this;
    const headers = options.headers?.of(username);
    const open = { api, engine, keys, headers, revs: new SeenRevs(options.revs?.of(username)) };
    this.context = {
      ...{ ...open, username, memory: new VolumeMemory(), directories: new Directories(open) },
      tree: (treeOptions) => this.tree(treeOptions),
      uploadMarker: (path, folderOptions) => this.#uploadMarker(path, folderOptions),
    };
  }

  /**
   * Lists all files in the server's order, normally newest first. Names are verified; an entry that fails the check has a `problem`.
   * @param options.dirId only this directory; 0 is the root
   */
  async list(options: CallOptions & { dirId?: number | undefined } = {}): Promise<Entry[]> {
    const entries = await listEntries(this.context, this.#ownPages(options), options);
    await breakTies(this.context, entries, options.signal);
    this.context.headers?.listed(
      options.dirId,
      entries.map(({ record }) => record),
    );
    return entries;
  }

  /** Hides visitors' deliveries, which are not part of the tree until the owner accepts them. */
  async *#ownPages(options: CallOptions & { dirId?: number | undefined }): AsyncGenerator<FileRecord[]> {
    for await (const page of filePages(this.api, 'listFiles', options)) {
      yield page.filter(({ file_name }) => deliveredBy(file_name) === undefined);
    }
  }

  /** Returns an immutable snapshot of all files and folders. */
  async tree(options?: CallOptions): Promise<Tree> {
    return new Tree(...(await Promise.all([this.list(options), this.dirs(options)])));
  }

  /** Orders the given files by their sealed times, newest first. */
  versions(entries: readonly Entry[], options?: CallOptions): Promise<Version[]> {
    return versionsOf(this.context, entries, options?.signal);
  }

  /** Returns the stored mode and times of a folder. */
  folderAttributes(folder: Pick<Folder, 'markers'>, options?: CallOptions): Promise<Attributes> {
    return readAttributes(this.context, folder, options?.signal);
  }

  /** Stores mode and times of a folder. Sends nothing if they are unchanged. */
  recordFolder(path: string, options?: FolderOptions): Promise<'made' | 'changed' | 'same'> {
    return recordFolder(this.context, path, options);
  }

  /**
   * Changes attributes of a file but not its bytes. An undefined attribute is removed.
   * @throws ConflictError if another device changed the file
   */
  async setAttributes(
    { entry, path }: Move,
    attributes: AttributesChange,
    options?: CallOptions,
  ): Promise<void> {
    await resealPaths(this.context, [{ entry, path, attributes: () => attributes }], options);
  }

  /** Lists the server's directories, which are the first-level folders. */
  dirs(options?: CallOptions): Promise<DirEntry[]> {
    return this.context.directories.list(options);
  }

  /**
   * Creates a directory under a sealed name.
   * @param options.plain show the name to the server
   * @returns the id of the directory
   */
  makeDir(name: string, options?: CallOptions & { plain?: boolean }): Promise<number> {
    return this.context.directories.make(name, options);
  }

  /** Removes a directory; its files move to the root. Does nothing if the directory is already gone. */
  removeDir(dirId: number, options?: CallOptions): Promise<void> {
    return this.context.directories.remove(dirId, options);
  }

  /**
   * Moves files to other paths, each with all its versions. Each batch of up to a thousand records is moved completely or not at all.
   * @throws ExistsError if a target path is taken; ConflictError if another device changed a file
   */
  rename(moves: readonly Move[], options?: MoveOptions): Promise<void> {
    return rename(this.context, moves, options);
  }

  /**
   * Moves a folder and everything in it.
   * @throws ExistsError; ConflictError
   */
  renameFolder(from: string, to: string, options?: MoveOptions): Promise<void> {
    return renameFolder(this.context, from, to, options);
  }

  /**
   * Creates an empty folder, at any depth.
   * @throws ExistsError if the path is taken
   */
  makeFolder(path: string, options?: FolderOptions): Promise<void> {
    return makeFolder(this.context, path, options);
  }

  /**
   * Copies one version of a file to another path, or makes it the newest version of its own path.
   * @returns the id of the new file
   * @throws ExistsError
   */
  copyTo(entry: Entry, path: string, options?: CopyOptions): Promise<string> {
    return copyTo(this.context, entry, path, options);
  }

  /**
   * Encrypts and uploads a file while reading it. With `options.journal`, an interrupted upload can be resumed if the source has a known
   * size and can be read again; a stream cannot.
   * @throws FileChangedError if the source changed while it was read; NameError for a path that cannot be stored; ApiError 507 if the
   * quota is used up
   */
  async upload(source: Source | ByteStream, options: UploadOptions): Promise<UploadResult> {
    const { plainName: plain, signal } = options;
    const dirId = await this.context.directories.ensureFor(checkPath(options.path), { plain, signal });
    let picture: Bytes | undefined;
    const onThumbnail = (sealed: Bytes) => {
      picture = sealed;
    };
    const placed = { ...options, dirId, onThumbnail };
    if (!isStream(source)) source.begin?.();
    const result = isStream(source)
      ? await uploadStream(this.context, source, placed)
      : await uploadFile(this.context, source, placed);
    if (picture) await sendThumbnail(this.context, result.fileId, picture, signal);
    return result;
  }

  async #uploadMarker(path: string, folder: FolderOptions = {}): Promise<void> {
    const { plain, mode, special, mtime, nanos, after, signal } = folder;
    const dirId = await this.context.directories.ensureFor(path, { plain, signal });
    const options = { path, dirId, type: 'inode/directory', mode, special, mtime, nanos, after, signal };
    await uploadFile(this.context, bytesSource(new Uint8Array(0)), options);
  }

  /**
   * Returns the thumbnail of a file; undefined if it has none.
   * @throws TamperedError if the server's thumbnail does not belong to the file
   */
  async thumbnail(entry: Entry, options?: CallOptions): Promise<Bytes | undefined> {
    const found = (await this.thumbnails([entry], options)).get(entry.fileId);
    if (found?.problem) throw found.problem;
    return found?.bytes;
  }

  /** Returns the thumbnails of many files by their ids, in batches. */
  thumbnails(entries: readonly Entry[], options?: CallOptions): Promise<Map<string, Thumbnail>> {
    return readThumbnails(this.context, entries, options);
  }

  /**
   * Adds a thumbnail to a file without one.
   * @returns false if the file already has a thumbnail
   */
  putThumbnail(entry: Entry, bytes: Uint8Array, options?: CallOptions): Promise<boolean> {
    return writeThumbnail(this.context, entry, bytes, options);
  }

  /**
   * Moves records to the trash. Each batch of up to a thousand is moved completely or not at all. To trash a file, pass all its versions.
   * @throws ConflictError if a record is gone
   */
  trash(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return trash(this.context, entries, options);
  }

  /**
   * Moves records out of the trash.
   * @throws ConflictError if a record is gone
   */
  restore(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return restore(this.context, entries, options);
  }

  /** Lists the trash, latest first. */
  listTrash(options?: CallOptions): Promise<TrashEntry[]> {
    return listTrash(this.context, options?.signal);
  }

  /**
   * Permanently deletes the files in the trash.
   * @param options.entries only these
   * @returns the number of deleted files
   */
  emptyTrash(options?: TreeOptions & { entries?: readonly Entry[] | undefined }): Promise<number> {
    return emptyTrash(this.context, options);
  }

  /**
   * Moves a folder and everything in it to the trash.
   * @returns the moved records
   * @throws ConflictError if there is no such folder
   */
  removeFolder(path: string, options?: TreeOptions): Promise<Entry[]> {
    return removeFolder(this.context, path, options);
  }

  /**
   * Moves older versions of a file to the trash.
   * @returns the moved versions
   */
  async prune(node: FileNode, options: PruneOptions = {}): Promise<Entry[]> {
    const older = prunable(node, options);
    await trash(this.context, older, options);
    return older;
  }

  /**
   * Permanently deletes one record without moving it to the trash.
   * @throws ApiError 404 if the record is gone
   */
  async remove(fileId: string, options?: CallOptions): Promise<void> {
    await this.api.call('deleteFile', { params: { file_id: fileId }, ...options });
  }

  /** Lists the uploads of this account that this journal can resume. */
  unfinished(journal: Journal, options?: CallOptions): Promise<Unfinished[]> {
    return listUnfinished(this.context, journal, options?.signal);
  }

  /** Returns how many bytes of an unfinished upload the server already has. */
  storedOf(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<number> {
    return storedOf(this.context, journal, unfinished, options?.signal);
  }

  /** Cancels an unfinished upload on the server and removes it from the journal. */
  abandon(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<void> {
    return cancelUpload(this.context, journal, unfinished, options?.signal);
  }

  /**
   * Opens and verifies the header of a file. Read its volumes from the result.
   * @param options.record the file's entry in the list; without it the server could return another file of this account
   * @throws TamperedError; RetiredKeyError; UnsupportedError; ApiError 404
   */
  openFile(fileId: string, options: OpenOptions = {}): Promise<RemoteFile> {
    return openFile(this.context, fileId, options);
  }

  /**
   * Reseals everything that is under an earlier master key: headers, file names, directory names and records of shares. After an
   * interruption, the next call does the rest.
   * @returns counts of resealed items, and the items that failed
   */
  reseal(options?: ResealOptions): Promise<Resealed> {
    return reseal(this.context, options);
  }

  /**
   * Reseals everything under earlier master keys, then retires those keys: readers refuse anything sealed with them. After an
   * interruption, call it again.
   * @param options.leaveRest retire them even if some items could not be resealed
   * @returns `retired` is false if the earlier keys are still accepted
   */
  finishRekey(proof: Proof, options: FinishRekeyOptions = {}): Promise<FinishedRekey> {
    return finishRekey(this.context, this.accountContext(options.signal), proof, options);
  }
}
