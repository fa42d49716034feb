import type {
  Changes,
  Directory,
  Emptied,
  Factors,
  FileRecord,
  ListedRequest,
  ListedSession,
  ListedShare,
  NewPasskeyRequest,
  NewToken,
  OpenedRequest,
  OpenedShare,
  Passkey,
  PasskeyRequest,
  Profile,
  Quota,
  ReadThumbnail,
  ReceivedShare,
  ReceivedVolume,
  ServiceInfo,
  Session,
  StoredIdentity,
  TrashedFile,
  TrashedHeader,
} from '@szafa/protocol';

/** Whether an answer has the fields, of the kinds, that are used here: a hostile service gives anything. */
type Shape<T> = { [K in keyof T]?: (value: unknown) => boolean };

const text = (value: unknown) => typeof value === 'string';
const count = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const amount = (value: unknown) => typeof value === 'number';
const countOrNone = (value: unknown) => value === null || value === undefined || count(value);

const fileRecord: Shape<FileRecord> = {
  file_id: text,
  file_name: text,
  size: count,
  sha256: text,
  dir_id: countOrNone,
  dir_name: (value) => value === null || value === undefined || text(value),
  chunk_count: count,
  created_at: text,
  enc_params: (value) => value === undefined || text(value),
};
const trashedFile: Shape<TrashedFile> = { ...fileRecord, trashed_at: text, expires_at: text };
const trashedHeader: Shape<TrashedHeader> = { enc_params: text };
const emptied: Shape<Emptied> = { removed: count };
const changes: Shape<Changes> = { rev: text };
const directory: Shape<Directory> = {
  dir_id: count,
  name: text,
  created_at: text,
  file_count: count,
  size: count,
};
const receivedVolume: Shape<ReceivedVolume> = { idx: count, size: count, sha256: text };
const serviceInfo: Shape<ServiceInfo> = {
  service_id: (value) => text(value) && /^[0-9a-f]{32}$/.test(value as string),
};
/** It goes into a header, and to a terminal where it is asked for. */
const profile: Shape<Profile> = { profile: count };
const session: Shape<Session> = { token: (value) => text(value) && /^[\x21-\x7e]+$/.test(value as string) };
const sessionId = (value: unknown) => text(value) && /^[0-9a-f]{1,64}$/.test(value as string);
const newToken: Shape<NewToken> = { ...session, id: sessionId };
const listedSession: Shape<ListedSession> = {
  id: sessionId,
  device: text,
  created_at: text,
  used_at: text,
  current: (value) => typeof value === 'boolean',
  scope: text,
  dir_id: countOrNone,
  expires_at: (value) => value === null || text(value),
  passkey: (value) => value === null || text(value),
};
const quota: Shape<Quota> = {
  used_bytes: amount,
  quota_bytes: amount,
  remain_bytes: amount,
  percent: amount,
};
const textOrNone = (value: unknown) => value === null || text(value);
const shareId = (value: unknown) => text(value) && /^[A-Za-z0-9_-]{22}$/.test(value as string);
const listedShare: Shape<ListedShare> = {
  id: shareId,
  own: text,
  to: textOrNone,
  created_at: text,
  expires_at: textOrNone,
  downloads: countOrNone,
  downloaded: count,
  files: count,
  missing: count,
  ended: textOrNone,
};
const receivedShare: Shape<ReceivedShare> = {
  id: shareId,
  from: text,
  identity: text,
  letter: text,
  created_at: text,
  expires_at: textOrNone,
  downloads_left: countOrNone,
  files: count,
  missing: count,
};
const storedIdentity: Shape<StoredIdentity> = { username: text, identity: text };
const openedShare: Shape<OpenedShare> = {
  header: text,
  expires_at: textOrNone,
  downloads_left: countOrNone,
  missing: (value) => areNumbers(value),
};
const readThumbnail: Shape<ReadThumbnail> = { file_id: text, enc_params: text, thumbnail: textOrNone };
const listedRequest: Shape<ListedRequest> = {
  id: (value) => text(value) && /^[A-Za-z0-9_-]{22}$/.test(value as string),
  own: text,
  created_at: text,
  expires_at: textOrNone,
  max_files: count,
  max_bytes: count,
  delivered: count,
  delivered_bytes: count,
  uploading: count,
  ended: textOrNone,
};
const openedRequest: Shape<OpenedRequest> = {
  header: text,
  expires_at: textOrNone,
  files_left: count,
  bytes_left: count,
};
const begunUpload: Shape<{ transfer_id: string }> = { transfer_id: text };
const boolean = (value: unknown) => typeof value === 'boolean';
const encoded = (value: unknown) => text(value) && /^[A-Za-z0-9_-]+$/.test(value as string);
const passkey: Shape<Passkey> = {
  id: encoded,
  name: text,
  alone: boolean,
  created_at: text,
  used_at: (value) => value === null || text(value),
};
const factors: Shape<Factors> = {
  totp: boolean,
  passkeys: (value) => Array.isArray(value) && value.every((one) => fits(passkey, one)),
  passkeys_offered: boolean,
};
const passkeyRequest: Shape<PasskeyRequest> = {
  challenge: encoded,
  rp_id: text,
  passkeys: (value) => Array.isArray(value) && value.every(encoded),
};
const newPasskeyRequest: Shape<NewPasskeyRequest> = {
  ...(passkeyRequest as Shape<NewPasskeyRequest>),
  user_id: encoded,
};
const user: Shape<{ username: string }> = { username: text };
const named: Shape<{ file_id: string }> = { file_id: text };

