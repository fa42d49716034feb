/**
 * The calls from the page to its worker, with their arguments and results. One file, because it is a security boundary: only
 * the worker holds keys, and the page can ask for nothing else.
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

/** The type that a method of the SDK resolves to. */
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
  /** A new recovery key, already valid. The page shows it once and stores it nowhere. */
  recoveryKey?: string;
}

export interface SignUpOptions {
  recoveryKey: boolean;
  /** '' if the server needs no invitation. */
  invite: string;
}

/** Why a stored session cannot be used: the server ended it, or its keys are under another password by now. */
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

/** The modules of a QR code, row by row; true is dark. */
export type QrModules = boolean[][];

/** A file in the list. */
export interface Item {
  fileId: string;
  /** Full path as it is sealed: not safe to display. */
  path: string;
  /** The last part of the path, safe to display. */
  name: string;
  verified: boolean;
  size: number;
  /** 0 if unknown. */
  createdAt: number;
  /** Error code if the record failed its check. */
  problem?: string;
  /** Number of files with this path. The item is the newest of them. */
  versions: number;
  /** Both times are set only in the trash. */
  trashedAt?: number;
  expiresAt?: number;
  /** An empty folder, in the trash or behind a link. */
  isFolder?: boolean;
}

export interface FolderInfo {
  path: string;
  verified: boolean;
}

/** A directory of the server. A token can be limited to one. */
export interface Dir {
  dirId: number;
  name: string;
}

export interface Listing {
  items: Item[];
  folders: FolderInfo[];
  dirs: Dir[];
  quota: Quota;
  /** Revision of the listed state, as `changes` returns it. */
  rev: string;
}

/** An unfinished upload, stored in the browser to survive a reload. */
export interface UnfinishedUpload {
  id: string;
  username: string;
  /** Target path in the account. */
  path: string;
  size: number;
  lastModified: number;
  /** Name of the file on disk. Name, size and time together identify the file when it is chosen again. */
  fileName: string;
  /** Lets the page reopen the file without asking for it, in browsers that have file handles. */
  handle?: FileSystemFileHandle;
}

/** Name of the lock that the tab running this upload holds. */
export const uploadLock = (id: string) => `szafa-upload-${id}`;

/** Name of the lock of a journal entry: uploads of the same file to the same path share one entry. */
export const journalLock = ({ username, path, fileName }: UnfinishedUpload) =>
  `szafa-place-${JSON.stringify([username, path, fileName])}`;

/** Moves a file, or a folder with all its contents. Paths of a folder end in a slash. */
export interface Move {
  from: string;
  to: string;
  /** Move only this file: another device may have put a different file at `from`. */
  fileId?: string;
}

export interface Copy {
  fileId: string;
  path: string;
}

export interface VersionInfo {
  fileId: string;
  size: number;
  /** The sealed upload time, or the server's if none is sealed. */
  added: number;
  problem?: string;
}

/** Details that a preview needs and the list does not have. */
export interface FileInfo {
  size: number;
  /** Media type for the preview; '' if there is none. */
  type: string;
  mtime?: number;
  /** The upload time is in the future. */
  ahead: boolean;
}

/** Files to be saved as one zip. */
export interface Zip {
  name: string;
  /** The zip writer makes paths safe and unique. A path that ends in `/` is an empty folder. */
  parts: { fileId?: string; path: string }[];
}

export interface LinkOptions {
  /** Shown in the owner's list of links. */
  title: string;
  note?: string;
  passphrase?: string;
  expiresAt?: number;
  downloads?: number;
}

export interface RequestOptions {
  /** Deliveries are saved in this folder. */
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
  /** Absent if the keys have changed: the owner must then supply the new fingerprint. */
  fingerprint?: string;
}

export interface RequestLists {
  requests: RequestRow[];
  deliveries: DeliveryRow[];
}

/** File calls of the app and the link page. A first argument `id` names the task for progress and `stop`. */
export interface FileCalls {
  info(fileId: string): FileInfo;
  readText(fileId: string, most: number): string;
  save(id: string, fileId: string, handle: FileSystemFileHandle): void;
  /** Returns the number of symbolic links that were left out because they may point outside the zip. */
  saveZip(id: string, zip: Zip, handle: FileSystemFileHandle): number;
  /** Streams the file to the service worker over the port that comes with the call. */
  serve(id: string, fileId: string, request: LocalRequest): void;
  serveZip(id: string, zip: Zip): number;
  /** Stops a task; the call that started it then fails with the code `stopped`. */
  stop(id: string): void;
}

