import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../machine.ts';
import { startNginx } from './nginx.ts';
import type { Peer, PeerName } from './peer.ts';
import { startRclone } from './rclone.ts';
import { Szafa } from './szafa.ts';
import { startTus } from './tus.ts';

/** Debian packages of the peers that are not npm packages. */
const packages: Partial<Record<PeerName, { program: string; debian: string }>> = {
  nginx: { program: 'nginx', debian: 'nginx-light' },
  rclone: { program: 'rclone', debian: 'rclone' },
};

/** Returns the missing Debian packages for these peers. */
export function missingPackages(names: readonly PeerName[]): string[] {
  return names.flatMap((name) => {
    const needed = packages[name];
    return needed && findProgram(needed.program) === undefined ? [needed.debian] : [];
  });
}

function start(name: PeerName, folder: string): Promise<Peer> {
  if (name === 'nginx') return startNginx(findProgram('nginx')!, folder);
  if (name === 'rclone') return startRclone(findProgram('rclone')!, folder);
  return name === 'tus' ? startTus(folder) : Szafa.start(folder);
}

/** The compared servers. Each has its own folder on the same filesystem. */
export class Fleet {
  readonly names: readonly PeerName[];
  readonly #folder: string;
  readonly #warmUp: (peer: Peer) => Promise<void>;
  readonly #peers = new Map<PeerName, Peer>();

  constructor(folder: string, names: readonly PeerName[], warmUp: (peer: Peer) => Promise<void>) {
    this.#folder = folder;
    this.names = names;
    this.#warmUp = warmUp;
  }

  /** Returns a running server. Starts it and warms it up at the first call. */
  async get(name: PeerName): Promise<Peer> {
    let peer = this.#peers.get(name);
    if (!peer) {
      peer = await start(name, join(this.#folder, name));
      this.#peers.set(name, peer);
      await this.#warmUp(peer);
    }
    return peer;
  }

  /** Stops a server and deletes its data, so that a failure does not affect later rounds. */
  async discard(name: PeerName): Promise<void> {
    await this.#peers.get(name)?.daemon.stop();
    this.#peers.delete(name);
    await rm(join(this.#folder, name), { recursive: true, force: true });
  }

  async stop(): Promise<void> {
    for (const peer of this.#peers.values()) await peer.daemon.stop();
    this.#peers.clear();
  }
}
