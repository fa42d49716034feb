import type { Daemon } from '../daemon.ts';
import type { LoadRequest } from '../load/request.ts';

export const peerNames = ['szafa', 'nginx', 'tus', 'rclone'] as const;
export type PeerName = (typeof peerNames)[number];

/** A running server that can store volumes and give them back. */
export interface Peer {
  readonly name: PeerName;
  readonly daemon: Daemon;
  readonly port: number;
  /** Announces volumes wherever the protocol wants that; no part of any measured time. */
  prepare(count: number, bytes: number): Promise<Batch>;
}

/** Some volumes of one size on one server. */
export interface Batch {
  /** One request a volume. */
  puts: LoadRequest[];
  /** One request a volume, once all are stored. */
  gets(): Promise<LoadRequest[]>;
  /** Resolves when the bytes are gone from the disk. */
  remove(): Promise<void>;
}
