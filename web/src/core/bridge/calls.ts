/**
 * The calls of the page to its worker, and what they exchange. The worker has the keys; the page has none. One file: it is
 * all that one side can ask of the other.
 */
import type { Contact, MadePasskey, Second, Szafa } from '@szafa/client';
import type { NewPasskeyRequest, PasskeyAnswer, PasskeyRequest, Quota } from '@szafa/protocol';
import type { Fault, LocalRequest } from './messages.ts';

type TimeKey = `${string}At` | `${string}_at`;

/** A record of the SDK as the page gets it from `forPage`: times as numbers, problems as faults, names safe to display. */
export type ForPage<T> = {
  [K in keyof T as T[K] extends (...args: never[]) => unknown ? never : K]: K extends 'problem'
    ? Fault | Extract<T[K], undefined>
    : K extends TimeKey
      ? number | Extract<T[K], null | undefined>
      : T[K];
};

/** What a method of the SDK resolves to. */
type ResultOf<M extends keyof Szafa> = Szafa[M] extends (...args: never[]) => Promise<infer R> ? R : never;
type RowOf<M extends keyof Szafa> = ResultOf<M> extends (infer R)[] ? ForPage<R> : never;

export type SessionRow = RowOf<'sessions'>;
export type LinkRow = RowOf<'links'>;
export type ReceivedRow = RowOf<'sharedWithMe'>;
export type RequestRow = RowOf<'requests'>;
export type DeliveryRow = Omit<RowOf<'deliveries'>, 'record' | 'sealed'>;
export type PasskeyRow = ForPage<ResultOf<'factors'>['passkeys'][number]>;

export interface Account {
  username: string;
}

export interface NewSession extends Account {
  /** A new recovery key, already valid: it is shown once and stored nowhere. */
  recoveryKey?: string;
}

export interface SignUpOptions {
  recoveryKey: boolean;
  /** '' if the server needs none. */
  invite: string;
}

/** Why a stored session is over: the server does not know it any more, or its keys are under another password. */
export type SessionEnd = 'ended' | 'other-password';

export interface AccountOverview {
  hasRecoveryKey: boolean;
  totp: boolean;
  passkeys: PasskeyRow[];
  /** Passkeys can be added and used at this address. */
  passkeysOffered: boolean;
  sessions: SessionRow[];
}

/** The input that a passkey derives a secret from. */
export interface Prf {
  prf: Uint8Array<ArrayBuffer>;
}

export type BrowserPasskey = Omit<MadePasskey, 'name'>;

export interface NewTotp {
  secret: string;
  uri: string;
  qrCode: QrModules;
}

/** Row by row, true for dark. */
export type QrModules = boolean[][];

/** A file of the list. */
export interface Item {
  fileId: string;
  /** Whole, from the top, as it is sealed: not safe to display. */
  path: string;
  /** The last part of the path, safe to display. */
  name: string;
  verified: boolean;
  size: number;
  /** 0 if unknown. */
  createdAt: number;
  /** Code of what is wrong with the record. */
  problem?: string;
  /** Number of files with this path; this one is the newest. */
  versions: number;
  /** Only in the trash. */
  trashedAt?: number;
  expiresAt?: number;
  /** An empty folder, in the trash or behind a link. */
  isFolder?: boolean;
}

export interface FolderInfo {
  path: string;
  verified: boolean;
}

/** A directory of the server, which a token may be limited to. */
export interface Dir {
  dirId: number;
  name: string;
}

export interface Listing {
  items: Item[];
  folders: FolderInfo[];
  dirs: Dir[];
  quota: Quota;
  /** The state of the account that was listed, as `changes` returns it. */
  rev: string;
}

/** An upload as the browser remembers it across a reload. */
export interface UnfinishedUpload {
  id: string;
  username: string;
  /** Where it goes in the tree. */
  path: string;
  size: number;
  lastModified: number;
  /** Name of the file on disk: with size and time it tells whether the right file was chosen again. */
  fileName: string;
  /** Where the browser has one, the file is found again without asking. */
  handle?: FileSystemFileHandle;
}

/** Lock of one upload: held by the tab that works on it. */
export const uploadLock = (id: string) => `szafa-upload-${id}`;

