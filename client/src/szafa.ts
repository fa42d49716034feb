/** What an account is and can do, each in one method; what it takes is in files of their own. One file: it is the SDK as its users read it. */

import {
  type Attributes,
  type AttributesChange,
  type Bytes,
  deriveAccountKeys,
  type Engine,
  fingerprintText,
  type ProfiledAccount,
} from '@szafa/format';
import {
  cleanUsername,
  deliveredBy,
  type Factors,
  type FileRecord,
  type ListedSession,
  type NewPasskeyRequest,
  type PasskeyRequest,
  type Quota,
} from '@szafa/protocol';
import {
  type AccountContext,
  type Change,
  changePassphrase,
  changePassword,
  type Proof,
  type Recovery,
  recover,
  replaceMaster,
  setRecoveryKey,
} from './accounts/changes.ts';
import {
  accountAt,
  type ConnectOptions,
  enter,
  profiledAccount,
  type SavedSession,
  type Secrets,
} from './accounts/connect.ts';
import { removeTotp, type Second, setTotp } from './accounts/factors.ts';
import { type CheckOptions, Keys, type KeysOptions } from './accounts/keys.ts';
import {
  addPasskey,
  type EnteringPasskey,
  enterWithPasskey,
  type MadePasskey,
  newPasskey,
  removePasskey,
} from './accounts/passkeys.ts';
import { type FinishedRekey, type FinishRekeyOptions, finishRekey } from './accounts/rekey.ts';
import { Api, type CallOptions } from './call.ts';
import { filePages } from './files/calls.ts';
import type { CopyOptions, FolderOptions, MoveOptions, TreeContext, TreeOptions } from './files/context.ts';
import { Directories } from './files/directories.ts';
import { readAttributes, recordFolder } from './files/folder-records.ts';
import { type DirEntry, type Entry, listEntries } from './files/listing.ts';
import { copyTo, type Move, makeFolder, rename, renameFolder } from './files/moves.ts';
import { checkPath } from './files/paths.ts';
import { type Resealed, type ResealOptions, reseal } from './files/reseal.ts';
import { resealPaths } from './files/reseal-paths.ts';
import { SeenRevs } from './files/seen-revs.ts';
import { readThumbnails, sendThumbnail, type Thumbnail, writeThumbnail } from './files/thumbnails.ts';
import { breakTies } from './files/ties.ts';
import {
  emptyTrash,
  listTrash,
  type PruneOptions,
  prunable,
  removeFolder,
  restore,
  type TrashEntry,
  trash,
} from './files/trash.ts';
import { type FileNode, type Folder, Tree } from './files/tree.ts';
import type { ReceivedShare } from './sharing/account-shares.ts';
import type { Contact, Contacts } from './sharing/contacts.ts';
import type { Delivery, TakeOverOptions } from './sharing/deliveries.ts';
import type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './sharing/links.ts';
import type { FileRequest, OwnRequest, RequestOptions } from './sharing/requests.ts';
import { type OpenOptions, openFile } from './transfers/download/open-file.ts';
import type { RemoteFile } from './transfers/download/remote-file.ts';
import { type Version, versionsOf } from './transfers/download/versions.ts';
import type { Journal } from './transfers/upload/journal.ts';
import { VolumeMemory } from './transfers/upload/memory.ts';
import type { UploadContext, UploadOptions, UploadResult } from './transfers/upload/options.ts';
import { bytesSource, type Source } from './transfers/upload/source.ts';
import { type ByteStream, isStream } from './transfers/upload/stream.ts';
import { uploadStream } from './transfers/upload/stream-upload.ts';
import {
  cancelUpload,
  listUnfinished,
  storedOf,
  type Unfinished,
  type UnfinishedUpload,
} from './transfers/upload/unfinished.ts';
import { uploadFile } from './transfers/upload/upload.ts';
import { webEngine } from './web/engine.ts';

/** Sharing is loaded when it is first used: the page is smaller without it. */
const sharing = () => import('./sharing/sharing.ts');

