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
export type { Change, Proof, Recovery, Renewed } from './account.ts';
export { readServerInfo } from './accounts/calls.ts';
export { defaultRetry, type RetryPolicy } from './api/retry.ts';
export {
  fetchTransport,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './api/transport.ts';
export { Api, type ApiOptions, type ByteRange, type CallOptions, type RouteRequest } from './call.ts';
export * from './errors.ts';
export { newTotpSecret, type Second, totpUri } from './factors.ts';
export { eachFile, filePages, renameFiles } from './files/calls.ts';
export { type CheckOptions, Keys, type PinStore } from './keys.ts';
export type { Age, DirEntry, Entry } from './listing.ts';
export type { EnteringPasskey, MadePasskey } from './passkeys.ts';
export { qr } from './qr.ts';
export { recoveryKeyIn, recoverySheet } from './recovery-sheet.ts';
export { countResealed, type FinishedRekey, type FinishRekeyOptions } from './rekey.ts';
export type { Resealed, ResealOptions } from './reseal.ts';
export type { RevStore, RevStores } from './seen-revs.ts';
export {
  type LinkAddress,
  linkText,
  looksLikeLink,
  looksLikeRequest,
  parseLink,
  parseRequest,
  type RequestAddress,
  requestText,
} from './shares/address.ts';
export type { Contact, ContactPin, ContactStore, ContactStores } from './shares/contacts.ts';
export type { Delivery, TakeOverOptions } from './shares/deliveries.ts';
export type { Link, LinkOptions, OwnLink, ShareItem, ShareOptions } from './shares/links.ts';
export type { DeliveryOptions, UnfinishedDelivery } from './shares/request-upload.ts';
export { type RequestLimits, RequestVisit } from './shares/request-visit.ts';
export type { FileRequest, OwnRequest, RequestOptions } from './shares/requests.ts';
export type { ReceivedShare } from './shares/to-account.ts';
export {
  LinkVisit,
  newTicket,
  OpenedLink,
  type SharedRemoteFile,
  type VisitedFile,
  type VisitOptions,
} from './shares/visit.ts';
export { type ConnectOptions, type Kept, type Pins, type Secrets, Szafa } from './szafa.ts';
export { alike, displayName, fold, plainNameOf, safeSegments, withRoom } from './text.ts';
export { readVolumeHeaders, type VolumeAnswer } from './transfers/calls.ts';
export type { HeaderCache, HeaderCaches, Listed } from './transfers/download/header-cache.ts';
export {
  type DownloadProgress,
  PIECE_SIZE,
  type ReadableHeader,
  type ReadOptions,
  RemoteFile,
  type StreamOptions,
} from './transfers/download/remote-file.ts';
export { isAhead, type Version } from './transfers/download/versions.ts';
export type { CopyOptions, FolderOptions, MoveOptions, TreeOptions } from './tree/context.ts';
export { hiddenRecords, recordsAbove, recordsLeft } from './tree/folder-records.ts';
export type { Move } from './tree/moves.ts';
export {
  checkPath,
  isWithin,
  joinPath,
  lastOf,
  leadsWithin,
  numberedPath,
  parentOf,
  segmentsOf,
} from './tree/paths.ts';
export { recordsOf } from './tree/plan.ts';
export type { Thumbnail } from './tree/thumbnails.ts';
export { type PruneOptions, prunable, type TrashEntry } from './tree/trash.ts';
export { type FileNode, type Folder, freePath, Tree } from './tree/tree.ts';
export { type ClaimOptions, type Claims, waitFor } from './upload/claims.ts';
export type { Journal } from './upload/journal.ts';
export type { PullHost, PullOffer, UploadOptions, UploadProgress, UploadResult } from './upload/options.ts';
export { sameContent } from './upload/same-content.ts';
export { BlobSource, blobSource, bytesSource, type Source } from './upload/source.ts';
export type { ByteStream } from './upload/stream.ts';
export { type VolumeRecord, VolumeSupply } from './upload/supply.ts';
export type { Unfinished, UnfinishedUpload } from './upload/unfinished.ts';
export { BlobReader } from './web/blob-reader.ts';
export { type Argon2id, type WebEngineOptions, wasmArgon2id, webEngine } from './web/engine.ts';
export { type Discard, sealInto } from './web/segments.ts';