/** Lock of a journal: uploads of the same file to the same path share it. */
export const journalLock = ({ username, path, fileName }: UnfinishedUpload) =>
  `szafa-place-${JSON.stringify([username, path, fileName])}`;

/** Paths of a file, or of a folder with a slash at the end, which moves with all its contents. */
export interface Move {
  from: string;
  to: string;
  /** The file that was seen there: another file that has the path by now is not moved. */
  fileId?: string;
}

export interface Copy {
  fileId: string;
  path: string;
}

export interface VersionInfo {
  fileId: string;
  size: number;
  /** Upload time as it is sealed, or else as the server says. */
  added: number;
  problem?: string;
}

/** What a preview needs beyond the list. */
export interface FileInfo {
  size: number;
  /** Media type to show it as; '' if there is no preview. */
  type: string;
  mtime?: number;
  /** Its upload time is in the future. */
  ahead: boolean;
}

/** Files to be saved as one zip. */
export interface Zip {
  name: string;
  /** The zip writer makes paths safe and unique. A path that ends in `/` is an empty folder, without a file. */
  parts: { fileId?: string; path: string }[];
}

export interface LinkOptions {
  /** In the owner's list. */
  title: string;
  note?: string;
  passphrase?: string;
  expiresAt?: number;
  downloads?: number;
}

export interface RequestOptions {
  /** Where deliveries are saved. */
  folder: string;
  files: number;
  size: number;
  expiresAt: number;
  note?: string;
}

export interface NewLink {
  link: string;
  qrCode: QrModules;
}

export interface ContactRow extends Pick<Contact, 'username' | 'state'> {
  /** Absent for changed keys: their fingerprint must come from the account's owner. */
  fingerprint?: string;
}

export interface RequestLists {
  requests: RequestRow[];
  deliveries: DeliveryRow[];
}

/** Calls about files, on all pages. The first argument `id` names a task for progress and `stop`. */
export interface FileCalls {
  info(fileId: string): FileInfo;
  readText(fileId: string, most: number): string;
  save(id: string, fileId: string, handle: FileSystemFileHandle): void;
  /** Returns the number of symbolic links left out because they may lead out of the zip. */
  saveZip(id: string, zip: Zip, handle: FileSystemFileHandle): number;
  /** Answers the service worker over the port that comes with the call. */
  serve(id: string, fileId: string, request: LocalRequest): void;
  serveZip(id: string, zip: Zip): number;
  /** Stops a task; its own call then fails with the code `stopped`. */
  stop(id: string): void;
}

