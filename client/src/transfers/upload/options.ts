import type { Bytes, Engine } from '@szafa/format';
import type { Keys } from '../../accounts/keys.ts';
import type { Api } from '../../call.ts';
import type { HeaderCache } from '../download/header-cache.ts';
import type { Journal } from './journal.ts';
import type { VolumeMemory } from './memory.ts';
import type { VolumeSupply } from './supply.ts';

/** @public */
export interface UploadProgress {
  /** Bytes of the file that the server has or that are being sent; never goes down. */
  done: number;
  /** Bytes that the server has in whole volumes: where the upload would be resumed. */
  stored: number;
  /** Undefined for a stream. */
  total: number | undefined;
}

/** Offers volumes to the server, which fetches them itself; see `pullHost` in `client/node`. @public */
export interface PullHost {
  serve(transferId: string, supply: VolumeSupply): Promise<PullOffer>;
}

export interface PullOffer {
  baseUrl: string;
  token: string;
  /** Returns why a volume could not be served. */
  failure(): Error | undefined;
  close(): Promise<void>;
}

/** The name of a file, its sealed metadata, and how it is sent. @public */
export interface UploadOptions {
  /** Path from the root: `photos/2026/a.jpg`. Its directory is created if needed. */
  path: string;
  /** Milliseconds since 1970. */
  mtime?: number | undefined;
  /** Nanoseconds to add to `mtime`. */
  nanos?: number | undefined;
  /** Media type. */
  type?: string | undefined;
  /** Time of the upload, in milliseconds since 1970; by default now. */
  added?: number | undefined;
  /** `gen` of the newest file of this path: this one becomes newer, whatever the clock. */
  after?: number | undefined;
  /** Permission bits of the source; only 0o777 of them are kept. */
  mode?: number | undefined;
  /** For a folder: setuid (4), setgid (2) and sticky (1). */
  special?: number | undefined;
  /** The source has holes. */
  sparse?: boolean | undefined;
  /** The same random text for all names of one file on the disk of the source. */
  hardlink?: string | undefined;
  /** Path of the source, to tell it from others of the same name. */
  source?: string | undefined;
  /** Target of a symbolic link, which has no bytes. */
  link?: string | undefined;
  /** A small picture, in a format that browsers show; a NameError if it is too large. */
  thumbnail?: Bytes | undefined;
  volumeSize?: number | undefined;
  /** Show the name to the server, unsealed and unverified. */
  plainName?: boolean | undefined;
  /** Most volumes to send at once; on a slow connection it is one. */
  parallel?: number | undefined;
  /** Resumes an unfinished upload with the same journal and path; a stream cannot be resumed. */
  journal?: Journal | undefined;
  /** Let the server fetch the volumes. Each is sealed twice, since the server needs all digests first. */
  pull?: PullHost | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Upload options with the directory. */
export interface PlacedOptions extends UploadOptions {
  /** null is the root. */
  dirId: number | null;
  /** Called with the sealed thumbnail of each new description; the last one counts. */
  onThumbnail?: ((sealed: Bytes) => void) | undefined;
}

/** The stored file. @public */
export interface UploadResult {
  fileId: string;
  /** Lower-case hex, as in the record. */
  totalSha256: string;
  /** Bytes of the source that were stored. */
  size: number;
  /** The source has become longer since. */
  grown?: boolean | undefined;
  storedSize: number;
  volumes: number;
  /** Volumes that the server had from an earlier attempt. */
  resumed: number;
}

export interface UploadContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  headers?: HeaderCache | undefined;
  username: string;
  memory: VolumeMemory;
}
