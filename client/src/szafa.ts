/** What an account is and can do, each in one method; what it takes is in files of their own. One file: it is the SDK as its users read it. */

import {
  type AccountName,
  type Attributes,
  type AttributesChange,
  type Bytes,
  deriveAccountKeys,
  deriveRecoveryKeys,
  type Engine,
  fingerprintText,
  identityOfBag,
  makeBag,
  PROFILE,
  type ProfiledAccount,
  parseBag,
  profileOf,
  toBase64Url,
} from '@szafa/format';
import {
  cleanUsername,
  deliveredBy,
  type Factors,
  type FileRecord,
  type ListedSession,
  type NewPasskeyRequest,
  type PasskeyAnswer,
  type PasskeyRequest,
  type Quota,
} from '@szafa/protocol';
import { readProfile, readServerInfo } from './accounts/calls.ts';
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
import { logIn, removeTotp, type Second, setTotp } from './accounts/factors.ts';
import { type CheckOptions, Keys, type KeysOptions, type PinStore } from './accounts/keys.ts';
import {
  addPasskey,
  type EnteringPasskey,
  enterWithPasskey,
  type MadePasskey,
  newPasskey,
  removePasskey,
} from './accounts/passkeys.ts';
import { type FinishedRekey, type FinishRekeyOptions, finishRekey } from './accounts/rekey.ts';
import { Api, type ApiOptions, type CallOptions } from './call.ts';
import { KnownAccountError, SameSecretError, TamperedError } from './errors.ts';
import { filePages } from './files/calls.ts';
import type { CopyOptions, FolderOptions, MoveOptions, TreeContext, TreeOptions } from './files/context.ts';
import { Places } from './files/directories.ts';
import { readAttributes, recordFolder } from './files/folder-records.ts';
import { type DirEntry, type Entry, listEntries } from './files/listing.ts';
import { copyTo, type Move, makeFolder, rename, renameFolder } from './files/moves.ts';
import { checkPath } from './files/paths.ts';
import { type Resealed, type ResealOptions, reseal } from './files/reseal.ts';
import { resealPaths } from './files/reseal-paths.ts';
import { type RevStores, SeenRevs } from './files/seen-revs.ts';
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
import type { Contact, ContactStores, Contacts } from './sharing/contacts.ts';
import type { Delivery, TakeOverOptions } from './sharing/deliveries.ts';
import type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './sharing/links.ts';
import type { FileRequest, OwnRequest, RequestOptions } from './sharing/requests.ts';
import type { HeaderCaches } from './transfers/download/header-cache.ts';
import { type OpenOptions, openFile, type RemoteFile } from './transfers/download/remote-file.ts';
import { type Version, versionsOf } from './transfers/download/versions.ts';
import type { Journal } from './transfers/upload/journal.ts';
import { VolumeMemory } from './transfers/upload/memory.ts';
import type { UploadContext, UploadOptions, UploadResult } from './transfers/upload/options.ts';
import { bytesSource, type Source } from './transfers/upload/source.ts';
import { type ByteStream, isStream } from './transfers/upload/stream.ts';
import { StreamUpload } from './transfers/upload/stream-upload.ts';
import {
  abandon,
  listUnfinished,
  storedOf,
  type Unfinished,
  type UnfinishedUpload,
} from './transfers/upload/unfinished.ts';
import { Upload } from './transfers/upload/upload.ts';
import { webEngine } from './web/engine.ts';

/** Where the service is, and what a session works with. @public */
/** Sharing is loaded when it is first used: the page is smaller without it. */
const sharing = () => import('./sharing/sharing.ts');

export interface ConnectOptions extends Omit<ApiOptions, 'token'> {
  /** Web Crypto unless told otherwise; `client/node` has a faster one. */
  engine?: Engine | undefined;
  /** What is remembered of services and key bags between sessions. */
  pins?: Pins | undefined;
  /** Where headers of files are kept between sessions. */
  headers?: HeaderCaches | undefined;
  /** What is remembered of renamed files between sessions, so that a service cannot bring an earlier name back. */
  revs?: RevStores | undefined;
  /** What is remembered of the keys of other accounts, so that a service cannot exchange them. */
  contacts?: ContactStores | undefined;
  /** The service names itself as one that is known from these other addresses; called before it gets anything. */
  onKnownElsewhere?: ((addresses: string[]) => void) | undefined;
  signal?: AbortSignal | undefined;
}

