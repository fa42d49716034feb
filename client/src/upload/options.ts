import type { Api } from '../api/api.ts';
import type { Engine } from '../format/engine.ts';
import type { Keys } from '../keys.ts';
import type { Budget } from './budget.ts';
import type { Journal } from './journal.ts';
import type { Shelf } from './shelf.ts';
import type { VolumeSupply } from './supply.ts';

/** How far an upload is. @public */
export interface UploadProgress {
  /** `prepare`: volumes are being sealed and hashed; `send`: they are on their way. */
  phase: 'prepare' | 'send';
  /** Bytes of the file, of `total`, that this phase has behind it. */
  done: number;
  total: number;
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
  /** The whole name; may be a relative path with `/`. */
  name: string;
  dirId?: number | null | undefined;
  /** Milliseconds since 1970. */
  mtime?: number | undefined;
  /** Media type. */
  type?: string | undefined;
  /** When it is uploaded, in milliseconds since 1970; now unless told. */
  added?: number | undefined;
  /** `gen` of the newest file of this name: this one becomes newer, whatever the clocks say. */
  after?: number | undefined;
  /** Permission bits of the source; only 0o777 of them are kept. */
  mode?: number | undefined;
  /** Path of the source, to tell it from others of the same name. */
  source?: string | undefined;
  volumeSize?: number | undefined;
  /** Show this name to the service, unsealed and unverified. */
  plainName?: boolean | undefined;
  /** Bytes of sealed volumes kept in memory between the two passes; the session's shared budget unless told. */
  memoryBudget?: number | undefined;
  /** Keeps them elsewhere. */
  shelf?: Shelf | undefined;
  /** Volumes on their way at once. */
  parallel?: number | undefined;
  /** Resumes what an earlier call with the same journal, name and directory left unfinished. */
  journal?: Journal | undefined;
  /** Have the service fetch the volumes. */
  pull?: PullHost | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: ((progress: UploadProgress) => void) | undefined;
}

/** The file as the service has it. @public */
export interface UploadResult {
  fileId: string;
  /** Lower-case hex, as in the record. */
  totalSha256: string;
  storedSize: number;
  volumes: number;
  /** Volumes that the service had from an earlier attempt. */
  resumed: number;
}

export interface UploadContext {
  api: Api;
  engine: Engine;
  keys: Keys;
  username: string;
  budget: Budget;
}
