import type { Bytes, Engine } from '@szafa/format';
import type { Keys } from '../../accounts/keys.ts';
import type { Api } from '../../call.ts';
import type { HeaderCache } from '../download/header-cache.ts';
import type { Journal } from './journal.ts';
import type { VolumeMemory } from './memory.ts';
import type { VolumeSupply } from './supply.ts';

/** @public */
export interface UploadProgress {
  /** Bytes of the file that were sent or that the server has; never decreases. */
  done: number;
  /** Bytes in whole volumes that the server has: an interrupted upload resumes there. */
  stored: number;
  /** Undefined for a stream, whose size is not known. */
  total: number | undefined;
}

/** Serves volumes to the server, which fetches them itself; see `pullHost` in `client/node`. @public */
export interface PullHost {
  serve(transferId: string, supply: VolumeSupply): Promise<PullOffer>;
}

export interface PullOffer {
  baseUrl: string;
  token: string;
  /** Returns the error if a volume could not be served. */
  failure(): Error | undefined;
  close(): Promise<void>;
}

/** The path of a file, its metadata, and how to send it. @public */
export interface UploadOptions {
  /** Path from the root: `photos/2026/a.jpg`. Its directory is created if needed. */
  path: string;
  /** Milliseconds since 1970. */
  mtime?: number | undefined;
  /** Nanoseconds to add to `mtime`. */
  nanos?: number | undefined;
  /** Media type. */
  type?: string | undefined;
  /** Time of the upload, in milliseconds since 1970; now by default. */
  added?: number | undefined;
  /** `gen` of the newest file at this path: the upload becomes newer, regardless of clocks. */
  after?: number | undefined;
  /** Permission bits of the source; only 0o777 of them are stored. */
  mode?: number | undefined;
  /** Folders only: setuid (4), setgid (2) and sticky (1). */
  special?: number | undefined;
  /** Whether the source has holes. */
  sparse?: boolean | undefined;
  /** A random text, the same for all hard links of one file. */
  hardlink?: string | undefined;
  /** Path of the source, to distinguish sources of the same name. */
  source?: string | undefined;
  /** Target of a symbolic link, which has no bytes. */
  link?: string | undefined;
  /** A small picture in a format that browsers show. A NameError is thrown if it is too large. */
  thumbnail?: Bytes | undefined;
  volumeSize?: number | undefined;
  /** Show the name to the server: it is neither sealed nor verified. */
  plainName?: boolean | undefined;
  /** Maximum number of volumes to send at once; fewer are used on a slow connection. */
  parallel?: number | undefined;
  /** Resumes an unfinished upload with the same source and path. Streams cannot be resumed. */
  journal?: Journal | undefined;
  /** Let the server fetch the volumes. Each volume is sealed twice, since the server needs all digests first. */
  pull?: PullHost | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** Upload options with the target directory. */
export interface PlacedOptions extends UploadOptions {
  /** null is the root. */
  dirId: number | null;
  /** Called with the sealed thumbnail of each new description; the last call is valid. */
  onThumbnail?: ((sealed: Bytes) => void) | undefined;
}

/** The stored file. @public */
export interface UploadResult {
  fileId: string;
  /** Lower-case hex, as in the record. */
  totalSha256: string;
  /** Bytes of the source that were stored. */
  size: number;
  /** Whether the source has grown since. */
  grown?: boolean | undefined;
  storedSize: number;
  volumes: number;
  /** Number of volumes that the server had from an earlier attempt. */
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