/** What a client remembers, so that a service cannot pass for another one, or give an older key bag than before. @public */
export interface Pins {
  of(username: string): PinStore;
  /** The addresses of services and the ids that they had there, of all accounts. */
  services(): Promise<{ server: string; serviceId: string }[]>;
}

/** What a person enters. @public */
export interface Secrets {
  username: string;
  password: string;
  /** Files under another passphrase than the account's password. */
  passphrase?: string | undefined;
  /**
   * Send the password as it is, for accounts made by other clients. The service then knows it, so it opens
   * no files: those need a passphrase.
   */
  raw?: boolean | undefined;
  /** With `register`: an invitation, where the service wants one. */
  invite?: string | undefined;
  /** With `login`: of the second factor, where it is known already that the account has one. */
  code?: string | undefined;
  /** With `login`: what a passkey answered that the service asked for as second factor, in a FactorError. */
  passkey?: PasskeyAnswer | undefined;
  /** With `login`: called if the service takes a code. Without it, or where it takes none, that is a FactorError. */
  askCode?: (() => Promise<string>) | undefined;
  /** What the session is listed as. */
  device?: string | undefined;
  /** With `register`: another way to the keys, of 32 bytes, as `newRecoveryKey` makes them. Needs a password or passphrase that opens files. */
  recoveryKey?: Bytes | undefined;
}

/** A session kept from before: its token, and either a KEK kept with it or a secret to derive it from. @public */
export interface Kept {
  username: string;
  token: string;
  kek?: Bytes | undefined;
  /** The id of the passkey that the KEK is of. */
  passkey?: string | undefined;
  /** The password, unless the files are under a passphrase: then that. */
  secret?: string | undefined;
  /** The secret is the password, and the service does not know it: it also logs in. */
  isPassword?: boolean | undefined;
}

/** The account at this address; refuses a service that is another one than before. */
async function accountAt(
  api: Api,
  username: string,
  { pins, onKnownElsewhere, signal }: ConnectOptions,
): Promise<AccountName> {
  const { service_id: serviceId } = await readServerInfo(api, { signal });
  // One that cannot be read is told before anything is sent that it would have forbidden.
  await pins?.of(username).load();
  const known = (await pins?.services()) ?? [];
  const here = known.filter(({ server }) => server === api.server);
  if (here.length > 0 && here.every((one) => one.serviceId !== serviceId)) {
    throw new TamperedError('service', 'the server at this address is another one than before');
  }
  const elsewhere = known.filter((one) => one.serviceId === serviceId && one.server !== api.server);
  if (here.length === 0 && elsewhere.length > 0) {
    onKnownElsewhere?.([...new Set(elsewhere.map(({ server }) => server))]);
  }
  return { serviceId, username };
}

/**
 * With the KDF profile that the service names: a number, never parameters. One that is not known is unsupported; one that is lower than
 * that of the newest key bag here would have this client send a secret that is easier to guess.
 */
