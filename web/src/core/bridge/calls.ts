/** What the page and its worker say to each other. The worker has the keys; the page has none. One file: it is all that one side may ask of the other. */
import type { Contact, MadePasskey, OwnLink, OwnRequest } from '@szafa/client';
import type { Factor, NewPasskeyRequest, PasskeyAnswer, PasskeyRequest, Quota, Scope } from '@szafa/protocol';

export interface Account {
  username: string;
}

/** Somebody who has just come in. */
export interface Entered extends Account {
  /** A new one, which counts already; it is shown once and kept nowhere. */
  recoveryKey?: string;
}

/** What somebody wants who registers. */
export interface Wishes {
  recoveryKey: boolean;
  /** '' where the service wants none. */
  invite: string;
}

/** Why a session that was kept does not go on: the service does not know it any more, or its keys are under another password. */
export type Ended = 'ended' | 'other-password';

/** Where the account is signed in, or what has a token of it. */
export interface Device {
  id: string;
  name: string;
  usedAt: number;
  current: boolean;
  scope: Scope;
  dirId: number | null;
  /** When it ends, used or not. */
  expiresAt: number | null;
}

/** What the account looks like to its owner. */
export interface Overview {
  hasRecoveryKey: boolean;
  /** A sign-in asks for a code. */
  totp: boolean;
  passkeys: ListedPasskey[];
  /** They can be added and used at this address. */
  passkeysOffered: boolean;
  devices: Device[];
}

/** A passkey of the account. */
export interface ListedPasskey {
  id: string;
  name: string;
  /** It signs in without the password. */
  alone: boolean;
  usedAt: number | null;
}

/** What a passkey makes a secret of. */
export interface Prf {
  prf: Uint8Array<ArrayBuffer>;
}

/** A passkey as the browser has made it; with a secret it can open the keys. */
export type BrowserPasskey = Omit<MadePasskey, 'name'>;

/** Beside the password. */
export interface Second {
  code?: string;
  passkey?: PasskeyAnswer;
}

/** What an authenticator app is told, once. */
export interface NewTotp {
  secret: string;
  uri: string;
  /** The address as a QR code. */
  picture: Modules;
}

/** Of a QR code, row by row, true for dark. */
export type Modules = boolean[][];

/** What a tab tells the service worker: that it wants to be served by it, or what it is made of. */
export type ToServiceWorker = 'claim' | { keep: string[] };

/** A file as the list shows it. */
export interface Item {
  fileId: string;
  /** Whole, from the top, as it was sealed: it may hold what must not be shown. */
  path: string;
  /** The last part of the path, as it may be shown. */
  name: string;
  verified: boolean;
  size: number;
  /** 0 where nobody says. */
  createdAt: number;
  /** Something about the record does not fit. */
  problem?: string;
  /** How many files have this path; this is the newest of them. */
  versions: number;
  /** Of what is in the trash. */
  trashedAt?: number;
  /** A folder that was empty, in the trash. */
  isFolder?: boolean;
  expiresAt?: number;
}

/** A folder that is there even where no file is below it. */
export interface FolderInfo {
  path: string;
  verified: boolean;
}

/** A directory of the service, which tokens may be for. */
export interface Dir {
  dirId: number;
  name: string;
}

export interface Listing {
  items: Item[];
  folders: FolderInfo[];
  dirs: Dir[];
  quota: Quota;
  /** The state that this is, as `changes` tells it. */
  rev: string;
}

/** An upload, as it is remembered for after a reload. */
export interface UploadNote {
  id: string;
  username: string;
  /** Where it is to be in the tree. */
  path: string;
  size: number;
  lastModified: number;
  /** The file's own name: with size and time it tells whether the right file was chosen again. */
  fileName: string;
  /** Where the browser gives one out: the file is found again without asking. */
  handle?: FileSystemFileHandle;
}

/** Held while somebody works on an upload, in whichever tab. */
export const uploadLock = (id: string) => `szafa-upload-${id}`;

/** Held while somebody works on this file for this place: uploads of it share a journal. */
export const placeLock = ({ username, path, fileName }: UploadNote) =>
  `szafa-place-${JSON.stringify([username, path, fileName])}`;

