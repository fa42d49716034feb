export { Api, type ApiOptions, type CallOptions, type VolumeAnswer } from './api/api.ts';
export { defaultRetry, type RetryPolicy } from './api/retry.ts';
export {
  fetchTransport,
  sizeOf,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from './api/transport.ts';
export { BlobReader } from './blob-reader.ts';
export { DEFAULT_BUDGET } from './budget.ts';
export { type ClaimOptions, type Claims, waitFor } from './claims.ts';
export * from './errors.ts';
export * from './format/index.ts';
export { type Journal, memoryJournal } from './journal.ts';
export { Keyring, type KnownRing, type RingCache } from './keyring.ts';
export type { DirEntry, Entry } from './listing.ts';
export { type DownloadProgress, type ReadOptions, RemoteFile, type StreamOptions } from './remote-file.ts';
export { sameContent } from './same-content.ts';
export type { Body, KeptVolume, Shelf } from './shelf.ts';
export { BlobSource, blobSource, bytesSource, type Source } from './source.ts';
export { VolumeSupply } from './supply.ts';
export { type ConnectOptions, type Kept, type Secrets, Szafa } from './szafa.ts';
export { displayName, plainNameOf, safeSegments } from './text.ts';
export type { UnfinishedUpload } from './unfinished.ts';
export type { PullHost, PullOffer, UploadOptions, UploadProgress, UploadResult } from './upload.ts';
export { isAhead, type Version } from './versions.ts';
