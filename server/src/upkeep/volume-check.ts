import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Volume } from '@szafa/protocol';
import type { OpenVolume, VolumeStore } from '../platform/volumes/store.ts';

/** What a disk says of bytes that it has lost; all other errors end the check. */
const UNREADABLE = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

export type VolumeFault = 'missing' | 'wrong' | 'unreadable';

/** Keeps whoever reads much from taking the disk and the network from the server: a limit of bytes per second for all reads. */
class Throttle {
  readonly #bytesPerMs: number;
  readonly #signal: AbortSignal | undefined;
  #free = Date.now();

  constructor(bytesPerSecond: number, signal: AbortSignal | undefined) {
    this.#bytesPerMs = bytesPerSecond / 1000;
    this.#signal = signal;
  }

  async pass(bytes: number): Promise<void> {
    this.#signal?.throwIfAborted();
    const now = Date.now();
    this.#free = Math.max(this.#free, now) + bytes / this.#bytesPerMs;
    if (this.#free - now > 20) {
      await sleep(this.#free - now, undefined, this.#signal && { signal: this.#signal });
    }
  }
}

/** SHA-256 of what the store really has. */
export async function digestOf(
  volume: OpenVolume,
  onRead: (bytes: number) => Promise<void> = async () => undefined,
): Promise<string> {
  const hash = createHash('sha256');
  const sink = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      hash.update(chunk);
      onRead(chunk.length).then(() => done(), done);
    },
  });
  // Told by what `send` rejects with.
  sink.on('error', () => undefined);
  await volume.send(sink, 0, volume.size);
  return hash.digest('hex');
}

interface Options {
  bytesPerSecond: number;
  /** A volume counts as at least so many bytes: to find one takes time, too. */
  leastBytes?: number;
  onBytes: (bytes: number) => void;
  /** Called for each volume that is there. */
  onVolume?: () => void;
  signal?: AbortSignal;
}

/** Compares volumes with what they should be, byte by byte, at a bounded pace. It changes nothing. */
export class VolumeCheck {
  readonly #volumes: VolumeStore;
  readonly #options: Options;
  readonly #throttle: Throttle;

  constructor(volumes: VolumeStore, options: Options) {
    this.#volumes = volumes;
    this.#options = options;
    this.#throttle = new Throttle(options.bytesPerSecond, options.signal);
  }

  async faultOf(id: string, spec: Volume): Promise<VolumeFault | undefined> {
    await this.#throttle.pass(Math.max(0, (this.#options.leastBytes ?? 0) - spec.size));
    try {
      const volume = await this.#volumes.open(id, spec);
      if (!volume) return 'missing';
      this.#options.onVolume?.();
      return (await this.#isRight(volume, spec).finally(() => volume.close())) ? undefined : 'wrong';
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return 'unreadable';
    }
  }

  /** Of one that is open; what cannot be read is not right. */
  async isRight(volume: OpenVolume, spec: Volume): Promise<boolean> {
    return this.#isRight(volume, spec).catch((error: unknown) => {
      if (!isUnreadable(error)) throw error;
      return false;
    });
  }

  async #isRight(volume: OpenVolume, { size, sha256 }: Volume): Promise<boolean> {
    if (volume.size !== size) return false;
    const digest = await digestOf(volume, async (bytes) => {
      this.#options.onBytes(bytes);
      await this.#throttle.pass(bytes);
    });
    return digest === sha256;
  }
}

const isUnreadable = (error: unknown) => UNREADABLE.has((error as NodeJS.ErrnoException).code ?? '');