/** Of files and folders, by their paths; a folder's ends in a slash, and it takes along all that is in it. */
export interface Move {
  from: string;
  to: string;
  /** The file that was seen there: another one that has this path by now is not meant. */
  fileId?: string;
}

export interface Copy {
  fileId: string;
  path: string;
}

/** One of several files of a path. */
export interface VersionInfo {
  fileId: string;
  size: number;
  /** When it was uploaded, as it is sealed; where it is not, as the service says. */
  added: number;
  problem?: string;
}

/** What a preview needs to know beyond the list. */
export interface FileInfo {
  size: number;
  /** What to show it as; '' where there is no preview. */
  type: string;
  mtime?: number;
  /** Added at a time that has not come yet. */
  ahead: boolean;
}

/** Files to be saved as one. */
export interface Zip {
  /** Of the zip itself. */
  name: string;
  /** Paths are cleaned, and made different, where the zip is written; one that ends in `/` is an empty folder's, which has no file. */
  parts: { fileId?: string; path: string }[];
}

/** What somebody wants of a new link. */
export interface LinkWishes {
  /** What it is called in the owner's list. */
  title: string;
  /** For those who open it. */
  note?: string;
  passphrase?: string;
  expiresAt?: number;
  /** How many may be begun. */
  downloads?: number;
}

/** A link as it is given to others: whoever has it has the files. */
export interface MadeLink {
  link: string;
  /** As a QR code. */
  picture: Modules;
}

/** A link as its owner sees it. */
export interface ListedLink extends Omit<OwnLink, 'createdAt' | 'expiresAt' | 'problem'> {
  createdAt: number;
  expiresAt: number | null;
  /** What the service keeps beside it is not what its owner put there. */
  problem?: string;
}

/** What another account shares with this one. */
export interface ListedReceived {
  id: string;
  /** Whose it is, as it may be shown; where there is no problem, that account has signed it. */
  from: string;
  /** Two people have compared the keys that signed it. */
  compared: boolean;
  title: string;
  size: number;
  files: number;
  /** Of these, how many their owner has deleted, or has in the trash. */
  missing: number;
  /** When its owner made it, which they have signed; where there is a problem, when the service got it. */
  madeAt: number;
  expiresAt: number | null;
  /** Null: any number. */
  downloadsLeft: number | null;
  /** Why it cannot be trusted, and does not open. */
  problem?: Fault;
}

/** Another account, as this browser knows it. */
export interface ListedContact {
  username: string;
  state: Contact['state'];
  /** Of the keys that are trusted. Of others it comes from the account's owner, or not at all. */
  fingerprint?: string;
}

/** What somebody wants of a new request. */
export interface RequestWishes {
  /** Where it goes when it is taken over. */
  folder: string;
  files: number;
  size: number;
  expiresAt: number;
  /** For those who upload. */
  note?: string;
}

/** A request as its owner sees it. */
export interface ListedRequest extends Omit<OwnRequest, 'createdAt' | 'expiresAt' | 'problem'> {
  expiresAt: number | null;
  /** What the service keeps beside it is not what its owner put there. */
  problem?: string;
}

/** What came by a request and was not taken over yet. */
export interface ListedDelivery {
  fileId: string;
  name: string;
  size: number;
  createdAt: number;
  /** Where its request wants it; undefined where nobody knows the request any more. */
  folder?: string;
  /** It cannot be taken over. */
  problem?: string;
}

export interface Asked {
  requests: ListedRequest[];
  deliveries: ListedDelivery[];
}

/** What every page of ours does with a file. */
export interface FileCalls {
  info(fileId: string): FileInfo;
  readText(fileId: string, most: number): string;
  /** Streams a file into one that the person has chosen. */
  save(id: string, fileId: string, handle: FileSystemFileHandle): void;
  /** How many symbolic links were left out, since they may lead out of it. */
  saveZip(id: string, zip: Zip, handle: FileSystemFileHandle): number;
  /** Answers the service worker over the port that comes with the call. */
  serve(id: string, fileId: string, request: LocalRequest): void;
  serveZip(id: string, zip: Zip): number;
  /** Stops an upload or a download; its own call then fails with the code `stopped`. */
  stop(id: string): void;
}