/** Calls to the app's worker. */
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
  /** Sets a new password and replaces the typed recovery key with a new one. */
  recover(username: string, recoveryKey: string, password: string): NewSession;
  restore(): Account | SessionEnd | null;
  /** Signs out and deletes everything stored, unless another session began in any tab: then that one stays stored. */
  leave(tellServer: boolean): boolean;
  /** Whether the browser stores this tab's session, and not one that another tab began. */
  isStored(): boolean;
  /** Drops a session that the server ended, but keeps its uploads so that they resume after the next sign-in. */
  expire(): boolean;
  overview(): AccountOverview;
  changePassword(current: string, next: string): void;
  /** The new key becomes valid with `setRecoveryKey`; until then the old key stays valid. */
  newRecoveryKey(): string;
  setRecoveryKey(password: string, typed: string): void;
  newTotp(): NewTotp;
  setTotp(password: string, secret: string, code: string): void;
  removeTotp(password: string, second: Second): void;
  endSession(id: string): void;
  /** Returns the number of sessions ended. */
  endOtherSessions(): number;
  /** Deletes the account and everything this browser stores about it. Returns the same as `leave`. */
  deleteAccount(password: string): boolean;
  list(): Listing;
  /** Returns a revision that differs after any device changes files or folders. */
  changes(): string;
  listTrash(): Item[];
  makeFolder(path: string): void;
  rename(id: string, moves: Move[]): void;
  /** `folders` are created at their new paths even if they are empty. */
  copy(id: string, copies: Copy[], folders: Move[]): void;
  /** Returns the ids of all files at these paths, with their versions. A path that ends in a slash is a whole folder. */
  recordsOf(paths: string[]): string[];
  trash(id: string, paths: string[]): void;
  /** `folders` were empty when trashed, so no file brings them back: they are created. */
  restoreFiles(id: string, fileIds: string[], folders?: string[]): void;
  deleteForever(id: string, fileIds: string[]): void;
  /** Newest first. */
  versions(path: string): VersionInfo[];
  restoreVersion(fileId: string): void;
  trashVersion(fileId: string): void;
  /** `unmade`: no thumbnail is stored, but `makeThumbnail` can make one from the whole file. */
  thumbnail(fileId: string): ImageBitmap | 'unmade' | null;
  makeThumbnail(fileId: string): ImageBitmap | null;
  storeUploads(uploads: UnfinishedUpload[]): void;
  storedUploads(): UnfinishedUpload[];
  upload(upload: UnfinishedUpload, file: File): void;
  /** Returns the number of bytes that the server has of an upload that is not running. */
  storedBytes(upload: UnfinishedUpload): number;
  /** Cancels an upload that is not running. */
  cancelUpload(upload: UnfinishedUpload): void;
  /** Whether this server has sharing turned on. */
  offersLinks(): boolean;
  /** Shares the current versions of files and folders. A path that ends in a slash is a whole folder. */
  makeLink(id: string, paths: string[], options: LinkOptions): NewLink;
  /** Shares with one account, and pins that account's keys. */
  shareWith(id: string, paths: string[], username: string, options: LinkOptions): ContactRow;
  links(): LinkRow[];
  endLink(id: string): void;
  makeRequest(options: RequestOptions): NewLink;
  requests(): RequestLists;
  endRequest(id: string): void;
  /** Saves deliveries in `folder`, or in the folder of each request if null. Returns the new paths. */
  saveDeliveries(fileIds: string[], folder: string | null): string[];
  deleteDelivery(fileId: string): void;
  /** Newest first. */
  received(): ReceivedRow[];
  openReceived(id: string): SharedFiles;
  removeReceived(id: string): void;
  ownFingerprint(): string;
  /** Accounts with shares in either direction, and accounts looked up before. */
  contacts(): ContactRow[];
  /** Looks up the keys of an account on the server. */
  contact(username: string): ContactRow;
  /** Marks the contact as verified: the user compared the shown fingerprint with the owner's. */
  verifyContact(username: string): ContactRow;
  /** Accepts changed keys if their fingerprint equals `fingerprint`, which the user got from the account's owner. */
  acceptContact(username: string, fingerprint: string): ContactRow;
}

/** Details of a link that can be read without its passphrase. */
export interface LinkTerms {
  /** Identifies this download. Stored before it begins, so that a reload does not count as a second download. */
  ticket: string;
  needsPassphrase: boolean;
  expiresAt: number | null;
  /** Null: unlimited. */
  downloadsLeft: number | null;
}

/** A file behind a link. `fileId` is its number in the link. */
export interface SharedItem extends Item {
  /** The owner has deleted the file since. */
  missing: boolean;
  /** A symbolic link, which a browser cannot write. */
  isLink?: true;
}

export interface SharedFiles {
  items: SharedItem[];
  note?: string;
}

/** Calls to the worker of the page behind a link. */
export interface VisitorCalls extends FileCalls {
  visit(link: string, ticket: string | null): LinkTerms;
  openLink(passphrase: string | null): SharedFiles;
}

/** The remaining limits of a request. */
export interface RequestTerms {
  files: number;
  /** Counted in the stored form, which is slightly larger than the files. */
  bytes: number;
  expiresAt: number | null;
  note?: string;
}

/** Calls to the worker of the page behind a request link. */
export interface SenderCalls
  extends Pick<Calls, 'storeUploads' | 'storedUploads' | 'upload' | 'storedBytes' | 'cancelUpload' | 'stop'> {
  visitRequest(link: string): RequestTerms;
}

export type AllCalls = Calls & VisitorCalls & SenderCalls;
export type CallName = keyof AllCalls;
export type CallMessage = { call: number; name: CallName; args: unknown[]; port?: MessagePort };