/** Calls of the app's worker. */
export interface Calls extends FileCalls {
  login(username: string, password: string, second: Second): NewSession;
  /** Whether passkeys can be used at this address. */
  offersPasskeys(): boolean;
  passkeyChallenge(): PasskeyRequest & Prf;
  loginWithPasskey(answer: PasskeyAnswer, secret: Uint8Array<ArrayBuffer>): NewSession;
  newPasskey(): NewPasskeyRequest & Prf;
  addPasskey(password: string, name: string, made: BrowserPasskey): void;
  removePasskey(password: string, id: string): void;
  register(username: string, password: string, options: SignUpOptions): NewSession;
  /** Whether the server takes new accounts: `open`, `closed` or `invite`. */
  registration(): string;
  /** Sets a new password, and a new recovery key in place of the one that was typed. */
  recover(username: string, recoveryKey: string, password: string): NewSession;
  restore(): Account | SessionEnd | null;
  /** Forgets everything. Returns false if another account has signed in since, in any tab. */
  leave(tellServer: boolean): boolean;
  /** Whether this tab's session is the one that the browser stores. */
  isStored(): boolean;
  /** The server ended the session: uploads of this account can resume after the next sign-in. */
  expire(): boolean;
  overview(): AccountOverview;
  changePassword(current: string, next: string): void;
  /** The key is valid once it is set; until then the one before is. */
  newRecoveryKey(): string;
  setRecoveryKey(password: string, typed: string): void;
  newTotp(): NewTotp;
  setTotp(password: string, secret: string, code: string): void;
  removeTotp(password: string, second: Second): void;
  endSession(id: string): void;
  /** Returns how many there were. */
  endOtherSessions(): number;
  /** Deletes the account and what this browser stores of it. Returns what `leave` would. */
  deleteAccount(password: string): boolean;
  list(): Listing;
  /** Returns another value after each change to files or folders, by any device. */
  changes(): string;
  listTrash(): Item[];
  makeFolder(path: string): void;
  rename(id: string, moves: Move[]): void;
  /** `folders`: also copied, even if they are empty. */
  copy(id: string, copies: Copy[], folders: Move[]): void;
  /** Returns the ids of all records at these paths: files with their versions, and whole folders (a slash at the end). */
  recordsOf(paths: string[]): string[];
  trash(id: string, paths: string[]): void;
  /** `folders`: created if none of the files brings them back, since they were empty. */
  restoreFiles(id: string, fileIds: string[], folders?: string[]): void;
  deleteForever(id: string, fileIds: string[]): void;
  /** Newest first. */
  versions(path: string): VersionInfo[];
  restoreVersion(fileId: string): void;
  trashVersion(fileId: string): void;
  /** `unmade`: none is stored, but one can be made from the whole file. */
  thumbnail(fileId: string): ImageBitmap | 'unmade' | null;
  makeThumbnail(fileId: string): ImageBitmap | null;
  storeUploads(uploads: UnfinishedUpload[]): void;
  storedUploads(): UnfinishedUpload[];
  upload(upload: UnfinishedUpload, file: File): void;
  /** Returns how many bytes the server has of an upload that is not running. */
  storedBytes(upload: UnfinishedUpload): number;
  /** Cancels an upload that is not running. */
  cancelUpload(upload: UnfinishedUpload): void;
  /** Whether this server has sharing turned on. */
  offersLinks(): boolean;
  /** Shares files and whole folders (a slash at the end), as they are now. */
  makeLink(id: string, paths: string[], options: LinkOptions): NewLink;
  /** The same for one account, whose keys are remembered from then on. */
  shareWith(id: string, paths: string[], username: string, options: LinkOptions): ContactRow;
  links(): LinkRow[];
  endLink(id: string): void;
  makeRequest(options: RequestOptions): NewLink;
  requests(): RequestLists;
  endRequest(id: string): void;
  /** Saves deliveries in this folder, or in those of their requests. Returns their paths. */
  saveDeliveries(fileIds: string[], folder: string | null): string[];
  deleteDelivery(fileId: string): void;
  /** Newest first. */
  received(): ReceivedRow[];
  openReceived(id: string): SharedFiles;
  removeReceived(id: string): void;
  ownFingerprint(): string;
  /** Accounts that something is shared with, either way, and those looked up before. */
  contacts(): ContactRow[];
  /** Asks the server for the keys of an account. */
  contact(username: string): ContactRow;
  /** Two people have compared the fingerprint that was shown. */
  verifyContact(username: string): ContactRow;
  /** Accepts changed keys if their fingerprint is the typed one, which comes from the account's owner. */
  acceptContact(username: string, fingerprint: string): ContactRow;
}

/** What a link reveals before its passphrase is known. */
export interface LinkTerms {
  /** Names the download of this visit. Stored before the download begins, so that a reload does not count again. */
  ticket: string;
  needsPassphrase: boolean;
  expiresAt: number | null;
  /** Null: unlimited. */
  downloadsLeft: number | null;
}

/** A file behind a link; its id is its number there. */
export interface SharedItem extends Item {
  /** Its owner has deleted it since. */
  missing: boolean;
  /** A symbolic link, which a browser cannot write. */
  isLink?: true;
}

export interface SharedFiles {
  items: SharedItem[];
  note?: string;
}

/** Calls of the worker of the page that links lead to. */
export interface VisitorCalls extends FileCalls {
  visit(link: string, ticket: string | null): LinkTerms;
  openLink(passphrase: string | null): SharedFiles;
}

/** What a request still takes. */
export interface RequestTerms {
  files: number;
  /** Of the stored form, which is slightly larger than the files. */
  bytes: number;
  expiresAt: number | null;
  note?: string;
}

/** Calls of the worker of the page that requests lead to. */
export interface SenderCalls
  extends Pick<Calls, 'storeUploads' | 'storedUploads' | 'upload' | 'storedBytes' | 'cancelUpload' | 'stop'> {
  visitRequest(link: string): RequestTerms;
}

export type AllCalls = Calls & VisitorCalls & SenderCalls;
export type CallName = keyof AllCalls;
export type CallMessage = { call: number; name: CallName; args: unknown[]; port?: MessagePort };