/** The calls of the app's worker. */
export interface Calls extends FileCalls {
  /** `second`: empty where it is not known whether there is a second factor. */
  login(username: string, password: string, second: Second): Entered;
  /** Whether passkeys can be used at this address. */
  offersPasskeys(): boolean;
  passkeyChallenge(): PasskeyRequest & Prf;
  loginWithPasskey(answer: PasskeyAnswer, secret: Uint8Array<ArrayBuffer>): Entered;
  newPasskey(): NewPasskeyRequest & Prf;
  addPasskey(password: string, name: string, made: BrowserPasskey): void;
  removePasskey(password: string, id: string): void;
  register(username: string, password: string, wishes: Wishes): Entered;
  /** Whether the service takes new accounts: `open`, `closed` or `invite`. */
  registration(): string;
  /** Comes back with the recovery key, as it was typed; the new password counts from then on, and a new recovery key. */
  recover(username: string, recoveryKey: string, password: string): Entered;
  restore(): Account | Ended | null;
  /** Forgets everything. `tellService` is false when another tab has told it. False where another account has signed in meanwhile, in any tab. */
  leave(tellService: boolean): boolean;
  /** Whether the session of this tab is the one that the browser keeps. */
  isKept(): boolean;
  /** The service has ended the session: uploads of this account can go on after the next sign-in. */
  expire(): boolean;
  overview(): Overview;
  changePassword(current: string, next: string): void;
  /** Takes the place of the one before. */
  newRecoveryKey(): string;
  setRecoveryKey(password: string, typed: string): void;
  newTotp(): NewTotp;
  setTotp(password: string, secret: string, code: string): void;
  removeTotp(password: string, second: Second): void;
  endSession(id: string): void;
  /** How many there were. */
  endOtherSessions(): number;
  /** The account with all that it has, and with what this browser kept of it. The result is that of `leave`. */
  deleteAccount(password: string): boolean;
  list(): Listing;
  /** Another one after each change to files or folders, by whichever device. */
  changes(): string;
  listTrash(): Item[];
  makeFolder(path: string): void;
  /** Renames and moves. The id is for progress, here and below. */
  rename(id: string, moves: Move[]): void;
  /** `folders`: that are empty, and are made. */
  copy(id: string, copies: Copy[], folders: Move[]): void;
  /** The ids of all that these paths have: files with all their versions, and whole folders (a slash at the end). */
  recordsOf(paths: string[]): string[];
  /** Of the same paths. */
  trash(id: string, paths: string[]): void;
  /** `folders`: made where none of these brings them back, since nothing was in them. */
  restoreFiles(id: string, fileIds: string[], folders?: string[]): void;
  /** For good: these of the trash. */
  removeFiles(id: string, fileIds: string[]): void;
  /** Newest first. */
  versions(path: string): VersionInfo[];
  /** Makes a version the newest of its path. */
  restoreVersion(fileId: string): void;
  /** Puts one version into the trash. */
  trashVersion(fileId: string): void;
  /** A small picture of a file. `unmade`: there is none beside it, but one can be made of the whole. */
  thumbnail(fileId: string): ImageBitmap | 'unmade' | null;
  makeThumbnail(fileId: string): ImageBitmap | null;
  remember(notes: UploadNote[]): void;
  remembered(): UploadNote[];
  upload(note: UploadNote, file: File): void;
  /** Bytes of an upload that is not running which the service has. */
  stored(note: UploadNote): number;
  /** Cancels what the service holds of an upload that is not running. */
  abandon(note: UploadNote): void;
  /** Whether links can be made on this server. */
  offersLinks(): boolean;
  /** Of files and whole folders (a slash at the end), by their paths, as they are now. */
  makeLink(id: string, paths: string[], wishes: LinkWishes): MadeLink;
  links(): ListedLink[];
  /** One that is over leaves the list. */
  endLink(id: string): void;
  makeRequest(wishes: RequestWishes): MadeLink;
  requests(): Asked;
  /** One that is over leaves the list. */
  endRequest(id: string): void;
  /** Makes files of deliveries, in this folder or in those that their requests name; their paths. */
  takeOver(fileIds: string[], folder: string | null): string[];
  /** For good. */
  dropDelivery(fileId: string): void;
  /** The same for one account of this server, whose keys are remembered from then on. */
  shareWith(id: string, paths: string[], username: string, wishes: LinkWishes): ListedContact;
  /** What others share with this account, the latest first. */
  received(): ListedReceived[];
  openReceived(id: string): SharedFiles;
  /** Ends it, for this account. */
  putAway(id: string): void;
  /** What others compare with what they see of this account. */
  ownFingerprint(): string;
  /** Whoever something is shared with, either way, and who was asked for. */
  contacts(): ListedContact[];
  /** Asks the service for the keys of an account. */
  contact(username: string): ListedContact;
  /** Two people have compared the fingerprint that was shown. */
  verifyContact(username: string): ListedContact;
  /** Keys that are not those of before are right: their fingerprint comes from the account's owner. */
  acceptContact(username: string, fingerprint: string): ListedContact;
}