async function profiledAccount(
  api: Api,
  username: string,
  options: ConnectOptions,
): Promise<ProfiledAccount> {
  const account = await accountAt(api, username, options);
  const profile = await readProfile(api, username, options);
  profileOf(profile);
  if (profile < ((await options.pins?.of(username).load())?.profile ?? 0)) {
    throw new TamperedError('profile', 'the server names an older KDF profile for this account than before');
  }
  return { ...account, profile };
}

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
      ...{ ...open, username, memory, places: new Places(open) },
      tree: (options) => this.tree(options),
      uploadMarker: (path, options) => this.#uploadMarker(path, options),
    };
  }

  /** Makes the account, with its keys, and logs in. */
  static register(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('register', options, secrets);
  }

  static login(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('login', options, secrets);
  }

  /** Goes on with a token; with a KEK no request is made. Without a KEK or a secret only what needs no keys works. */
  static async open(options: ConnectOptions, kept: Kept): Promise<Szafa> {
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

  /** Comes back with the recovery key: a new password, a new recovery key, and the end of all sessions. */
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

  /** What a passkey is asked that comes in by itself. */
  static passkeyChallenge(options: ConnectOptions): Promise<PasskeyRequest> {
    return new Api(options).call('passkeyChallenge', { signal: options.signal });
  }

  /** With a passkey that opens the keys; nobody has to say a name. */
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
    const { password, passphrase, raw, code, passkey, askCode, invite, device, recoveryKey } = secrets;
    const username = cleanUsername(secrets.username);
    const engine = options.engine ?? webEngine();
    const api = new Api(options);
    if (raw && passphrase?.normalize('NFC') === password.normalize('NFC')) throw new SameSecretError();
    const account =
      how === 'login'
        ? await profiledAccount(api, username, options)
        : { ...(await accountAt(api, username, options)), profile: PROFILE };
    // Before anything is sent: the new keys would be refused here, and the name would be taken.
    if (how === 'register' && (await options.pins?.of(username).load()))
      throw new KnownAccountError(username);
    const derive = (secret: string) => deriveAccountKeys(engine, account, secret, account.profile);
    const own = raw ? undefined : await derive(password);
    const files = passphrase === undefined ? own : await derive(passphrase);
    const authSecret = own?.authSecret ?? password;
    const recovery =
      how === 'register' && files && recoveryKey
        ? await deriveRecoveryKeys(engine, account, recoveryKey)
        : undefined;
    const keks = files && { password: files.kek, recovery: recovery?.kek };
    const bag = how === 'register' && keks ? await makeBag(engine, account, keks) : undefined;
    const way = files && { type: 'password' as const, kek: files.kek };
    const identity = bag && way ? await identityOfBag(engine, parseBag(bag), way) : {};
    const credentials = {
      username,
      password: authSecret,
      ...(device !== undefined && { device }),
      ...(bag && { keys: toBase64Url(bag) }),
      ...identity,
      ...(recovery && { recovery: recovery.authSecret }),
      ...(how === 'register' && invite !== undefined && { invite }),
    };
    const second = { ...(code !== undefined && { code }), ...(passkey && { passkey }) };
    const session = await (how === 'register'
      ? api.call('register', { body: credentials, signal: options.signal })
      : logIn(api, { ...credentials, ...second }, askCode, options.signal));
    api.token = session.token;
    const kek = files && (await engine.hold(files.kek));
    return new Szafa(options, { api, engine, ...account, kek, authSecret });
  }

  get token(): string | undefined {
    return this.api.token;
  }

  /** That the keys are those of this account: see `Keys.check`. */
  checkKeys(options?: CheckOptions): Promise<void> {
    return this.keys.check(options);
  }

  quota(options?: CallOptions): Promise<Quota> {
    return this.api.call('quota', { ...options });
  }

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
   * Another password. All other sessions end; nothing is uploaded again. Where the answer is lost the service is asked which of the two
   * counts: an UnchangedError says the old one, an UnsettledError that it could not be asked, and then the same call again tells.
   */
  changePassword(current: Proof, next: string, options?: CallOptions): Promise<Change> {
    return changePassword(this.#account(options?.signal), current, next);
  }

  /**
   * Another passphrase, for the files, beside a password that stays; or the first one, which takes the files away from the password. The
   * present one is needed where this session has no keys.
   */
  changePassphrase(
    proof: Proof,
    next: string,
    options: CallOptions & { current?: string | undefined } = {},
  ): Promise<Change> {
    return changePassphrase(this.#account(options.signal), proof, next, options.current);
  }

  /** From now on this one, of `newRecoveryKey`, opens the account, and none before it. */
  setRecoveryKey(proof: Proof, key: Bytes, options?: CallOptions): Promise<void> {
    return setRecoveryKey(this.#account(options?.signal), proof, key);
  }

  /**
   * A new master key, for what is sealed from now on; `reseal` then takes the rest over. Passkeys and the recovery key before it open
   * nothing any more, so an account that had a recovery key needs a new one. All other sessions end.
   */
  replaceMaster(proof: Proof, recoveryKey: Bytes | undefined, options?: CallOptions): Promise<void> {
    return replaceMaster(this.#account(options?.signal), proof, recoveryKey);
  }

  /** Seals what is under an earlier master key anew: file keys, names, names of directories. Cut off, the next call does the rest. */
  reseal(options?: ResealOptions): Promise<Resealed> {
    return reseal(this.#context, options);
  }

  /**
   * Reseals the rest after `replaceMaster` until nothing is left, and then retires the earlier master keys: readers refuse anything made
   * with one of them. They stay in force (`retired` is false) while something cannot be resealed,
   * unless `leaveRest`. Cut off anywhere, the same call does what is left.
   */
  finishRekey(proof: Proof, options: FinishRekeyOptions = {}): Promise<FinishedRekey> {
    return finishRekey(this.#context, this.#account(options.signal), proof, options);
  }

  /** What a login asks for beside the password. */
  factors(options?: CallOptions): Promise<Factors> {
    return this.api.call('factors', { ...options });
  }

  /** From now on a login needs a code of this secret, of `newTotpSecret`; the first one shows that the app has it. */
  setTotp(proof: Proof, secret: string, code: string, options?: CallOptions): Promise<void> {
    return setTotp(this.#account(options?.signal), proof, secret, code);
  }

  /** From now on a login takes no code. A passkey will do as well: a FactorError for neither has what it is to sign. */
  removeTotp(proof: Proof, second: Second, options?: CallOptions): Promise<void> {
    return removeTotp(this.#account(options?.signal), proof, second);
  }

  /** What the browser makes a new passkey with. */
  newPasskey(options?: CallOptions): Promise<NewPasskeyRequest> {
    return newPasskey(this.#account(options?.signal));
  }

  /** From now on a login with the password needs a second factor, which this passkey is one of; with a secret it also logs in by itself. */
  addPasskey(proof: Proof, made: MadePasskey, options?: CallOptions): Promise<void> {
    return addPasskey(this.#account(options?.signal), proof, made);
  }

  /** Other sessions that were opened with it end. */
  removePasskey(proof: Proof, id: string, options?: CallOptions): Promise<void> {
    return removePasskey(this.#account(options?.signal), proof, id);
  }

  sessions(options?: CallOptions): Promise<ListedSession[]> {
    return this.api.call('listSessions', { ...options }).then(({ sessions }) => sessions);
  }

  async endSession(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endSession', { params: { session_id: id }, ...options });
  }

  /** All but this one; how many there were. */
  async endOtherSessions(options?: CallOptions): Promise<number> {
    return (await this.api.call('endSessions', { ...options })).ended;
  }

  /** The account with all that it has, for good. */
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

  /** All files, or those of one directory (0 is the root), in the service's order: newest first, it says. */
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

  /** All files and folders, as they are now. */
  async tree(options?: CallOptions): Promise<Tree> {
    return new Tree(...(await Promise.all([this.list(options), this.dirs(options)])));
  }

  /** These files, of one name or of several, newest first by the time that is sealed into each. */
  versions(entries: readonly Entry[], options?: CallOptions): Promise<Version[]> {
    return versionsOf(this.#context, entries, options?.signal);
  }

  /** What is kept of a folder, by what stands for it. */
  folderAttributes(folder: Pick<Folder, 'markers'>, options?: CallOptions): Promise<Attributes> {
    return readAttributes(this.#context, folder, options?.signal);
  }

  /** Keeps mode and times of a folder; nothing is sent if they are kept already. */
  recordFolder(path: string, options?: FolderOptions): Promise<'made' | 'changed' | 'same'> {
    return recordFolder(this.#context, path, options);
  }

  /** Other attributes for a file of this path, whose bytes stay; undefined removes one. */
  async setAttributes(
    { entry, path }: Move,
    attributes: AttributesChange,
    options?: CallOptions,
  ): Promise<void> {
    await resealPaths(this.#context, [{ entry, path, attributes: () => attributes }], options);
  }

  /** What the service has as directories: folders at the top. */
  dirs(options?: CallOptions): Promise<DirEntry[]> {
    return this.#context.places.list(options);
  }

  /** A new directory under a sealed name; `plain` shows the name to the service. */
  makeDir(name: string, options?: CallOptions & { plain?: boolean }): Promise<number> {
    return this.#context.places.make(name, options);
  }

  /** What is in it lies in the root then; one that is not there any more is fine. */
  removeDir(dirId: number, options?: CallOptions): Promise<void> {
    return this.#context.places.remove(dirId, options);
  }

  /** Gives files other paths, each with all its versions; up to a thousand records at once, all or none. */
  rename(moves: readonly Move[], options?: MoveOptions): Promise<void> {
    return rename(this.#context, moves, options);
  }

  /** The same for a folder with all that is in it. */
  renameFolder(from: string, to: string, options?: MoveOptions): Promise<void> {
    return renameFolder(this.#context, from, to, options);
  }

  /** An empty folder, at any depth. */
  makeFolder(path: string, options?: FolderOptions): Promise<void> {
    return makeFolder(this.#context, path, options);
  }

  /** A copy of this version at another path, or as the newest of its own; the id of the new file. */
  copyTo(entry: Entry, path: string, options?: CopyOptions): Promise<string> {
    return copyTo(this.#context, entry, path, options);
  }

  /** Seals and sends as it reads. What has a length and can be read again is resumed; a stream is not. */
  async upload(source: Source | ByteStream, options: UploadOptions): Promise<UploadResult> {
    const { plainName: plain, signal } = options;
    const dirId = await this.#context.places.of(checkPath(options.path), { plain, signal });
    let picture: Bytes | undefined;
    const onThumbnail = (sealed: Bytes) => {
      picture = sealed;
    };
    const placed = { ...options, dirId, onThumbnail };
    if (!isStream(source)) source.begin?.();
    const upload = isStream(source)
      ? new StreamUpload(this.#context, source, placed)
      : new Upload(this.#context, source, placed);
    const result = await upload.run();
    if (picture) await sendThumbnail(this.#context, result.fileId, picture, signal);
    return result;
  }

  /** The small picture of a file; undefined where it has none. */
  async thumbnail(entry: Entry, options?: CallOptions): Promise<Bytes | undefined> {
    const found = (await this.thumbnails([entry], options)).get(entry.fileId);
    if (found?.problem) throw found.problem;
    return found?.bytes;
  }

  /** The same of many, by the ids of the files: a few requests for all of them. */
  thumbnails(entries: readonly Entry[], options?: CallOptions): Promise<Map<string, Thumbnail>> {
    return readThumbnails(this.#context, entries, options);
  }

  /** A small picture for a file that has none; false where it has one. */
  putThumbnail(entry: Entry, bytes: Uint8Array, options?: CallOptions): Promise<boolean> {
    return writeThumbnail(this.#context, entry, bytes, options);
  }

  /** Puts these records into the trash; a thousand at once, all or none. Of a file with versions, name them all. */
  trash(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return trash(this.#context, entries, options);
  }

  /** Takes these out of the trash. */
  restore(entries: readonly Entry[], options?: TreeOptions): Promise<void> {
    return restore(this.#context, entries, options);
  }

  listTrash(options?: CallOptions): Promise<TrashEntry[]> {
    return listTrash(this.#context, options?.signal);
  }

  /** Deletes what is in the trash for good: these, or all of it; how many that were. */
  emptyTrash(options?: TreeOptions & { entries?: readonly Entry[] | undefined }): Promise<number> {
    return emptyTrash(this.#context, options);
  }

  /** Puts a folder into the trash, with all that is in it; those are the result. */
  removeFolder(path: string, options?: TreeOptions): Promise<Entry[]> {
    return removeFolder(this.#context, path, options);
  }

  /** Puts older versions of a file into the trash; those are the result. */
  async prune(node: FileNode, options: PruneOptions = {}): Promise<Entry[]> {
    const older = prunable(node, options);
    await trash(this.#context, older, options);
    return older;
  }

  async #uploadMarker(path: string, folder: FolderOptions = {}): Promise<void> {
    const { plain, mode, special, mtime, nanos, after, signal } = folder;
    const dirId = await this.#context.places.of(path, { plain, signal });
    const options = { path, dirId, type: 'inode/directory', mode, special, mtime, nanos, after, signal };
    await new Upload(this.#context, bytesSource(new Uint8Array(0)), options).run();
  }

  /** The uploads of this account that a journal remembers, and that can go on. */
  unfinished(journal: Journal, options?: CallOptions): Promise<Unfinished[]> {
    return listUnfinished(this.#context, journal, options?.signal);
  }

  /** Bytes of an unfinished upload's file that the service has, of one that a journal remembers. */
  storedOf(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<number> {
    return storedOf(this.#context, journal, unfinished, options?.signal);
  }

  /** Forgets an upload that a journal remembers, and cancels it on the service. */
  abandon(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<void> {
    return abandon(this.#context, journal, unfinished, options?.signal);
  }

  /** Opens and verifies a file's header; its volumes are read from the result. */
  openFile(fileId: string, options: OpenOptions = {}): Promise<RemoteFile> {
    return openFile(this.#context, fileId, options);
  }

  /** A link by which others get these files as they are now, without an account; whoever has it has them. */
  async shareLink(items: readonly ShareItem[], options?: LinkOptions): Promise<Link> {
    return (await sharing()).makeLink(this.#context, items, options);
  }

  /**
   * Shares these files, as they are now, with another account of this service and nobody else; the id of the share. The first time
   * the keys that the service gives for that name are believed, and pinned: compare fingerprints to be sure.
   */
  async shareWith(username: string, items: readonly ShareItem[], options?: ShareOptions): Promise<string> {
    const context = { ...this.#context, contacts: await this.#loadContacts() };
    return (await sharing()).shareWith(context, username, items, options);
  }

  /** What other accounts share with this one, the latest first. */
  async sharedWithMe(options?: CallOptions): Promise<ReceivedShare[]> {
    const context = { ...this.#context, contacts: await this.#loadContacts() };
    return (await sharing()).listReceived(context, options?.signal);
  }

  /** Puts away what another account shares with this one: it ends. */
  async endReceived(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endReceived', { params: { share_id: id }, ...options });
  }

  /** What others compare with what they see of this account. */
  async fingerprint(options?: CallOptions): Promise<string> {
    return fingerprintText(await this.keys.identity(options?.signal));
  }

  async #loadContacts(): Promise<Contacts> {
    const { Contacts } = await sharing();
    this.#contacts ??= new Contacts(this.#context, this.#options.contacts);
    return this.#contacts;
  }

  /** The keys of another account, to be compared. */
  async contact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).show(username, options?.signal);
  }

  /** What is remembered of the keys of another account, without asking the service; undefined where nothing is. */
  async rememberedContact(username: string): Promise<Contact | undefined> {
    return (await this.#loadContacts()).remembered(username);
  }

  /** Two people have compared the fingerprint that `contact` gave. */
  async verifyContact(username: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).verify(username, options?.signal);
  }

  /** Keys of another fingerprint than before are right: this one comes from the account's owner. */
  async acceptContact(username: string, fingerprint: string, options?: CallOptions): Promise<Contact> {
    return (await this.#loadContacts()).accept(username, fingerprint, options?.signal);
  }

  /** What this account shares, by links and with accounts, the latest first; those that are over for a month. */
  async links(options?: CallOptions): Promise<OwnLink[]> {
    return (await sharing()).listLinks(this.#context, options?.signal);
  }

  /** A link by which others upload into a folder of this account, without one of their own. */
  async requestLink(options: RequestOptions): Promise<FileRequest> {
    return (await sharing()).makeRequest(this.#context, options);
  }

  /** What this account asks for, the latest first; those that are over for a month. */
  async requests(options?: CallOptions): Promise<OwnRequest[]> {
    return (await sharing()).listRequests(this.#context, options?.signal);
  }

  /** From now on nobody uploads by it. What was delivered stays. One that is over leaves the list. */
  async endRequest(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endRequest', { params: { request_id: id }, ...options });
  }

  /** Files that came by a request, and that were not taken over yet: they are in no list and no tree. */
  async deliveries(options?: CallOptions): Promise<Delivery[]> {
    return (await sharing()).listDeliveries(this.#context, options?.signal);
  }

  /** Makes a delivery a file of one's own, in the folder of its request or in another one; its path. */
  async takeOver(delivery: Delivery, options?: TakeOverOptions): Promise<string> {
    return (await sharing()).takeOver(this.#context, delivery, options);
  }

  /** Lists the ids in the headers of all files: pass them when you take over several deliveries. */
  async sealedIds(options?: CallOptions): Promise<Set<string>> {
    return (await sharing()).listSealedIds(this.#context, options?.signal);
  }

  /** Deletes a delivery for good; a ConflictError where it is one no more. */
  async dropDelivery(delivery: Delivery, options?: CallOptions): Promise<void> {
    return (await sharing()).dropDelivery(this.#context, delivery, options?.signal);
  }

  /** From now on nobody gets anything by it. One that is over leaves the list. */
  async endShare(id: string, options?: CallOptions): Promise<void> {
    await this.api.call('endShare', { params: { share_id: id }, ...options });
  }

  /** Deletes one record for good, without the trash. */
  async remove(fileId: string, options?: CallOptions): Promise<void> {
    await this.api.call('deleteFile', { params: { file_id: fileId }, ...options });
  }
}
