/** Every call of the interface, one method each. One file: it is read beside the table of routes, in whose order it is. */
import { BAGLESS_PROFILE } from '@szafa/format';
import {
  type CompleteBody,
  type Credentials,
  contentDigest,
  DIGEST_BYTES,
  type Directory,
  type DirNameBody,
  decodeEncParams,
  type Factors,
  type FileRecord,
  type FilesBody,
  type FinishRecoveryBody,
  headers as headerNames,
  type InitBody,
  isKeys,
  type KeysBody,
  type ListedRequest,
  type ListedSession,
  type ListedShare,
  limits,
  type NamesBody,
  type NewPasskeyBody,
  type NewPasskeyRequest,
  type NewToken,
  type OpenedRequest,
  type OpenedShare,
  type OwnBody,
  type PasskeyEntry,
  type PasskeyRequest,
  type PasswordBody,
  type ProfileBody,
  type PullBody,
  type PullProgress,
  pathOf,
  type Quota,
  type ReadThumbnail,
  type ReceivedShare,
  type ReceivedVolume,
  type RecoverBody,
  type Registration,
  type RemovePasskeyBody,
  type RequestBody,
  type RouteName,
  RuleError,
  routes,
  type ServiceInfo,
  type Session,
  type ShareBody,
  type StoredIdentity,
  type StreamedInitBody,
  type TokenBody,
  type TotpBody,
  type TotpOffBody,
  type TrashedFile,
  type UploadBody,
} from '@szafa/protocol';
import { ApiError, NetworkError, NotTheServiceError, TamperedError } from '../errors.ts';
import { checkServer, errorOf, GONE, parseJson } from './answer.ts';
import { defaultRetry, type Repeatable, type RetryPolicy, withRetry } from './retry.ts';
import {
  areDirectories,
  areFactors,
  areNumbers,
  areReceived,
  areRecords,
  areRequests,
  areSessions,
  areShares,
  areTexts,
  areThumbnails,
  areTrashed,
  areVolumes,
  hasFileId,
  isBegunUpload,
  isChanges,
  isEmptied,
  isIdentityAnswer,
  isNewPasskeyRequest,
  isNewToken,
  isOpenedRequest,
  isOpenedShare,
  isPasskeyRequest,
  isProfile,
  isQuota,
  isServiceInfo,
  isSession,
  isTag,
  isTrashedHeader,
  isUser,
} from './shapes.ts';
import {
  fetchTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './transport.ts';

export interface ApiOptions {
  /** Address of the service, without a trailing slash. */
  server: string;
  token?: string | undefined;
  transport?: Transport | undefined;
  retry?: Partial<RetryPolicy> | undefined;
  onRetry?: ((error: Error, waitMs: number) => void) | undefined;
}

/** For every call of the interface. @public */
export interface CallOptions {
  signal?: AbortSignal | undefined;
}

/** Bytes `from` to before `to`. @public */
export interface ByteRange {
  from: number;
  to: number;
}

export interface VolumeOptions extends CallOptions {
  onBytes?: ((bytes: number) => void) | undefined;
  into?: ((length: number) => Uint8Array) | undefined;
}

/** A volume as it came, or only what its headers say. @public */
export interface VolumeAnswer {
  encParams: Record<string, unknown>;
  /** The same as it came, in base64: its digest names what a new one takes the place of. */
  encParamsText: string;
  chunkCount: number;
  /** `body` is the range that was asked for, and not all of the volume. */
  isRange: boolean;
  body: Uint8Array;
}

/** A key bag, and the tag by which it can be replaced. @public */
export interface TaggedKeys {
  keys: string;
  tag: string;
}

interface ListPage {
  files: unknown;
  next_cursor?: string;
}

interface Call extends VolumeOptions {
  params?: Record<string, string | number>;
  query?: Record<string, string | number | undefined>;
  json?: object;
  bytes?: Uint8Array;
  headers?: Record<string, string>;
  maxBytes?: number;
  timeoutMs?: number;
}

/**
 * What may be sent twice. Everything that reads may; so may what ends in the same state. A second init leaves
 * at most a transfer without volumes behind, which the service clears away, and losing an upload to one lost
 * answer is worse. Register, a new directory, a clone, a pull and
 * what changes or ends an account would report their own success as a conflict.
 */
const repeatable: Partial<Record<RouteName, Repeatable>> = {
  register: 'unsent',
  createDir: 'unsent',
  cloneFile: 'unsent',
  pull: 'unsent',
  logout: 'unsent',
  changePassword: 'unsent',
  finishRecovery: 'unsent',
  leave: 'unsent',
  createToken: 'unsent',
  setTotp: 'unsent',
  removeTotp: 'unsent',
  passkeyLogin: 'unsent',
  addPasskey: 'unsent',
  removePasskey: 'unsent',
};
/** Of a list. */
interface ListOptions extends CallOptions {
  /** With `enc_params` of each file. */
  headers?: boolean | undefined;
}

/** When an attempt got no answer, "not found" on the next one means that it had worked. */
const removing = new Set<RouteName>([
  ...(['deleteFile', 'deleteDir', 'cancel', 'endSession', 'endShare', 'endReceived'] as const),
  'endRequest',
]);

/** Whose answers are long, and come while they are read. */
const sendsVolumes = new Set<RouteName>(['readVolume', 'readSharedVolume']);

const NAMELESS = 'a file without its id';
const NO_SUCH_ROUTE = new Set([404, 405]);

const JSON_BYTES = 64 * 1024 * 1024;
/** In base64, each with its header and what stands around them. */
const MOST_THUMBNAILS_BYTES =
  limits.thumbnailsPerBatch * (limits.thumbnailBytes * 1.5 + limits.encParamsBase64Bytes + 1024);
const MOST_DIGEST_BYTES = limits.volumesPerFile * DIGEST_BYTES;
const QUIET_MS = 60_000;
/** The slowest line a volume is still waited for. */
const SLOW_BYTES_PER_MS = 16;

function patience(bytes: number): number {
  return Math.ceil(QUIET_MS + bytes / SLOW_BYTES_PER_MS);
}

const rangeHeader = (range: ByteRange | undefined): Record<string, string> =>
  range ? { range: `bytes=${range.from}-${range.to - 1}` } : {};

function paramsIn(text: string): Record<string, unknown> {
  try {
    return decodeEncParams(text);
  } catch (cause) {
    if (!(cause instanceof RuleError)) throw cause;
    throw new TamperedError('params', cause.message, { cause });
  }
}

/** One method for each endpoint, with the service's own names in what they take and give. @public */
export class Api {
  readonly server: string;
  token: string | undefined;
  readonly #transport: Transport;
  readonly #policy: RetryPolicy;
  readonly #onRetry: ApiOptions['onRetry'];
  /** Until it turns out that the service knows no files in one request. */
  #takesFiles = true;

  constructor(options: ApiOptions) {
    this.server = checkServer(options.server);
    this.token = options.token;
    this.#transport = options.transport ?? fetchTransport;
    this.#policy = { ...defaultRetry, ...options.retry };
    this.#onRetry = options.onRetry;
  }

  /** Which service this is. */
  async service(options?: CallOptions): Promise<ServiceInfo> {
    try {
      return this.#expect(await this.#json('service', { ...options }), isServiceInfo, 'no service id');
    } catch (error) {
      if (!(error instanceof ApiError && NO_SUCH_ROUTE.has(error.status))) throw error;
      throw new NotTheServiceError(this.server, error.status, 'no service id', { cause: error });
    }
  }

  register(registration: Registration, options?: CallOptions): Promise<Session> {
    return this.#enter('register', registration, options);
  }

  /** The KDF profile of an account; 1 at a service that does not know the question. */
  async profile(json: ProfileBody, { signal }: CallOptions = {}): Promise<number> {
    try {
      return this.#expect(await this.#json('readProfile', { json, signal }), isProfile, 'no profile').profile;
    } catch (error) {
      if (error instanceof ApiError && (error.status === 404 || error.status === 405)) return BAGLESS_PROFILE;
      throw error;
    }
  }

  login(credentials: Credentials, options?: CallOptions): Promise<Session> {
    return this.#enter('login', credentials, options);
  }

  async #enter(how: 'register' | 'login', json: Registration, options?: CallOptions): Promise<Session> {
    return this.#expect(await this.#json(how, { json, ...options }), isSession, 'no session');
  }

  async me(options?: CallOptions): Promise<{ username: string }> {
    return this.#expect(await this.#json('me', { ...options }), isUser, 'no username');
  }

  logout(options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('logout', { ...options });
  }

  /** The account's key bag; undefined where it has none. */
  async keys(options?: CallOptions): Promise<string | undefined> {
    const response = await this.#readKeys(options);
    return response && this.#keysIn(response);
  }

  /** The same with the tag by which it can be replaced. */
  async storedKeys(options?: CallOptions): Promise<TaggedKeys | undefined> {
    const response = await this.#readKeys(options);
    return response && this.#taggedKeys(response);
  }

  async #readKeys(options?: CallOptions): Promise<TransportResponse | undefined> {
    try {
      return await this.#call('readKeys', { signal: options?.signal });
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** False when the account has a key bag already; also when it is this one, stored by an attempt whose answer was lost. */
  async writeFirstKeys(json: KeysBody, options?: CallOptions): Promise<boolean> {
    try {
      await this.#json('writeKeys', { json, headers: { 'if-none-match': '*' }, signal: options?.signal });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 412) return false;
      throw error;
    }
  }

  /** Replaces the key bag that has this tag, and says the tag of the new one. 412 where there is another one by now. */
  async replaceKeys(json: KeysBody, tag: string, options?: CallOptions): Promise<string> {
    const headers = { 'if-match': tag };
    return this.#tag(await this.#call('writeKeys', { json, headers, signal: options?.signal }));
  }

  /**
   * Changes the password, and the key bag that has this tag with it; all other sessions end. An account without a key bag
   * has no tag. 403: the current password is wrong; 412: the account is another one by now.
   */
  changePassword(json: PasswordBody, tag: string | undefined, options?: CallOptions): Promise<{ ok: true }> {
    const headers: Record<string, string> = tag === undefined ? {} : { 'if-match': tag };
    return this.#json('changePassword', { json, headers, signal: options?.signal });
  }

  /** First step of a recovery: the key bag with its tag, and a token for the second step. 401: wrong name or recovery key. */
  async recover(json: RecoverBody, options?: CallOptions): Promise<TaggedKeys & { token: string }> {
    const response = await this.#call('recover', { json, signal: options?.signal });
    const { token } = this.#expect(parseJson(response, this.server), isSession, 'no token');
    return { ...this.#taggedKeys(response), token };
  }

  /** Second step: everything new, and a session as after a login. */
  async finishRecovery(json: FinishRecoveryBody, tag: string, options?: CallOptions): Promise<Session> {
    const call = { json, headers: { 'if-match': tag }, signal: options?.signal };
    return this.#expect(await this.#json('finishRecovery', call), isSession, 'no session');
  }

  /** Deletes the account with all that it has. */
  leave(password: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('leave', { json: { password }, timeoutMs: 10 * QUIET_MS, signal: options?.signal });
  }

  /** A token that may do less than this one; it is among the sessions. */
  async createToken(json: TokenBody, options?: CallOptions): Promise<NewToken> {
    const { signal } = options ?? {};
    return this.#expect(await this.#json('createToken', { json, signal }), isNewToken, 'no token');
  }

  async sessions(options?: CallOptions): Promise<ListedSession[]> {
    const { sessions } = await this.#json<{ sessions: unknown }>('listSessions', { ...options });
    return this.#expect(sessions, areSessions, 'a list of another kind');
  }

  endSession(id: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('endSession', { params: { session_id: id }, ...options });
  }

  /** All but this one. */
  endOtherSessions(options?: CallOptions): Promise<{ ok: true; ended: number }> {
    return this.#json('endSessions', { ...options });
  }

  /** What a login asks for beside the password. */
  async factors(options?: CallOptions): Promise<Factors> {
    return this.#expect(await this.#json('factors', { ...options }), areFactors, 'factors of another kind');
  }

  /** 403: the password is wrong; with `factors` in the body, the code. 409: it is on. */
  setTotp(json: TotpBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('setTotp', { json, ...options });
  }

  /** 403 likewise; 404: it is off. */
  removeTotp(json: TotpOffBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('removeTotp', { json, ...options });
  }

  /** What a passkey signs that logs in by itself. 404 where the service offers none. */
  async passkeyChallenge(options?: CallOptions): Promise<PasskeyRequest> {
    const answer = await this.#json('passkeyChallenge', { ...options });
    return this.#expect(answer, isPasskeyRequest, 'no challenge');
  }

  async passkeyLogin(json: PasskeyEntry, options?: CallOptions): Promise<Session> {
    const answer = await this.#json('passkeyLogin', { json, ...options });
    const session = this.#expect(answer, isSession, 'no session');
    return this.#expect(session, (one): one is Session => isUser(one), 'no username');
  }

  async newPasskey(options?: CallOptions): Promise<NewPasskeyRequest> {
    const answer = await this.#json('newPasskey', { ...options });
    return this.#expect(answer, isNewPasskeyRequest, 'no challenge');
  }

  /** `tag`: of the key bag that is replaced, where one comes along. */
  addPasskey(json: NewPasskeyBody, tag: string | undefined, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('addPasskey', {
      json,
      ...(tag !== undefined && { headers: { 'if-match': tag } }),
      ...options,
    });
  }

  removePasskey(
    id: string,
    json: RemovePasskeyBody,
    tag: string | undefined,
    options?: CallOptions,
  ): Promise<{ ok: true }> {
    const headers = tag === undefined ? {} : { headers: { 'if-match': tag } };
    return this.#json('removePasskey', { params: { passkey_id: id }, json, ...headers, ...options });
  }

  async quota(options?: CallOptions): Promise<Quota> {
    return this.#expect(await this.#json('quota', { ...options }), isQuota, 'a quota of another kind');
  }

  createDir(name: string, options?: CallOptions): Promise<{ ok: true; dir_id: number; name: string }> {
    return this.#json('createDir', { json: { name }, ...options });
  }

  async listDirs(options?: CallOptions): Promise<Directory[]> {
    const { dirs } = await this.#json<{ dirs: unknown }>('listDirs', { ...options });
    return this.#expect(dirs, areDirectories, 'a list of another kind');
  }

  /** `match` is the name that it has now. */
  renameDir(dirId: number, json: DirNameBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('renameDir', { params: { dir_id: dirId }, json, ...options });
  }

  deleteDir(dirId: number, options?: CallOptions): Promise<{ ok: true; dir_id: number }> {
    return this.#json('deleteDir', { params: { dir_id: dirId }, ...options });
  }

  /** All files, or those of one directory (0 is the root), newest first, fetched page by page. */
  async *files(options: CallOptions & { dirId?: number | undefined } = {}): AsyncGenerator<FileRecord> {
    for await (const page of this.filePages(options)) yield* page;
  }

  /** The same page by page: for ten thousand files each step of a generator counts. */
  filePages(options: ListOptions & { dirId?: number | undefined } = {}): AsyncGenerator<FileRecord[]> {
    return this.#pages('listFiles', { dir_id: options.dirId }, areRecords, options);
  }

  async *#pages<Shown>(
    route: 'listFiles' | 'listTrash',
    query: Record<string, number | undefined>,
    fit: (value: unknown) => value is Shown[],
    { headers, signal }: ListOptions,
  ): AsyncGenerator<Shown[]> {
    const page = headers ? { limit: limits.headersPage, headers: 1 } : { limit: limits.listPage };
    const read = (cursor?: string) => {
      const call = { query: { ...page, cursor, ...query }, signal };
      return this.#json<ListPage>(route, call);
    };
    let cursor: string | undefined;
    let coming: Promise<ListPage> | undefined = read();
    while (coming) {
      const { files, next_cursor: next }: ListPage = await coming;
      // On its way while this one is worked on.
      coming = next === undefined || next === cursor ? undefined : read(next);
      coming?.catch(() => {}); // awaited in the next round
      cursor = next;
      yield this.#expect(files, fit, 'a list of another kind');
    }
  }

  deleteFile(fileId: string, options?: CallOptions): Promise<{ ok: true; file_id: string }> {
    return this.#json('deleteFile', { params: { file_id: fileId }, ...options });
  }

  moveFile(fileId: string, dirId: number | null, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('moveFile', { params: { file_id: fileId }, json: { dir_id: dirId }, ...options });
  }

  /** None is renamed where some are not as they were seen; these are the result. */
  async renameFiles(json: NamesBody, options?: CallOptions): Promise<string[]> {
    try {
      await this.#json('renameFiles', { json, ...options });
      return [];
    } catch (error) {
      return this.#refused(error, 412);
    }
  }

  /** None is put into the trash where some are not the caller's; these are the result. */
  trashFiles(files: string[], options?: CallOptions): Promise<string[]> {
    return this.#eachOf('trashFiles', files, options);
  }

  /** The same way back. */
  restoreFiles(files: string[], options?: CallOptions): Promise<string[]> {
    return this.#eachOf('restoreFiles', files, options);
  }

  async #eachOf(
    route: 'trashFiles' | 'restoreFiles',
    files: string[],
    options?: CallOptions,
  ): Promise<string[]> {
    try {
      await this.#json(route, { json: { files }, ...options });
      return [];
    } catch (error) {
      return this.#refused(error, 404);
    }
  }

  /** The ids that an error of this status names; any other error goes on. */
  #refused(error: unknown, status: number): string[] {
    const files = error instanceof ApiError && error.status === status ? error.body['files'] : undefined;
    if (!areTexts(files) || files.length === 0) throw error;
    return files;
  }

  /** All that is in the trash, latest first, fetched page by page. */
  async *trash(options: CallOptions = {}): AsyncGenerator<TrashedFile> {
    for await (const page of this.trashPages(options)) yield* page;
  }

  /** The same page by page. */
  trashPages(options: ListOptions = {}): AsyncGenerator<TrashedFile[]> {
    return this.#pages('listTrash', {}, areTrashed, options);
  }

  /** What X-Enc-Params would say of a file that is in the trash. */
  async readTrashed(
    fileId: string,
    options?: CallOptions,
  ): Promise<Pick<VolumeAnswer, 'encParams' | 'encParamsText'>> {
    const answer = await this.#json('readTrashed', { params: { file_id: fileId }, ...options });
    const { enc_params: encParamsText } = this.#expect(answer, isTrashedHeader, 'no enc_params');
    return { encParams: paramsIn(encParamsText), encParamsText };
  }

  /** Deletes these files of the trash for good; how many of them were there. */
  async emptyTrash(files: string[], options?: CallOptions): Promise<number> {
    const answer = await this.#json('emptyTrash', { json: { files } satisfies FilesBody, ...options });
    return this.#expect(answer, isEmptied, 'no count').removed;
  }

  /** Another text after any change of files and directories, by whomever. */
  async changes(options?: CallOptions): Promise<string> {
    return this.#expect(await this.#json('changes', { ...options }), isChanges, 'no state').rev;
  }

  async cloneFile(fileId: string, dirId: number | null, options?: CallOptions): Promise<{ file_id: string }> {
    const said = { params: { file_id: fileId }, json: { dir_id: dirId } };
    const answer = await this.#json('cloneFile', { ...said, timeoutMs: 10 * QUIET_MS, ...options });
    return this.#expect(answer, hasFileId, NAMELESS);
  }

  /** One volume, at most `maxBytes` long, or a range of it; a service that knows no ranges gives all of it. */
  async readVolume(
    fileId: string,
    idx: number,
    maxBytes: number,
    { range, ...options }: VolumeOptions & { range?: ByteRange | undefined } = {},
  ): Promise<VolumeAnswer> {
    const timeoutMs = patience(maxBytes);
    const call = {
      params: { file_id: fileId, idx },
      headers: rangeHeader(range),
      maxBytes,
      timeoutMs,
      ...options,
    };
    return this.#volume(await this.#call('readVolume', call));
  }

  /** What the headers of a volume say, without its bytes. */
  async headVolume(fileId: string, idx: number, options?: CallOptions): Promise<VolumeAnswer> {
    return this.#volume(await this.#call('readHeader', { params: { file_id: fileId, idx }, ...options }));
  }

  /** The SHA-256 of every volume of a file, one behind the other. */
  async readDigests(fileId: string, options?: CallOptions): Promise<Uint8Array> {
    const call = { params: { file_id: fileId }, maxBytes: MOST_DIGEST_BYTES, ...options };
    return (await this.#call('readDigests', call)).body;
  }

  /** Gives a file its thumbnail. False when it has another one; one of the same digest may be sent again. */
  async writeThumbnail(
    fileId: string,
    bytes: Uint8Array,
    sha256: string,
    options?: CallOptions,
  ): Promise<boolean> {
    const headers = { [headerNames.contentDigest]: contentDigest(sha256) };
    try {
      await this.#json('writeThumbnail', { params: { file_id: fileId }, headers, bytes, ...options });
      return true;
    } catch (error) {
      if (error instanceof ApiError && error.status === 409) return false;
      throw error;
    }
  }

  /** Undefined where the file, if it is there, has none. */
  async readThumbnail(fileId: string, options?: CallOptions): Promise<Uint8Array | undefined> {
    const call = { params: { file_id: fileId }, maxBytes: limits.thumbnailBytes, ...options };
    try {
      return (await this.#call('readThumbnail', call)).body;
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return undefined;
      throw error;
    }
  }

  /** Those of several files, up to `limits.thumbnailsPerBatch`, and what each is opened with; without those of files that are not there. */
  async readThumbnails(files: string[], options?: CallOptions): Promise<ReadThumbnail[]> {
    const { thumbnails } = await this.#json<{ thumbnails: unknown }>('readThumbnails', {
      ...{ json: { files }, maxBytes: MOST_THUMBNAILS_BYTES, ...options },
    });
    return this.#expect(thumbnails, areThumbnails, 'thumbnails of another kind');
  }

  init(body: InitBody, options?: CallOptions): Promise<{ transfer_id: string }> {
    return this.#json('init', { json: body, ...options });
  }

  /** Beyond the specification: a transfer whose digests, or even its length, are not known yet. */
  initStreamed(
    body: Omit<StreamedInitBody, 'streamed'>,
    options?: CallOptions,
  ): Promise<{ transfer_id: string }> {
    return this.#json('init', { json: { streamed: true, ...body }, ...options });
  }

  async received(transferId: string, options?: CallOptions): Promise<number[]> {
    const params = { transfer_id: transferId };
    const { received } = await this.#json<{ received: unknown }>('received', { params, ...options });
    return this.#expect(received, areNumbers, 'volumes that are no numbers');
  }

  /** The same of a streamed transfer, with sizes and digests, by which a client knows its own volumes again. */
  async receivedStreamed(transferId: string, options?: CallOptions): Promise<ReceivedVolume[]> {
    const params = { transfer_id: transferId };
    const { volumes } = await this.#json<{ volumes: unknown }>('received', { params, ...options });
    return this.#expect(volumes, areVolumes, 'volumes without digests');
  }

  /** `sha256`: the digest of the volume in hex, which one of a streamed transfer needs. */
  writeVolume(
    transferId: string,
    idx: number,
    bytes: Uint8Array,
    { sha256, ...options }: VolumeOptions & { sha256?: string | undefined } = {},
  ): Promise<{ ok: true }> {
    return this.#json('writeVolume', {
      params: { transfer_id: transferId, idx },
      ...(sha256 !== undefined && { headers: { [headerNames.contentDigest]: contentDigest(sha256) } }),
      bytes,
      timeoutMs: patience(bytes.length),
      ...options,
    });
  }

  /**
   * A file of one volume in one request, under an id made up here; `init` is what X-Init carries. Undefined when the
   * service knows no such request.
   */
  async writeFile(
    transferId: string,
    init: string,
    bytes: Uint8Array,
    options?: VolumeOptions,
  ): Promise<{ file_id: string } | undefined> {
    if (!this.#takesFiles) return undefined;
    const timeoutMs = patience(bytes.length);
    const headers = { [headerNames.init]: init };
    const call = { params: { transfer_id: transferId }, headers, bytes, timeoutMs, ...options };
    try {
      return this.#expect(await this.#json('writeFile', call), hasFileId, NAMELESS);
    } catch (error) {
      if (!(error instanceof ApiError && NO_SUCH_ROUTE.has(error.status))) throw error;
      this.#takesFiles = false;
      return undefined;
    }
  }

  pull(
    transferId: string,
    body: PullBody,
    options?: CallOptions,
  ): Promise<{ ok: true; pulled: number; total: number }> {
    const timeoutMs = limits.pullSeconds * 1000 + QUIET_MS;
    return this.#json('pull', { params: { transfer_id: transferId }, json: body, timeoutMs, ...options });
  }

  pullStatus(transferId: string, options?: CallOptions): Promise<PullProgress> {
    return this.#json('pullStatus', { params: { transfer_id: transferId }, ...options });
  }

  /** Answers with the volumes that are there when some are missing. */
  complete(transferId: string, options?: CallOptions): Promise<{ file_id: string } | { received: number[] }> {
    return this.#complete({ params: { transfer_id: transferId }, ...options });
  }

  /** The same for a streamed transfer, with what the file is. */
  completeStreamed(
    transferId: string,
    body: CompleteBody,
    options?: CallOptions,
  ): Promise<{ file_id: string } | { received: number[] }> {
    return this.#complete({ params: { transfer_id: transferId }, json: body, ...options });
  }

  async #complete(said: Call): Promise<{ file_id: string } | { received: number[] }> {
    try {
      const call = { timeoutMs: 10 * QUIET_MS, ...said };
      return this.#expect(await this.#json('complete', call), hasFileId, NAMELESS);
    } catch (error) {
      const incomplete =
        error instanceof ApiError && error.status === 409 && error.body['status'] === 'incomplete';
      if (!incomplete) throw error;
      const received = error.body['received'];
      return { received: areNumbers(received) ? received : [] };
    }
  }

  cancel(transferId: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('cancel', { params: { transfer_id: transferId }, ...options });
  }

  /** The same share again is no other one. */
  createShare(json: ShareBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('createShare', { json, ...options });
  }

  async shares(options?: CallOptions): Promise<ListedShare[]> {
    const { shares } = await this.#json<{ shares: unknown }>('listShares', { ...options });
    return this.#expect(shares, areShares, 'a list of another kind');
  }

  /** `match` is the digest of what is there now. */
  writeOwn(id: string, json: OwnBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('writeOwn', { params: { share_id: id }, json, ...options });
  }

  endShare(id: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('endShare', { params: { share_id: id }, ...options });
  }

  /** What a link opens; needs no account. 404: there is none that `access` fits; 410: it is over. */
  async openShare(
    id: string,
    { access, ticket, signal }: CallOptions & { access: string; ticket?: string | undefined },
  ): Promise<OpenedShare> {
    const headers = {
      [headerNames.shareAccess]: access,
      ...(ticket !== undefined && { [headerNames.shareTicket]: ticket }),
    };
    const answer = await this.#json('openShare', { params: { share_id: id }, headers, signal });
    return this.#expect(answer, isOpenedShare, 'a share of another kind');
  }

  /** Begins a download, which counts; the same ticket again does not. */
  takeTicket(
    id: string,
    ticket: string,
    { access, signal }: CallOptions & { access: string },
  ): Promise<{ ok: true; expires_at: string }> {
    const headers = { [headerNames.shareAccess]: access };
    return this.#json('takeTicket', { params: { share_id: id }, headers, json: { ticket }, signal });
  }

  /** What an account is known by. 404: nothing can be shared with it. */
  async identity(username: string, options?: CallOptions): Promise<StoredIdentity> {
    const answer = await this.#json('readIdentity', { params: { username }, ...options });
    return this.#expect(answer, isIdentityAnswer, 'an identity of another kind');
  }

  async receivedShares(options?: CallOptions): Promise<ReceivedShare[]> {
    const { shares } = await this.#json<{ shares: unknown }>('listReceived', { ...options });
    return this.#expect(shares, areReceived, 'a list of another kind');
  }

  /** As `openShare`, of what another account shares with this one. */
  async openReceived(
    id: string,
    { ticket, signal }: CallOptions & { ticket?: string | undefined } = {},
  ): Promise<OpenedShare> {
    const headers = { ...(ticket !== undefined && { [headerNames.shareTicket]: ticket }) };
    const answer = await this.#json('openReceived', { params: { share_id: id }, headers, signal });
    return this.#expect(answer, isOpenedShare, 'a share of another kind');
  }

  takeReceived(id: string, ticket: string, options?: CallOptions): Promise<{ ok: true; expires_at: string }> {
    return this.#json('takeReceived', { params: { share_id: id }, json: { ticket }, ...options });
  }

  endReceived(id: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('endReceived', { params: { share_id: id }, ...options });
  }

  /** As `readVolume`, of a shared file, by its number in the share (from 1). */
  async readSharedVolume(
    place: { id: string; number: number; ticket: string },
    idx: number,
    maxBytes: number,
    { range, ...options }: VolumeOptions & { range?: ByteRange | undefined } = {},
  ): Promise<Pick<VolumeAnswer, 'chunkCount' | 'isRange' | 'body'>> {
    const { id, number, ticket } = place;
    const headers = { [headerNames.shareTicket]: ticket, ...rangeHeader(range) };
    const params = { share_id: id, number, idx };
    const call = { params, headers, maxBytes, timeoutMs: patience(maxBytes), ...options };
    const response = await this.#call('readSharedVolume', call);
    const chunkCount = Number(response.header(headerNames.chunkCount) ?? Number.NaN);
    return { chunkCount, isRange: response.status === 206, body: response.body };
  }

  /** As `readDigests`, of a shared file. */
  async readSharedDigests(
    { id, number, ticket }: { id: string; number: number; ticket: string },
    options?: CallOptions,
  ): Promise<Uint8Array> {
    const headers = { [headerNames.shareTicket]: ticket };
    const call = { params: { share_id: id, number }, headers, maxBytes: MOST_DIGEST_BYTES, ...options };
    return (await this.#call('readSharedDigests', call)).body;
  }

  createRequest(json: RequestBody, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('createRequest', { json, ...options });
  }

  async requests(options?: CallOptions): Promise<ListedRequest[]> {
    const { requests } = await this.#json<{ requests: unknown }>('listRequests', { ...options });
    return this.#expect(requests, areRequests, 'a list of another kind');
  }

  endRequest(id: string, options?: CallOptions): Promise<{ ok: true }> {
    return this.#json('endRequest', { params: { request_id: id }, ...options });
  }

  /** What a request still takes; needs no account. 404: there is none that `access` fits; 410: it is over. */
  async openRequest(
    id: string,
    { access, signal }: CallOptions & { access: string },
  ): Promise<OpenedRequest> {
    const headers = { [headerNames.shareAccess]: access };
    const answer = await this.#json('openRequest', { params: { request_id: id }, headers, signal });
    return this.#expect(answer, isOpenedRequest, 'a request of another kind');
  }

  /** Begins an upload by a request, which counts; the same token again is the same one. */
  async beginUpload(
    id: string,
    json: UploadBody,
    { access, signal }: CallOptions & { access: string },
  ): Promise<{ transfer_id: string }> {
    const headers = { [headerNames.shareAccess]: access };
    const answer = await this.#json('beginUpload', { params: { request_id: id }, headers, json, signal });
    return this.#expect(answer, isBegunUpload, 'an upload without its id');
  }

  #taggedKeys(response: TransportResponse): TaggedKeys {
    return { keys: this.#keysIn(response), tag: this.#tag(response) };
  }

  #keysIn(response: TransportResponse): string {
    const { keys } = parseJson(response, this.server) as { keys?: unknown };
    return this.#expect(keys, isKeys, 'keys of another kind');
  }

  #tag(response: TransportResponse): string {
    return this.#expect(response.header('etag'), isTag, 'keys without a tag');
  }

  #expect<T>(value: unknown, fits: (value: unknown) => value is T, otherwise: string): T {
    if (fits(value)) return value;
    throw new NotTheServiceError(this.server, 200, otherwise);
  }

  async #json<T>(name: RouteName, call: Call): Promise<T> {
    const response = await this.#call(name, call);
    return parseJson(response, this.server) as T;
  }

  #volume(response: TransportResponse): VolumeAnswer {
    const params = response.header(headerNames.encParams);
    const count = response.header(headerNames.chunkCount);
    if (params === undefined || count === undefined) {
      throw new NotTheServiceError(this.server, response.status, 'a volume without its headers');
    }
    return {
      ...{ encParams: paramsIn(params), encParamsText: params, chunkCount: Number(count) },
      ...{ isRange: response.status === 206, body: response.body },
    };
  }

  #call(name: RouteName, call: Call): Promise<TransportResponse> {
    const route = routes[name];
    const repeat = repeatable[name] ?? 'always';
    const query = new URLSearchParams();
    for (const [key, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) query.set(key, String(value));
    }
    const headers: Record<string, string> = {
      accept: 'application/json, application/octet-stream',
      ...call.headers,
    };
    if (route.access !== 'open' && this.token !== undefined)
      headers['authorization'] = `Bearer ${this.token}`;
    if (call.json) headers['content-type'] = 'application/json';
    if (call.bytes) headers['content-type'] = 'application/octet-stream';
    let unanswered = false;
    const retry = { policy: this.#policy, repeatable: repeat, signal: call.signal, onRetry: this.#onRetry };
    return withRetry(retry, async () => {
      let counted = 0;
      const request: TransportRequest = {
        method: route.method,
        url: `${this.server}${pathOf(name, call.params)}${query.size > 0 ? `?${query}` : ''}`,
        headers,
        body: call.bytes ?? (call.json && JSON.stringify(call.json)),
        signal: call.signal,
        maxBytes: call.maxBytes ?? JSON_BYTES,
        timeoutMs: call.timeoutMs ?? QUIET_MS,
        quietMs: sendsVolumes.has(name) || 'rawBody' in route ? QUIET_MS : (call.timeoutMs ?? QUIET_MS),
        fresh: repeat === 'unsent',
        into: call.into,
        onBytes: (bytes) => {
          counted += bytes;
          call.onBytes?.(bytes);
        },
      };
      try {
        const response = await this.#transport(request);
        if (response.status >= 200 && response.status < 300) return response;
        if (response.status === 404 && unanswered && removing.has(name)) return GONE;
        throw errorOf(response, this.server);
      } catch (error) {
        unanswered ||= error instanceof NetworkError;
        if (counted > 0) call.onBytes?.(-counted);
        throw error;
      }
    });
  }
}