/** What a link gives away before its passphrase is known. */
export interface Visited {
  /** Names the download of this visit, to be kept before it is begun: with it a reload is not counted again. */
  ticket: string;
  needsPassphrase: boolean;
  expiresAt: number | null;
  /** Null: any number. */
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
  /** What the owner says about it. */
  note?: string;
}

/** The calls of the worker of the page that links lead to. */
export interface VisitorCalls extends FileCalls {
  visit(link: string, ticket: string | null): Visited;
  openLink(passphrase: string | null): SharedFiles;
}

/** What a request still takes. */
export interface AskedFor {
  files: number;
  /** Of what is stored, which is a little more than the files. */
  bytes: number;
  expiresAt: number | null;
  /** What its owner says about it. */
  note?: string;
}

/** The calls of the worker of the page that requests lead to. */
export interface SenderCalls
  extends Pick<Calls, 'remember' | 'remembered' | 'upload' | 'stored' | 'abandon' | 'stop'> {
  visitRequest(link: string): AskedFor;
}

/** Of all workers. */
export type AllCalls = Calls & VisitorCalls & SenderCalls;
export type CallName = keyof AllCalls;

/** A request of the browser for `/local/…`, as the service worker passes it on. */
export interface LocalRequest {
  /** The Range header. */
  range: string | null;
  /** Save instead of show. */
  attachment: boolean;
}

/** Content from a person's file under our address: it gets no powers here, whatever it is, and an origin of its own. */
export const HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

export interface LocalHead {
  status: number;
  headers: Record<string, string>;
}

/**
 * From the service worker to the worker: it wants the next part, and gives the memory of the last one back. Memory that
 * waited for the collector instead would be as large as the file in a fast browser.
 */
export type LocalPull = { memory: ArrayBuffer | undefined } | 'cancel';

/** From the worker to the service worker: the head, then one part for each pull. */
export type LocalPart =
  | { head: LocalHead }
  | { chunk: Uint8Array<ArrayBuffer> }
  | { end: true }
  | { error: string };

export interface Progress {
  id: string;
  done: number;
  /** Of an upload: what the service has, and keeps if it is stopped. */
  stored?: number;
  /** Of what is done to many files: how many there are. */
  total?: number;
}

export interface Fault {
  code: string;
  message: string;
  status?: number;
  stage?: string;
  /** The field of a form that it is about. */
  field?: string;
  retryAfter?: number;
  /** Second factors of which one is needed, and what a passkey would sign. */
  factors?: Factor[];
  passkey?: PasskeyRequest;
}

export type ToWorker = { call: number; name: CallName; args: unknown[]; port?: MessagePort };
export type FromWorker =
  | { call: number; value: unknown }
  | { call: number; fault: Fault }
  | { progress: Progress }
  /** A request failed or worked after a failure. */
  | { reachable: boolean };

/** A text to be made a page of, by the reader. */
export interface ReaderJob {
  text: string;
  /** Of highlight.js, or `markdown`. */
  language: string;
}
export type ReaderAnswer = { html: string } | { error: string };

/** Between tabs of one origin. */
export type TabNews = 'signed-in' | 'signed-out' | 'expired' | 'changed';
export const TAB_CHANNEL = 'szafa';
