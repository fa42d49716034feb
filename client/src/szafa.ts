import { cleanUsername, type Quota } from '@szafa/protocol';
import { Api, type ApiOptions, type CallOptions } from './api/api.ts';
import { type OpenContext, type OpenOptions, openFile, type RemoteFile } from './download/remote-file.ts';
import { type Version, versionsOf } from './download/versions.ts';
import { SameSecretError, SzafaError } from './errors.ts';
import type { Bytes } from './format/bytes.ts';
import type { Engine } from './format/engine.ts';
import { deriveAccountKeys } from './format/keys.ts';
import { sealDirName } from './format/names.ts';
import { type CheckOptions, Keyring, type RingCache } from './keyring.ts';
import { type DirEntry, type Entry, listDirEntries, listEntries } from './listing.ts';
import { Budget } from './upload/budget.ts';
import type { Journal } from './upload/journal.ts';
import type { UploadContext, UploadOptions, UploadResult } from './upload/options.ts';
import type { Source } from './upload/source.ts';
import { abandon, type UnfinishedUpload } from './upload/unfinished.ts';
import { Upload } from './upload/upload.ts';
import { webEngine } from './web/engine.ts';

/** Where the service is, and what a session works with. @public */
export interface ConnectOptions extends Omit<ApiOptions, 'token'> {
  /** Web Crypto unless told otherwise; `client/node` has a faster one. */
  engine?: Engine | undefined;
  /** Where the account's rings are kept between sessions. */
  rings?: ((username: string) => RingCache) | undefined;
  signal?: AbortSignal | undefined;
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
}

/** A session kept from before: its token, and either a KEK kept with it or a secret to derive it from. @public */
export interface Kept {
  username: string;
  token: string;
  kek?: Bytes | undefined;
  /** The password, unless the files are under a passphrase: then that. */
  secret?: string | undefined;
}

/** One account on one service: keys, names, uploads and downloads. @public */
export class Szafa {
  readonly api: Api;
  readonly engine: Engine;
  readonly username: string;
  readonly keyring: Keyring;
  readonly #context: OpenContext & UploadContext;

  private constructor(api: Api, engine: Engine, keyring: Keyring, username: string) {
    this.api = api;
    this.engine = engine;
    this.keyring = keyring;
    this.username = username;
    const budget = new Budget(engine.memoryBudget);
    this.#context = { api, engine, keyring, username, budget };
  }

  /** Makes the account and logs in. */
  static register(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('register', options, secrets);
  }

  static login(options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    return Szafa.#enter('login', options, secrets);
  }

  /** Goes on with a token; no request is made. Without a KEK or a secret only what needs no keys works. */
  static async open(options: ConnectOptions, kept: Kept): Promise<Szafa> {
    const { username, token, secret } = kept;
    const engine = options.engine ?? webEngine();
    const api = new Api({ ...options, token });
    const derive = kept.kek === undefined && secret !== undefined;
    const kek = derive ? (await deriveAccountKeys(engine, username, secret)).kek : kept.kek;
    return Szafa.#with(options, api, engine, username, kek, secret);
  }

  static async #enter(how: 'register' | 'login', options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    const { password, passphrase, raw } = secrets;
    const username = cleanUsername(secrets.username);
    const engine = options.engine ?? webEngine();
    const api = new Api(options);
    if (raw && passphrase?.normalize('NFC') === password.normalize('NFC')) throw new SameSecretError();
    const account = raw ? undefined : await deriveAccountKeys(engine, username, password);
    const files = passphrase === undefined ? account : await deriveAccountKeys(engine, username, passphrase);
    const credentials = { username, password: account?.authSecret ?? password };
    const session = await api[how](credentials, { signal: options.signal });
    api.token = session.token;
    const secret = passphrase ?? (raw ? undefined : password);
    return Szafa.#with(options, api, engine, username, files?.kek, secret);
  }

  static #with(
    { rings }: ConnectOptions,
    api: Api,
    engine: Engine,
    username: string,
    kek: Bytes | undefined,
    secret: string | undefined,
  ): Szafa {
    const cache = rings?.(username);
    return new Szafa(api, engine, new Keyring({ engine, api, username, kek, secret, cache }), username);
  }

  get token(): string | undefined {
    return this.api.token;
  }

  /** That the keys are those of this account's files: see `Keyring.check`. */
  checkKeys(options?: CheckOptions): Promise<boolean> {
    return this.keyring.check(options);
  }

  quota(options?: CallOptions): Promise<Quota> {
    return this.api.quota(options);
  }

  async logout(options?: CallOptions): Promise<void> {
    await this.api.logout(options);
    this.api.token = undefined;
  }

  /** All files, or those of one directory (0 is the root), in the service's order: newest first, it says. */
  async list(options: CallOptions & { dirId?: number | undefined } = {}): Promise<Entry[]> {
    return listEntries(this.#context, await Array.fromAsync(this.api.files(options)), options.signal);
  }

  /** These files, of one name or of several, newest first by the time that is sealed into each. */
  versions(entries: readonly Entry[], options?: CallOptions): Promise<Version[]> {
    return versionsOf(this.#context, entries, options?.signal);
  }

  async dirs(options?: CallOptions): Promise<DirEntry[]> {
    return listDirEntries(this.#context, await this.api.listDirs(options));
  }

  /** The directory of this name; of a sealed and a plain one with the same name, the sealed one. */
  async findDir(name: string, options?: CallOptions): Promise<DirEntry | undefined> {
    const found = (await this.dirs(options)).filter((dir) => dir.name === name);
    return found.find((dir) => dir.verified) ?? found[0];
  }

  /** A new directory under a sealed name; `plain` shows the name to the service. */
  async makeDir(name: string, options: CallOptions & { plain?: boolean } = {}): Promise<number> {
    const text = options.plain ? name : await sealDirName(this.engine, this.keyring.kek, name);
    return (await this.api.createDir(text, { signal: options.signal })).dir_id;
  }

  /** The directory of this name, made when it is not there; another device may win the race. */
  async ensureDir(name: string, options: CallOptions & { plain?: boolean } = {}): Promise<number> {
    const found = await this.findDir(name, options);
    if (found) return found.dirId;
    try {
      return await this.makeDir(name, options);
    } catch (error) {
      const now =
        error instanceof SzafaError && error.code === 'api' ? await this.findDir(name, options) : undefined;
      if (!now) throw error;
      return now.dirId;
    }
  }

  async upload(source: Source, options: UploadOptions): Promise<UploadResult> {
    return new Upload(this.#context, source, options).run();
  }

  /** Forgets an upload that a journal remembers, and cancels it on the service. */
  abandon(journal: Journal, unfinished: UnfinishedUpload, options?: CallOptions): Promise<void> {
    return abandon(this.#context, journal, unfinished, options?.signal);
  }

  /** Opens and verifies a file's header; its volumes are read from the result. */
  openFile(fileId: string, options: OpenOptions = {}): Promise<RemoteFile> {
    return openFile(this.#context, fileId, options);
  }

  async move(fileId: string, dirId: number | null, options?: CallOptions): Promise<void> {
    await this.api.moveFile(fileId, dirId, options);
  }

  async copy(fileId: string, dirId: number | null, options?: CallOptions): Promise<string> {
    return (await this.api.cloneFile(fileId, dirId, options)).file_id;
  }

  async remove(fileId: string, options?: CallOptions): Promise<void> {
    await this.api.deleteFile(fileId, options);
  }
}
