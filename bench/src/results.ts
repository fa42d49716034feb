import type { ClientName } from './clients/client.ts';
import type { Machine } from './machine.ts';
import type { PeerName } from './peers/peer.ts';

export interface Flow {
  /** 10^6 bytes per second, measured until the last answer. */
  mbps: number;
  /** CPU seconds of all server processes per 10^9 bytes. */
  cpuPerGb: number;
  /** CPU seconds of the load processes per 10^9 bytes. */
  clientCpuPerGb: number;
  /** Peak resident set of each server process in bytes, largest first. */
  peakBytes: number[];
}

export interface PutFlow extends Flow {
  /** Rate until the last answer plus the time to sync the filesystem. */
  durableMbps: number;
}

/** Result of one peer in one round. */
export type PeerRound = { put: PutFlow; get: Flow } | { failure: string };

export interface VolumeResult {
  cell: string;
  volumeBytes: number;
  connections: number;
  volumes: number;
  /** Results by round, so that ratios can be calculated within a round. */
  peers: Partial<Record<PeerName, PeerRound[]>>;
}

export interface SmallResult {
  request: string;
  connections: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
}

export interface TransferResult {
  volumes: number;
  initMs: number;
  completeMs: number;
  /** Time to list a folder with this number of files, without anything else. */
  readdirMs: number;
}

export interface GrowthResult {
  files: number;
  listMs: number;
  listBytes: number;
  pageMs: number;
  quotaMs: number;
  meMs: number;
}

export interface ChunksResult {
  chunkCount: number;
  putMs: number;
}

/** An upload or download, until all bytes are on disk. */
export interface Trip {
  mbps: number;
  /** CPU seconds of the client's processes per 10^9 bytes. */
  cpuPerGb: number;
  /** Peak resident set of the client's largest process, sampled ten times per second. */
  peakBytes: number;
}

export type ClientRound = { up: Trip; down: Trip } | { failure: string };

export interface ClientResult {
  load: string;
  bytes: number;
  clients: Partial<Record<ClientName, ClientRound[]>>;
}

/** How the bare page sends volumes: with `fetch`, or over WebSockets like the web app. */
export const bareWays = ['fetch', 'socket'] as const;
export type BareWay = (typeof bareWays)[number];

/** An upload of one file from a browser. */
export interface PageTrip {
  mbps: number;
  /** CPU seconds of all processes of the browser, and of the server, per 10^9 bytes. */
  browserCpuPerGb: number;
  serverCpuPerGb: number;
}

/** Results of the web app, the bare page and the command for the same file. */
export type PageRound =
  | {
      commandMbps: number;
      page: PageTrip;
      bare: Record<BareWay, PageTrip>;
      /** Time from a key press to the next frame, during an upload. */
      keyMs: { median: number; worst: number };
      /** Largest resident set of the tab, during an upload of half the bytes and of all. */
      tabBytes: { half: number; whole: number };
    }
  | { failure: string };

export interface PageResult {
  bytes: number;
  rounds: PageRound[];
}

/** Downloads through an nginx that sends the volumes itself (SZ_ACCEL), compared with plain nginx. */
export interface AccelResult {
  bytes: number;
  connections: number;
  rounds: { nginxMbps: number; mbps: number; nodeCpuPerGb: number }[];
}

/** A repeated `put` of an unchanged folder. */
export interface AgainResult {
  files: number;
  /** Seconds of each round, including the start of the command. */
  seconds: number[];
}

/** Download of one file by its owner and through a link, in MB per second. */
export interface LinkResult {
  bytes: number;
  rounds: { own: number; link: number }[];
}

export interface AccountsSide {
  accounts: number;
  files: number;
  ms: number;
  /** Database pages that PostgreSQL accessed. */
  pages: number;
}

/** The same request with few and with many files in the database. */
export interface AccountsResult {
  question: string;
  few: AccountsSide;
  many: AccountsSide;
}

export interface ScaleResult {
  question: string;
  unit: 'a second' | 'MB/s' | 'ms';
  reference: number;
  measured: number;
  /** measured / reference, as the median of the ratios of each round. */
  ratio: number;
  /** Lower limit of the ratio; for times, the upper limit. */
  bound: number;
  detail: string;
}

export interface Goal {
  text: string;
  verdict: 'pass' | 'FAIL' | 'not measured';
  detail: string;
}

export interface Results {
  machine: Machine;
  rounds: number;
  volumes: VolumeResult[];
  small: SmallResult[];
  transfers: TransferResult[];
  growth: GrowthResult[];
  chunks: ChunksResult[];
  clients: ClientResult[];
  again: AgainResult[];
  link: LinkResult[];
  scale: ScaleResult[];
  accel: AccelResult[];
  page: PageResult[];
  accounts: AccountsResult[];
  /** Cells that ended with an error and have no result. */
  failed: { cell: string; why: string }[];
}
