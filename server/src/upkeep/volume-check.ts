import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Volume } from '@szafa/protocol';
import type { OpenVolume, VolumeStore } from '../platform/volumes/store.ts';

/** Errors of a disk that has lost bytes; any other error ends the check. */
const UNREADABLE = new Set(['EIO', 'EUCLEAN', 'EBADMSG']);

export type VolumeFault = 'missing' | 'wrong' | 'unreadable';

/** Computes the SHA-256 of the stored bytes. */
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
  // `send` rejects with the same error.
  sink.on('error', () => undefined);
  await volume.send(sink, 0, volume.size);
  return hash.digest('hex');
}

interface Options {
  bytesPerSecond: number;
  /** Smaller volumes count as this many bytes, because opening one takes time too. */
  leastBytes?: number;
  onBytes: (bytes: number) => void;
  /** Called for each existing volume. */
  onVolume?: () => void;
  signal?: AbortSignal;
}

/**
 * Compares volumes with their sizes and digests, and changes nothing. The total rate of reads is limited, so as not to slow
 * down the server.
 */
export class VolumeCheck {
  readonly #volumes: VolumeStore;
  readonly #options: Options;
  /** The time at which the bytes read so far are within the rate. */
  #free = Date.now();

  constructor(volumes: VolumeStore, options: Options) {
    this.#volumes = volumes;
    this.#options = options;
  }

  async faultOf(id: string, spec: Volume): Promise<VolumeFault | undefined> {
    await this.#pass(Math.max(0, (this.#options.leastBytes ?? 0) - spec.size));
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

  /** Checks an open volume; an unreadable one counts as wrong. */
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
      await this.#pass(bytes);
    });
    return digest === sha256;
  }

  async #pass(bytes: number): Promise<void> {
    const { signal, bytesPerSecond } = this.#options;
    signal?.throwIfAborted();
    const now = Date.now();
    this.#free = Math.max(this.#free, now) + (bytes / bytesPerSecond) * 1000;
    if (this.#free - now > 20) await sleep(this.#free - now, undefined, signal && { signal });
  }
}

const isUnreadable = (error: unknown) => UNREADABLE.has((error as NodeJS.ErrnoException).code ?? '');