/** One account on one service: keys, names, uploads and downloads. @public */
export class Szafa {
  readonly api: Api;
  readonly engine: Engine;
  readonly username: string;
  readonly keys: Keys;
  readonly #context: TreeContext & UploadContext;
  readonly #options: ConnectOptions;
  #contacts: Contacts | undefined;

  private constructor(connect: ConnectOptions, options: Omit<KeysOptions, 'pin'>) {
    const { api, engine, username } = options;
    const { pins, headers, revs } = connect;
    this.#options = connect;
    const keys = new Keys({ ...options, pin: pins?.of(username) });
    this.api = api;
    this.engine = engine;
    this.keys = keys;
    this.username = username;
    const memory = new VolumeMemory();
    const open = {
      api,
      engine,
      keys,
      headers: headers?.of(username),
      revs: new SeenRevs(revs?.of(username)),
    };
    this.#context = {
      ...{ ...open, username, memory, directories: new Directories(open) },
      tree: (options) => this.tree(options),
      uploadMarker: (path, options) => this.#uploadMarker(path, options),
    };
  }

  /**
   * Creates an account with its keys, and logs in.
   * @throws KnownAccountError if this device knows keys of an account of that name; ApiError 409 if the name
   * is taken, 403 if registration is closed or needs an invitation
   */
  static register(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('register', options, secrets);
  }

  /**
   * Logs in.
   * @throws FactorError if a second factor is missing or wrong; ApiError 401 for a wrong name or password;
   * TamperedError if a different server answers at this address
   */
  static login(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('login', options, secrets);
  }

  /**
   * Continues a session by its token. With a KEK no request is made. Without a KEK and without a secret, only
   * calls that need no keys work.
   * @throws WrongPasswordError at the first use of the keys if the secret does not open them
   */
  static async open(options: ConnectOptions, kept: SavedSession): Promise<Szafa> {
    const { username, token, secret, isPassword } = kept;
    const engine = options.engine ?? webEngine();
    const api = new Api({ ...options, token });
    if (kept.kek !== undefined || secret === undefined) {
      return new Szafa(options, { api, engine, username, kek: kept.kek, passkey: kept.passkey });
    }
    const account = await profiledAccount(api, username, options);
    const { kek, authSecret } = await deriveAccountKeys(engine, account, secret, account.profile);
    const known = {
      ...account,
      kek: await engine.hold(kek),
      authSecret: isPassword ? authSecret : undefined,
    };
    return new Szafa(options, { api, engine, ...known });
  }

  /**
   * Sets a new password and a new recovery key by means of the current recovery key, and logs in. All sessions
   * of the account end.
   * @throws WrongPasswordError if the name or the recovery key is wrong; UnchangedError or UnsettledError if
   * the answer was lost
   */
  static async recover(options: ConnectOptions, recovery: Recovery): Promise<Szafa> {
    const username = cleanUsername(recovery.username);
    const engine = options.engine ?? webEngine();
    const api = new Api(options);
    const account = await accountAt(api, username, options);
    const pin = options.pins?.of(username);
    const context = { api, engine, account, pin, signal: options.signal };
    const { session, kek, authSecret } = await recover(context, recovery);
    api.token = session.token;
    return new Szafa(options, { api, engine, ...account, kek: await engine.hold(kek), authSecret });
  }

  /**
   * Returns the challenge for a passkey that logs in without name and password.
   * @throws ApiError 404 if the server offers no passkeys
   */
  static passkeyChallenge(options: ConnectOptions): Promise<PasskeyRequest> {
    return new Api(options).call('passkeyChallenge', { signal: options.signal });
  }

  /**
   * Logs in with a passkey that opens the keys; no name is needed.
   * @throws WrongPasswordError if the passkey opens no account here
   */
  static async loginWithPasskey(options: ConnectOptions, passkey: EnteringPasskey): Promise<Szafa> {
    const engine = options.engine ?? webEngine();
    const api = new Api(options);
    const accountOf = (username: string) => accountAt(api, cleanUsername(username), options);
    const { session, account, kek } = await enterWithPasskey(
      { api, engine, signal: options.signal },
      accountOf,
      passkey,
    );
    api.token = session.token;
    const own = { kek: await engine.hold(kek), passkey: passkey.answer.id };
    return new Szafa(options, { api, engine, ...account, ...own });
  }

  static async #enter(how: 'register' | 'login', options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return new Szafa(options, await enter(how, options, secrets));
  }

  /** The bearer token of this session; undefined after `logout`. */
  get token(): string | undefined {
    return this.api.token;
  }

  /**
   * Fetches the key bag and checks that it is the one of this account; see `Keys.check`.
   * @throws WrongPasswordError if the password does not open it; TamperedError if it is not what was seen
   * before
   */
  checkKeys(options?: CheckOptions): Promise<void> {
    return this.keys.check(options);
  }

  /** Returns the space used and left. */
  quota(options?: CallOptions): Promise<Quota> {
    return this.api.call('quota', { ...options });
  }

  /** Ends this session on the server. */
  async logout(options?: CallOptions): Promise<void> {
    await this.api.call('logout', { ...options });
    this.api.token = undefined;
  }

  #account(signal: AbortSignal | undefined): AccountContext {
    const { api, engine, keys, username } = this;
    const options = { ...this.#options, signal };
    let account: Promise<ProfiledAccount> | undefined;
    return {
      ...{ api, engine, keys, signal },
      // Once for a change: of two answers each could be another one.
      account: () => {
        account ??= profiledAccount(api, username, options);
        return account;
      },
      newApi: (token) => new Api({ ...options, token }),
    };
  }

  /**
   * Changes the password. All other sessions end; no file is uploaded again.
   * @param current the present password
   * @returns `already` if an earlier attempt, whose answer was lost, has done it
   * @throws WrongPasswordError if `current` is wrong; KeysChangedError if another device was faster;
   * UnchangedError if the old password still counts; UnsettledError if the server could not be asked: call
   * again to find out
   */
  changePassword(current: Proof, next: string, options?: CallOptions): Promise<Change> {
    return changePassword(this.#account(options?.signal), current, next);
  }

  /**
   * Changes the passphrase of the files and keeps the password. The first passphrase separates the files from
   * the password.
   * @param proof the password
   * @param options.current the present passphrase, needed if this session has no keys
   * @returns `already` if an earlier attempt, whose answer was lost, has done it
   * @throws as `changePassword`
   */
  changePassphrase(
    proof: Proof,
    next: string,
    options: CallOptions & { current?: string | undefined } = {},
  ): Promise<Change> {
    return changePassphrase(this.#account(options.signal), proof, next, options.current);
  }

  /**
   * Sets the recovery key of the account; the one before no longer works.
   * @param key 32 bytes, as `newRecoveryKey` makes them
   * @throws as `changePassword`
   */
  setRecoveryKey(proof: Proof, key: Bytes, options?: CallOptions): Promise<void> {
    return setRecoveryKey(this.#account(options?.signal), proof, key);
  }

  /**
   * Creates a new master key for everything that is sealed from now on; `finishRekey` converts the rest. All
   * other sessions end, and passkeys no longer open the keys.
   * @param recoveryKey a new recovery key; required if the account has one
   * @throws SzafaError `recovery-needed` without it; otherwise as `changePassword`
   */
  replaceMaster(proof: Proof, recoveryKey: Bytes | undefined, options?: CallOptions): Promise<void> {
    return replaceMaster(this.#account(options?.signal), proof, recoveryKey);
  }

  /**
   * Seals everything that is under an earlier master key again: file keys, names, names of directories. If it
   * is interrupted, the next call does the rest.
   * @returns how much was done, and what could not be
   */
  reseal(options?: ResealOptions): Promise<Resealed> {
    return reseal(this.#context, options);
  }

  /**
   * Reseals what `replaceMaster` left until nothing remains, then retires the earlier master keys: readers
   * refuse anything that was made with them. If it is interrupted, call it again.
   * @param options.leaveRest retire them even if something could not be resealed
   * @returns `retired` is false if the earlier keys are still accepted
   */
  finishRekey(proof: Proof, options: FinishRekeyOptions = {}): Promise<FinishedRekey> {
    return finishRekey(this.#context, this.#account(options.signal), proof, options);
  }

  /** Returns the second factors of the account. */
  factors(options?: CallOptions): Promise<Factors> {
    return this.api.call('factors', { ...options });
  }

  /**
   * Turns two-factor authentication on.
   * @param secret as `newTotpSecret` makes it
   * @param code the first code of the app, which shows that it has the secret
   * @throws FactorError if the code is wrong; WrongPasswordError
   */
  setTotp(proof: Proof, secret: string, code: string, options?: CallOptions): Promise<void> {
    return setTotp(this.#account(options?.signal), proof, secret, code);
  }

  /**
   * Turns codes off.
   * @param second a code, or the answer of a passkey
   * @throws FactorError without either: it has the challenge for a passkey
   */
  removeTotp(proof: Proof, second: Second, options?: CallOptions): Promise<void> {
    return removeTotp(this.#account(options?.signal), proof, second);
  }

  /** Returns the options with which a browser creates a new passkey. */
  newPasskey(options?: CallOptions): Promise<NewPasskeyRequest> {
    return newPasskey(this.#account(options?.signal));
  }

  /**
   * Adds a passkey. From now on a login with the password needs a second factor; with `made.secret` the
   * passkey also logs in by itself.
   * @throws WrongPasswordError; KeysChangedError if another device changed the keys
   */
  addPasskey(proof: Proof, made: MadePasskey, options?: CallOptions): Promise<void> {
    return addPasskey(this.#account(options?.signal), proof, made);
  }

  /**
   * Removes a passkey. Other sessions that were opened with it end.
   * @throws WrongPasswordError; KeysChangedError if another device changed the keys
   */
  removePasskey(proof: Proof, id: string, options?: CallOptions): Promise<void> {
    return removePasskey(this.#account(options?.signal), proof, id);
  }

  /** Lists the sessions and tokens of the account, the latest first. */
  sessions(options?: CallOptions): Promise<ListedSession[]> {
    return this.api.call('listSessions', { ...options }).then(({ sessions }) => sessions);
  }

  /**
   * Ends a session or token.
   * @throws ApiError 404 if there is none
   */
  async endSession(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endSession', { params: { session_id: id }, ...options });
  }

  /**
   * Ends all sessions and tokens but this one.
   * @returns how many were ended
   */
  async endOtherSessions(options?: CallOptions): Promise<number> {
    return (await this.api.call('endSessions', { ...options })).ended;
  }

  /**
   * Deletes the account with all its files, for good.
   * @throws ApiError 403 if the password is wrong
   */
  async deleteAccount({ password, raw }: Proof, options?: CallOptions): Promise<void> {
    const { api, engine } = this;
    const signal = options?.signal;
    const secret = async () => {
      const account = await this.#account(signal).account();
      return (await deriveAccountKeys(engine, account, password, account.profile)).authSecret;
    };
    await api.call('leave', { body: { password: raw ? password : await secret() }, ...options });
    api.token = undefined;
    await this.#options.pins?.of(this.username).forget();
  }

  /**
   * Lists all files as the server orders them, which should be newest first. Names are verified; `problem` of
   * an entry says what is wrong with it.
   * @param options.dirId only this directory; 0 is the root
   */
  async list(options: CallOptions & { dirId?: number | undefined } = {}): Promise<Entry[]> {
    const entries = await listEntries(this.#context, this.#ownPages(options), options);
    await breakTies(this.#context, entries, options.signal);
    this.#context.headers?.listed(
      options.dirId,
      entries.map(({ record }) => record),
    );
    return entries;
  }

  /** What visitors have delivered is no part of the tree before it is taken over. */
  async *#ownPages(options: CallOptions & { dirId?: number | undefined }): AsyncGenerator<FileRecord[]> {
    for await (const page of filePages(this.api, 'listFiles', options)) {
      yield page.filter(({ file_name }) => deliveredBy(file_name) === undefined);
    }
  }

  /** Returns all files and folders as they are now. A tree does not change later. */
  async tree(options?: CallOptions): Promise<Tree> {
    return new Tree(...(await Promise.all([this.list(options), this.dirs(options)])));
  }

  /** Orders the given files by the time that is sealed into each, newest first. */
  versions(entries: readonly Entry[], options?: CallOptions): Promise<Version[]> {
    return versionsOf(this.#context, entries, options?.signal);
  }

  /** Returns the attributes that are stored for a folder: mode and times. */
  folderAttributes(folder: Pick<Folder, 'markers'>, options?: CallOptions): Promise<Attributes> {
    return readAttributes(this.#context, folder, options?.signal);
  }

  /** Stores mode and times of a folder; sends nothing if they are stored already. */
  recordFolder(path: string, options?: FolderOptions): Promise<'made' | 'changed' | 'same'> {
    return recordFolder(this.#context, path, options);
  }

  /**
   * Changes attributes of a file; its bytes stay. An undefined attribute is removed.
   * @throws ConflictError if another device changed the file
   */
  async setAttributes(
    { entry, path }: Move,
    attributes: AttributesChange,
    options?: CallOptions,
  ): Promise<void> {
    await resealPaths(this.#context, [{ entry, path, attributes: () => attributes }], options);
  }

  /** Lists the directories on the server, which are the folders at the first level. */
  dirs(options?: CallOptions): Promise<DirEntry[]> {
    return this.#context.directories.list(options);
  }

  /**
   * Creates a directory under a sealed name.
   * @param options.plain show the name to the server
   * @returns its id
   */
  makeDir(name: string, options?: CallOptions & { plain?: boolean }): Promise<number> {
    return this.#context.directories.make(name, options);
  }

  /** Removes a directory; its files move to the root. A directory that is gone already is no error. */
  removeDir(dirId: number, options?: CallOptions): Promise<void> {
    return this.#context.directories.remove(dirId, options);
  }

  /**
   * Moves files to other paths, each with all its versions. Up to a thousand records change at once, all or
   * none.
   * @throws ExistsError if something is there; ConflictError if another device changed a file
   */
  rename(moves: readonly Move[], options?: MoveOptions): Promise<void> {
    return rename(this.#context, moves, options);
  }

  /**
   * Moves a folder with everything in it.
   * @throws ExistsError; ConflictError
   */
  renameFolder(from: string, to: string, options?: MoveOptions): Promise<void> {
    return renameFolder(this.#context, from, to, options);
  }

  /**
   * Creates an empty folder, at any depth.
   * @throws ExistsError if a file is there
   */
  makeFolder(path: string, options?: FolderOptions): Promise<void> {
    return makeFolder(this.#context, path, options);
  }

  /**
   * Copies one version of a file to another path, or makes it the newest version of its own path.
   * @returns the id of the new file
   * @throws ExistsError
   */
  copyTo(entry: Entry, path: string, options?: CopyOptions): Promise<string> {
    return copyTo(this.#context, entry, path, options);
  }

  /**
   * Encrypts and uploads a file while it is read. A source of known size that can be read again is resumed by
   * `options.journal`; a stream is not.
   * @throws FileChangedError if the source changed while it was read; NameError for a path that cannot be
   * stored; ApiError 507 if the quota is used up
   */
  async upload(source: Source | ByteStream, options: UploadOptions): Promise<UploadResult> {
    const { plainName: plain, signal } = options;
    const dirId = await this.#context.directories.ensureFor(checkPath(options.path), { plain, signal });
    let picture: Bytes | undefined;
    const onThumbnail = (sealed: Bytes) => {
      picture = sealed;
    };
    const placed = { ...options, dirId, onThumbnail };
    if (!isStream(source)) source.begin?.();
    const result = isStream(source)
      ? await uploadStream(this.#context, source, placed)
      : await uploadFile(this.#context, source, placed);
    if (picture) await sendThumbnail(this.#context, result.fileId, picture, signal);
    return result;
  }

  /**
   * Returns the thumbnail of a file; undefined if it has none.
   * @throws TamperedError if the one on the server is not that of the file
   */
  async thumbnail(entry: Entry, options?: CallOptions): Promise<Bytes | undefined> {
    const found = (await this.thumbnails([entry], options)).get(entry.fileId);
    if (found?.problem) throw found.problem;
    return found?.bytes;
  }

  /** Returns the thumbnails of many files by their ids, with a few requests. */
  thumbnails(entries: readonly Entry[], options?: CallOptions): Promise<Map<string, Thumbnail>> {
    return readThumbnails(this.#context, entries, options);
  }

  /**
   * Adds a thumbnail to a file that has none.
   * @returns false if it has one
   */
  putThumbnail(entry: Entry, bytes: Uint8Array, options?: CallOptions): Promise<boolean> {
    return writeThumbnail(this.#context, entry, bytes, options);
  }

  /**
   * Moves records to the trash, a thousand at once, all or none. Pass all versions of a file to trash the
   * file.
   * @throws ConflictError if one of them is gone
   */
  trash(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return trash(this.#context, entries, options);
  }

  /**
   * Moves records out of the trash.
   * @throws ConflictError if one of them is gone
   */
  restore(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return restore(this.#context, entries, options);
  }

  /** Lists the trash, the latest first. */
  listTrash(options?: CallOptions): Promise<TrashEntry[]> {
    return listTrash(this.#context, options?.signal);
  }

  /**
   * Deletes the trash for good.
   * @param options.entries only these
   * @returns how many were deleted
   */
  emptyTrash(options?: TreeOptions & { entries?: readonly Entry[] | undefined }): Promise<number> {
    return emptyTrash(this.#context, options);
  }

  /**
   * Moves a folder with everything in it to the trash.
   * @returns the records that were moved
   * @throws ConflictError if there is no such folder
   */
  removeFolder(path: string, options?: TreeOptions): Promise<Entry[]> {
    return removeFolder(this.#context, path, options);
  }

  /**
   * Moves older versions of a file to the trash.
   * @returns the versions that were moved
   */
  async prune(node: FileNode, options: PruneOptions = {}): Promise<Entry[]> {
    const older = prunable(node, options);
    await trash(this.#context, older, options);
    return older;
  }

  async #uploadMarker(path: string, folder: FolderOptions = {}): Promise<void> {
    const { plain, mode, special, mtime, nanos, after, signal } = folder;
    const dirId = await this.#context.directories.ensureFor(path, { plain, signal });
    const options = { path, dirId, type: 'inode/directory', mode, special, mtime, nanos, after, signal };
    await uploadFile(this.#context, bytesSource(new Uint8Array(0)), options);
  }

  /** Lists the uploads of this account that can be resumed by this journal. */
  unfinished(journal: Journal, options?: CallOptions): Promise<Unfinished[]> {
    return listUnfinished(this.#context, journal, options?.signal);
  }

  /** Returns how many bytes of an unfinished upload the server has. */
  storedOf(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<number> {
    return storedOf(this.#context, journal, unfinished, options?.signal);
  }

  /** Cancels an unfinished upload: on the server and in the journal. */
  abandon(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<void> {
    return cancelUpload(this.#context, journal, unfinished, options?.signal);
  }

  /**
   * Opens and verifies the header of a file; volumes are read from the result.
   * @param options.record the entry in the list; without it the server chooses which of the files it returns
   * @throws TamperedError; RetiredKeyError; UnsupportedError; ApiError 404
   */
  openFile(fileId: string, options: OpenOptions = {}): Promise<RemoteFile> {
    return openFile(this.#context, fileId, options);
  }

  /**
   * Creates a link that opens these files, as they are now, without an account. Anyone who has the link can
   * open them.
   * @throws ConflictError if a file is gone
   */
  async shareLink(items: readonly ShareItem[], options?: LinkOptions): Promise<Link> {
    return (await sharing()).makeLink(this.#context, items, options);
  }

  /**
   * Shares these files, as they are now, with another account of this server. The first time, the keys that
   * the server returns for that name are trusted and pinned: compare fingerprints to be sure.
   * @returns the id of the share
   * @throws ContactChangedError if the account has different keys than before
   */
  async shareWith(username: string, items: readonly ShareItem[], options?: ShareOptions): Promise<string> {
    const context = { ...this.#context, contacts: await this.#loadContacts() };
    return (await sharing()).shareWith(context, username, items, options);
  }

  /** Lists what other accounts share with this one, the latest first. */
  async sharedWithMe(options?: CallOptions): Promise<ReceivedShare[]> {
    const context = { ...this.#context, contacts: await this.#loadContacts() };
    return (await sharing()).listReceived(context, options?.signal);
  }

  /** Removes what another account shares with this one; the share ends. */
  async endReceived(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endReceived', { params: { share_id: id }, ...options });
  }

  /** Returns the fingerprint of this account, for others to compare. */
  async fingerprint(options?: CallOptions): Promise<string> {
    return fingerprintText(await this.keys.identity(options?.signal));
  }

  async #loadContacts(): Promise<Contacts> {
    const { Contacts } = await sharing();
    this.#contacts ??= new Contacts(this.#context, this.#options.contacts);
    return this.#contacts;
  }

  /**
   * Fetches the keys of another account, to compare their fingerprint.
   * @throws ContactChangedError if they differ from the pinned ones
   */
  async contact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).show(username, options?.signal);
  }

  /** Returns the pinned keys of another account without a request; undefined if none are pinned. */
  async rememberedContact(username: string): Promise<Contact | undefined> {
    return (await this.#loadContacts()).remembered(username);
  }

  /** Marks the keys of a contact as compared in person. */
  async verifyContact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).verify(username, options?.signal);
  }

  /**
   * Pins the new keys of a contact.
   * @param fingerprint as the owner of the account reads it out
   * @throws SzafaError if the server returns keys of another fingerprint
   */
  async acceptContact(username: string, fingerprint: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).accept(username, fingerprint, options?.signal);
  }

  /** Lists the links and shares of this account, the latest first; ended ones for a month. */
  async links(options?: CallOptions): Promise<OwnLink[]> {
    return (await sharing()).listLinks(this.#context, options?.signal);
  }

  /** Creates a file request: a link by which others upload into a folder of this account. */
  async requestLink(options: RequestOptions): Promise<FileRequest> {
    return (await sharing()).makeRequest(this.#context, options);
  }

  /** Lists the file requests of this account, the latest first; ended ones for a month. */
  async requests(options?: CallOptions): Promise<OwnRequest[]> {
    return (await sharing()).listRequests(this.#context, options?.signal);
  }

  /** Ends a file request; delivered files stay. An ended one is removed from the list. */
  async endRequest(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endRequest', { params: { request_id: id }, ...options });
  }

  /**
   * Lists the files that came by a request and were not accepted yet. They are in no list and no tree.
   */
  async deliveries(options?: CallOptions): Promise<Delivery[]> {
    return (await sharing()).listDeliveries(this.#context, options?.signal);
  }

  /**
   * Turns a delivery into a file of this account.
   * @param options.folder where it goes; the folder of its request by default
   * @returns its path
   * @throws ConflictError if it is gone
   */
  async takeOver(delivery: Delivery, options?: TakeOverOptions): Promise<string> {
    return (await sharing()).takeOver(this.#context, delivery, options);
  }

  /** Lists the ids in the headers of all files: pass them when you take over several deliveries. */
  async sealedIds(options?: CallOptions): Promise<Set<string>> {
    return (await sharing()).listSealedIds(this.#context, options?.signal);
  }

  /**
   * Deletes a delivery for good.
   * @throws ConflictError if it is not a delivery any more
   */
  async dropDelivery(delivery: Delivery, options?: CallOptions): Promise<void> {
    return (await sharing()).dropDelivery(this.#context, delivery, options?.signal);
  }

  /** Ends a link or share. An ended one is removed from the list. */
  async endShare(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endShare', { params: { share_id: id }, ...options });
  }

  /**
   * Deletes one record for good, without the trash.
   * @throws ApiError 404 if it is gone
   */
  async remove(fileId: string, options?: CallOptions): Promise<void> {
    await this.api.call('deleteFile', { params: { file_id: fileId }, ...options });
  }
}
