export {
  type Attributes,
  type AttributesChange,
  type Bytes,
  DEFAULT_VOLUME_SIZE,
  type Engine,
  type KdfParams,
  type Layout,
  MAX_VOLUME_SIZE,
  type Metadata,
  MOST_THUMBNAIL_BYTES,
  newRecoveryKey,
  type OpenedSegments,
  type OpenedVolume,
  type Pin,
  PRF_INPUT,
  parseFingerprint,
  parseRecoveryText,
  plainRecoveryText,
  RECOVERY_GROUPS,
  recoveryText,
  type SealedSegments,
  type SealedVolume,
  type VolumeKey,
} from '@szafa/format';
export { readServerInfo } from './accounts/calls.ts';
export type { Change, Proof } from './accounts/changes.ts';
export type {
  ConnectOptions,
  EnteringPasskey,
  Pins,
  Recovery,
  Renewed,
  SavedSession,
  Secrets,
} from './accounts/connect.ts';
export { newTotpSecret, type Second, totpUri } from './accounts/factors.ts';
export { type CheckOptions, Keys, type PinStore } from './accounts/keys.ts';
export type { MadePasskey } from './accounts/passkeys.ts';
export { qr } from './accounts/qr.ts';
export { recoveryKeyIn, recoverySheet } from './accounts/recovery-sheet.ts';
export { countResealed, type FinishedRekey, type FinishRekeyOptions } from './accounts/rekey.ts';
export { Api, type ApiOptions, type ByteRange, type CallOptions, type RouteRequest } from './call.ts';
export * from './errors.ts';
export { eachFile, filePages, renameFiles } from './files/calls.ts';
export type { CopyOptions, FolderOptions, MoveOptions, TreeOptions } from './files/context.ts';
export { alike, displayName, fold, plainNameOf, safeSegments, withRoom } from './files/display-names.ts';
export { hiddenRecords, recordsAbove, recordsLeft } from './files/folder-records.ts';
export type { Age, DirEntry, Entry } from './files/listing.ts';
export type { Move } from './files/moves.ts';
export {
  checkPath,
  isWithin,
  joinPath,
  lastOf,
  leadsWithin,
  numberedPath,
  parentOf,
  segmentsOf,
} from './files/paths.ts';
export { recordsOf } from './files/plan.ts';
export type { Resealed, ResealOptions } from './files/reseal.ts';
export type { RevStore, RevStores } from './files/seen-revs.ts';
export type { Thumbnail } from './files/thumbnails.ts';
export { type PruneOptions, prunable, type TrashEntry } from './files/trash.ts';
export { type FileNode, type Folder, freePath, Tree } from './files/tree.ts';
export { defaultRetry, type RetryPolicy } from './http/retry.ts';
export {
  fetchTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './http/transport.ts';
export type { ReceivedShare } from './sharing/account-shares.ts';
export {
  type LinkAddress,
  linkText,
  looksLikeLink,
  looksLikeRequest,
  parseLink,
  parseRequest,
  type RequestAddress,
  requestText,
} from './sharing/address.ts';
export type { Contact, ContactPin, ContactStore, ContactStores } from './sharing/contacts.ts';
export type { Delivery, TakeOverOptions } from './sharing/deliveries.ts';
export {
  LinkVisit,
  newTicket,
  OpenedLink,
  type SharedRemoteFile,
  type VisitedFile,
  type VisitOptions,
} from './sharing/link-visit.ts';
export type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './sharing/links.ts';
export type { DeliveryOptions, UnfinishedDelivery } from './sharing/request-upload.ts';
export { type RequestLimits, RequestVisit } from './sharing/request-visit.ts';
export type { FileRequest, OwnRequest, RequestOptions } from './sharing/requests.ts';
export { Szafa } from './szafa.ts';
export { readVolumeHeaders, type VolumeAnswer } from './transfers/calls.ts';
export type { HeaderCache, HeaderCaches, Listed } from './transfers/download/header-cache.ts';
export {
  type DownloadProgress,
  PIECE_SIZE,
  type ReadableHeader,
  RemoteFile,
  type StreamOptions,
} from './transfers/download/remote-file.ts';
export { isAhead, type Version } from './transfers/download/versions.ts';
export type { ReadOptions } from './transfers/download/volume-fetcher.ts';
export type { Journal } from './transfers/upload/journal.ts';
export { type LockOptions, type TransferLocks, waitForLock } from './transfers/upload/locks.ts';
export type {
  PullHost,
  PullOffer,
  UploadOptions,
  UploadProgress,
  UploadResult,
} from './transfers/upload/options.ts';
export { sameContent } from './transfers/upload/same-content.ts';
export { BlobSource, blobSource, bytesSource, type Source } from './transfers/upload/source.ts';
export type { ByteStream } from './transfers/upload/stream.ts';
export { type VolumeRecord, VolumeSupply } from './transfers/upload/supply.ts';
export type { Unfinished, UnfinishedUpload } from './transfers/upload/unfinished.ts';
export { BlobReader } from './web/blob-reader.ts';
export { type Argon2id, type WebEngineOptions, wasmArgon2id, webEngine } from './web/engine.ts';
export { type Discard, sealInto } from './web/segments.ts';