function fits<T>(shape: Shape<T>, value: unknown): value is T {
  if (typeof value !== 'object' || value === null) return false;
  // A list has ten thousand of them.
  for (const key in shape) if (!shape[key]!((value as Partial<T>)[key])) return false;
  return true;
}

export const isServiceInfo = (value: unknown): value is ServiceInfo => fits(serviceInfo, value);
export const isSession = (value: unknown): value is Session => fits(session, value);
/** It goes back in a header. */
export const isTag = (value: unknown): value is string =>
  typeof value === 'string' && /^"[\x21\x23-\x7e]*"$/.test(value);
export const areSessions = (value: unknown): value is ListedSession[] =>
  Array.isArray(value) && value.every((one) => fits(listedSession, one));
export const isNewToken = (value: unknown): value is NewToken => fits(newToken, value);
export const areFactors = (value: unknown): value is Factors => fits(factors, value);
export const isPasskeyRequest = (value: unknown): value is PasskeyRequest => fits(passkeyRequest, value);
export const isNewPasskeyRequest = (value: unknown): value is NewPasskeyRequest =>
  fits(newPasskeyRequest, value);
export const isQuota = (value: unknown): value is Quota => fits(quota, value);
export const isUser = (value: unknown): value is { username: string } => fits(user, value);
export const hasFileId = (value: unknown): value is { file_id: string } => fits(named, value);
export const areShares = (value: unknown): value is ListedShare[] =>
  Array.isArray(value) && value.every((one) => fits(listedShare, one));
export const areReceived = (value: unknown): value is ReceivedShare[] =>
  Array.isArray(value) && value.every((one) => fits(receivedShare, one));
export const isIdentityAnswer = (value: unknown): value is StoredIdentity => fits(storedIdentity, value);
export const areRequests = (value: unknown): value is ListedRequest[] =>
  Array.isArray(value) && value.every((one) => fits(listedRequest, one));
export const isOpenedRequest = (value: unknown): value is OpenedRequest => fits(openedRequest, value);
export const isBegunUpload = (value: unknown): value is { transfer_id: string } => fits(begunUpload, value);
export const isOpenedShare = (value: unknown): value is OpenedShare => fits(openedShare, value);
export const areRecords = (value: unknown): value is FileRecord[] =>
  Array.isArray(value) && value.every((one) => fits(fileRecord, one));
export const areTrashed = (value: unknown): value is TrashedFile[] =>
  Array.isArray(value) && value.every((one) => fits(trashedFile, one));
export const isProfile = (value: unknown): value is Profile => fits(profile, value);
export const isTrashedHeader = (value: unknown): value is TrashedHeader => fits(trashedHeader, value);
export const isEmptied = (value: unknown): value is Emptied => fits(emptied, value);
export const areThumbnails = (value: unknown): value is ReadThumbnail[] =>
  Array.isArray(value) && value.every((one) => fits(readThumbnail, one));
export const isChanges = (value: unknown): value is Changes => fits(changes, value);
export const areDirectories = (value: unknown): value is Directory[] =>
  Array.isArray(value) && value.every((one) => fits(directory, one));
export const areVolumes = (value: unknown): value is ReceivedVolume[] =>
  Array.isArray(value) && value.every((one) => fits(receivedVolume, one));
export const areTexts = (value: unknown): value is string[] => Array.isArray(value) && value.every(text);
export const areNumbers = (value: unknown): value is number[] => Array.isArray(value) && value.every(count);
