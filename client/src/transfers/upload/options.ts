import type { Bytes, Engine } from '@szafa/format';
import type { Keys } from '../../accounts/keys.ts';
import type { Api } from '../../call.ts';
import type { HeaderCache } from '../download/header-cache.ts';
import type { Journal } from './journal.ts';
import type { VolumeMemory } from './memory.ts';
import type { VolumeSupply } from './supply.ts';

/** How far an upload is. @public */
export interface UploadProgress {
  /** Bytes of the file that the service has, or that are on their way to it; never less than before. */
  done: number;
  /** Bytes of it that the service has in whole volumes: from here an upload goes on that is stopped now. */
  stored: number;
  /** Undefined where the length of the source is not known. */
  total: number | undefined;
}

/** Offers volumes to the service, which fetches them itself; `client/node` has one. @public */
export interface PullHost {
  serve(transferId: string, supply: VolumeSupply): Promise<PullOffer>;
}

export interface PullOffer {
  baseUrl: string;
  token: string;
  /** Why a volume could not be given, if one could not. */
  failure(): Error | undefined;
  close(): Promise<void>;
}

/** What a file is called, what is sealed with it, and how it travels. @public */
export interface UploadOptions {
  /** Where it goes in the tree, from the top: `photos/2026/a.jpg`. The directory that it is filed in is made if it is not there. */
  path: string;
  /** Milliseconds since 1970. */
  mtime?: number | undefined;
  /** Nanoseconds to add to `mtime`. */
  nanos?: number | undefined;
  /** Media type. */
  type?: string | undefined;
  /** When it is uploaded, in milliseconds since 1970; now unless told. */
  added?: number | undefined;
  /** `gen` of the newest file of this path: this one becomes newer, whatever the clocks say. */
  after?: number | undefined;
  /** Permission bits of the source; only 0o777 of them are kept. */
  mode?: number | undefined;
  /** Of a folder: setuid (4), setgid (2) and sticky (1). */
  special?: number | undefined;
  /** The source has holes. */
  sparse?: boolean | undefined;
  /** The same random text for all names of one file on the disk of the source. */
  hardlink?: string | undefined;
  /** Path of the source, to tell it from others of the same name. */
  source?: string | undefined;
  /** Target of a symbolic link, which has no bytes. */
  link?: string | undefined;
  /** A small picture of it, in whatever format the page shows; what is too large for one is a NameError. */
  thumbnail?: Bytes | undefined;
  volumeSize?: number | undefined;
  /** Show this name to the service, unsealed and unverified. */
  plainName?: boolean | undefined;
  /** Volumes on their way at once, at most; on a slow line it is one. */
  parallel?: number | undefined;
  /** Resumes what an earlier call with the same journal and path left unfinished; a stream cannot be resumed. */
  journal?: Journal | undefined;
  /** Have the service fetch the volumes. Each is sealed twice then: the service wants all digests first. */
  pull?: PullHost | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** The same, once it is known where the service files it. */
export interface PlacedOptions extends UploadOptions {
  /** Where the service files it; null is the root. */
  dirId: number | null;
  /** Hears of the thumbnail as it was sealed for the description that was made last. */
  onThumbnail?: ((sealed: Bytes) => void) | undefined;
}

/** The file as the service has it. @public */
export interface UploadResult {
  fileId: string;
  /** Lower-case hex, as in the record. */
  totalSha256: string;
  /** Bytes of the source that were stored. */
  size: number;
  /** The source has become longer than that since. */
  grown?: boolean | undefined;
  storedSize: number;
  volumes: number;
  /** Volumes that the service had from an earlier attempt. */
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
