import type { Daemon } from '../daemon.ts';
import type { LoadRequest } from '../load/request.ts';

export const peerNames = ['szafa', 'nginx', 'tus', 'rclone'] as const;
export type PeerName = (typeof peerNames)[number];

/** A running server that can store and return volumes. */
export interface Peer {
  readonly name: PeerName;
  readonly daemon: Daemon;
  readonly port: number;
  /** Announces volumes if the protocol requires it. Not part of any measured time. */
  prepare(count: number, bytes: number): Promise<Batch>;
}

/** Several volumes of the same size on one server. */
export interface Batch {
  /** One request per volume. */
  puts: LoadRequest[];
  /** Returns one request per volume. Call it after all volumes are stored. */
  gets(): Promise<LoadRequest[]>;
  /** Resolves when the bytes are deleted from the disk. */
  remove(): Promise<void>;
}
