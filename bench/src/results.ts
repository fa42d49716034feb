import type { ClientName } from './clients/client.ts';
import type { Machine } from './machine.ts';
import type { PeerName } from './peers/peer.ts';

export interface Flow {
  /** 10^6 bytes a second until the last answer. */
  mbps: number;
  /** CPU seconds of the server's processes for 10^9 bytes. */
  cpuPerGb: number;
  /** The same of the load processes. */
  clientCpuPerGb: number;
  /** Peak resident set of each process of the server, the largest first, in bytes. */
  peakBytes: number[];
}

export interface PutFlow extends Flow {
  /** Until the last answer and then until the filesystem is synced. */
  durableMbps: number;
}

/** What one peer did in one round. */
export type PeerRound = { put: PutFlow; get: Flow } | { failure: string };

export interface VolumeResult {
  cell: string;
  volumeBytes: number;
  connections: number;
  volumes: number;
  /** By round, so that ratios can be taken within a round. */
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
  /** Of reading the names in a folder with that many files, by itself. */
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

/** One way of the files, until their bytes are on disk. */
export interface Trip {
  mbps: number;
  /** CPU seconds of the client's processes for 10^9 bytes. */
  cpuPerGb: number;
  /** Peak resident set of the client's largest process, as seen ten times a second. */
  peakBytes: number;
}

export type ClientRound = { up: Trip; down: Trip } | { failure: string };

export interface ClientResult {
  load: string;
  bytes: number;
  clients: Partial<Record<ClientName, ClientRound[]>>;
}

/** How the bare page sends volumes: by `fetch`, or along sockets as the web app does. */
export const bareWays = ['fetch', 'socket'] as const;
export type BareWay = (typeof bareWays)[number];

/** One file up from a browser. */
export interface PageTrip {
  mbps: number;
  /** CPU seconds of all processes of the browser for 10^9 bytes, and of the service. */
  browserCpuPerGb: number;
  serverCpuPerGb: number;
}

/** What the web app, the bare page and the command did with the same file. */
export type PageRound =
  | {
      commandMbps: number;
      page: PageTrip;
      bare: Record<BareWay, PageTrip>;
      /** From a key to the next picture, while an upload ran. */
      keyMs: { median: number; worst: number };
      /** Largest resident set of the tab, during an upload of half the file and of the whole one. */
      tabBytes: { half: number; whole: number };
    }
  | { failure: string };

export interface PageResult {
  bytes: number;
  rounds: PageRound[];
}

/** GET through nginx that sends volumes itself, beside nginx alone. */
export interface AccelResult {
  bytes: number;
  connections: number;
  rounds: { nginxMbps: number; mbps: number; nodeCpuPerGb: number }[];
}

/** A folder put once more, with nothing to do. */
export interface AgainResult {
  files: number;
  /** Of each round, with the start of the command. */
  seconds: number[];
}

/** One file down, by its owner and through a link, in MB a second. */
export interface LinkResult {
  bytes: number;
  rounds: { own: number; link: number }[];
}

export interface AccountsSide {
  accounts: number;
  files: number;
  ms: number;
  /** That PostgreSQL looked at. */
  pages: number;
}

/** The same question with few and with many files in the database. */
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
  /** measured / reference: the median of the ratios within each round. */
  ratio: number;
  /** What the ratio must reach; for times, what it must not pass. */
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
  /** Cells that ended with an error: they show nothing. */
  failed: { cell: string; why: string }[];
}
