import { createHash } from 'node:crypto';
import { Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Body, deposit } from '../volumes/body.ts';
import type { OpenVolume } from '../volumes/store.ts';

/** A stored volume as a body for another store. */
export const bodyOf = (volume: OpenVolume): Body => ({
  async pour(sink) {
    let refusal: unknown;
    const bridge = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        Promise.try(deposit, chunk, sink).then(
          () => done(),
          (error: Error) => {
            refusal = error;
            done(error);
          },
        );
      },
    });
    // Told by what `send` rejects with.
    bridge.on('error', () => undefined);
    await volume.send(bridge, 0, volume.size).catch((error: unknown) => {
      throw refusal ?? error;
    });
  },
});

/** Keeps a command from taking the disk and the network from the server: a limit of bytes per second for all reads. */
export class Throttle {
  readonly #bytesPerMs: number;
  #free = Date.now();

  constructor(bytesPerSecond: number) {
    this.#bytesPerMs = bytesPerSecond / 1000;
  }

  async pass(bytes: number): Promise<void> {
    const now = Date.now();
    this.#free = Math.max(this.#free, now) + bytes / this.#bytesPerMs;
    if (this.#free - now > 20) await sleep(this.#free - now);
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
  await volume.send(sink, 0, volume.size);
  return hash.digest('hex');
}
