import { cleanUsername, type Quota } from '@szafa/protocol';
import { Api, type ApiOptions, type CallOptions } from './api/api.ts';
import type { HeaderCaches } from './download/header-cache.ts';
import { type OpenContext, type OpenOptions, openFile, type RemoteFile } from './download/remote-file.ts';
import { type Version, versionsOf } from './download/versions.ts';
import { SameSecretError, SzafaError, TamperedError } from './errors.ts';
import { makeBag } from './format/bag.ts';
import { type Bytes, toBase64Url } from './format/bytes.ts';
import type { Engine } from './format/engine.ts';
import { type AccountName, deriveAccountKeys } from './format/keys.ts';
import { sealDirName } from './format/names.ts';
import { type CheckOptions, Keys, type KeysOptions, type PinStore } from './keys.ts';
import { type DirEntry, type Entry, listDirEntries, listEntries } from './listing.ts';
import type { Journal } from './upload/journal.ts';
import { VolumeMemory } from './upload/memory.ts';
import type { UploadContext, UploadOptions, UploadResult } from './upload/options.ts';
import type { Source } from './upload/source.ts';
import { type ByteStream, isStream } from './upload/stream.ts';
import { StreamUpload } from './upload/stream-upload.ts';
import { abandon, storedOf, type UnfinishedUpload } from './upload/unfinished.ts';
import { Upload } from './upload/upload.ts';
import { webEngine } from './web/engine.ts';

/** Where the service is, and what a session works with. @public */
export interface ConnectOptions extends Omit<ApiOptions, 'token'> {
  /** Web Crypto unless told otherwise; `client/node` has a faster one. */
  engine?: Engine | undefined;
  /** What is remembered of services and key bags between sessions. */
  pins?: Pins | undefined;
  /** Where headers of files are kept between sessions. */
  headers?: HeaderCaches | undefined;
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
}

/** A session kept from before: its token, and either a KEK kept with it or a secret to derive it from. @public */
export interface Kept {
  username: string;
  token: string;
  kek?: Bytes | undefined;
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
  const { service_id: serviceId } = await api.service({ signal });
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

/** One account on one service: keys, names, uploads and downloads. @public */
export class Szafa {
  readonly api: Api;
  readonly engine: Engine;
  readonly username: string;
  readonly keys: Keys;
  readonly #context: OpenContext & UploadContext;

  private constructor({ pins, headers }: ConnectOptions, options: Omit<KeysOptions, 'pin'>) {
    const { api, engine, username } = options;
    const keys = new Keys({ ...options, pin: pins?.of(username) });
    this.api = api;
    this.engine = engine;
    this.keys = keys;
    this.username = username;
    const memory = new VolumeMemory();
    this.#context = { api, engine, keys, headers: headers?.of(username), username, memory };
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
      return new Szafa(options, { api, engine, username, kek: kept.kek });
    }
    const account = await accountAt(api, username, options);
    const { kek, authSecret } = await deriveAccountKeys(engine, account, secret);
    const known = {
      ...account,
      kek: await engine.hold(kek),
      authSecret: isPassword ? authSecret : undefined,
    };
    return new Szafa(options, { api, engine, ...known });
  }

  static async #enter(how: 'register' | 'login', options: ConnectOptions, secrets: Secrets): Promise<Szafa> {
    const { password, passphrase, raw, invite } = secrets;
    const username = cleanUsername(secrets.username);
    const engine = options.engine ?? webEngine();
    const api = new Api(options);
    if (raw && passphrase?.normalize('NFC') === password.normalize('NFC')) throw new SameSecretError();
    const account = await accountAt(api, username, options);
    const own = raw ? undefined : await deriveAccountKeys(engine, account, password);
    const files = passphrase === undefined ? own : await deriveAccountKeys(engine, account, passphrase);
    const authSecret = own?.authSecret ?? password;
    const bag = how === 'register' && files ? await makeBag(engine, account, files.kek) : undefined;
    const credentials = {
      username,
      password: authSecret,
      ...(bag && { keys: toBase64Url(bag) }),
      ...(how === 'register' && invite !== undefined && { invite }),
    };
    const session = await api[how](credentials, { signal: options.signal });
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
    return this.api.quota(options);
  }

  async logout(options?: CallOptions): Promise<void> {
    await this.api.logout(options);
    this.api.token = undefined;
  }

  /** All files, or those of one directory (0 is the root), in the service's order: newest first, it says. */
  async list(options: CallOptions & { dirId?: number | undefined } = {}): Promise<Entry[]> {
    const records = await Array.fromAsync(this.api.files(options));
    this.#context.headers?.listed(options.dirId, records);
    return listEntries(this.#context, records, options.signal);
  }

  /** These files, of one name or of several, newest first by the time that is sealed into each. */
  versions(entries: readonly Entry[], options?: CallOptions): Promise<Version[]> {
    return versionsOf(this.#context, entries, options?.signal);
  }

  async dirs(options?: CallOptions): Promise<DirEntry[]> {
    return listDirEntries(this.#context, await this.api.listDirs(options), options?.signal);
  }

  /** The directory of this name; of a sealed and a plain one with the same name, the sealed one. */
  async findDir(name: string, options?: CallOptions): Promise<DirEntry | undefined> {
    const found = (await this.dirs(options)).filter((dir) => dir.name === name);
    return found.find((dir) => dir.verified) ?? found[0];
  }

  /** A new directory under a sealed name; `plain` shows the name to the service. */
  async makeDir(name: string, options: CallOptions & { plain?: boolean } = {}): Promise<number> {
    const { plain, signal } = options;
    const seal = async () => sealDirName(this.engine, (await this.keys.current(signal)).key, name);
    return (await this.api.createDir(plain ? name : await seal(), { signal })).dir_id;
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

  /** Seals and sends as it reads. What has a length and can be read again is resumed; a stream is not. */
  upload(source: Source | ByteStream, options: UploadOptions): Promise<UploadResult> {
    if (isStream(source)) return new StreamUpload(this.#context, source, options).run();
    return new Upload(this.#context, source, options).run();
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
