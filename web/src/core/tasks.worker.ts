import { PIECE_SIZE } from '@szafa/client';
import type { Progress } from './bridge/calls.ts';
import { Packer, type Pieces } from './packer.worker.ts';

const TELL_EVERY_MS = 200;

/** What `stop` makes a transfer fail with. */
export class StoppedError extends Error {
  override name = 'StoppedError';
  readonly code = 'stopped';
}

/** What is under way in this tab, each under an id by which it can be stopped. */
export class Tasks {
  readonly #tell: (progress: Progress) => void;
  readonly #running = new Map<string, AbortController>();

  constructor(tell: (progress: Progress) => void) {
    this.#tell = tell;
  }

  stop(id: string): void {
    this.#running.get(id)?.abort(new StoppedError('stopped'));
  }

  stopAll(): void {
    for (const id of this.#running.keys()) this.stop(id);
  }

  /** The browser writes aside and moves the file to its name at `close`, when everything was verified. */
  save(id: string, begin: (signal: AbortSignal) => Pieces, handle: FileSystemFileHandle): Promise<void> {
    return this.run(id, async (signal) => {
      const packer = new Packer(begin(signal));
      const target = await handle.createWritable();
      try {
        const memory = new Uint8Array(PIECE_SIZE);
        for (let filled = await packer.fill(memory); filled > 0; filled = await packer.fill(memory)) {
          await target.write(memory.subarray(0, filled));
        }
        await target.close();
      } catch (error) {
        await target.abort(error);
        throw error;
      } finally {
        await packer.close();
      }
    });
  }

  async run<T>(id: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const stop = new AbortController();
    this.#running.set(id, stop);
    try {
      return await work(stop.signal);
    } catch (error) {
      throw stop.signal.aborted ? stop.signal.reason : error;
    } finally {
      this.#running.delete(id);
    }
  }

  /** Not more often than a person sees. */
  teller(id: string): (progress: Omit<Progress, 'id'> & { total: number }) => void {
    let last = Number.NEGATIVE_INFINITY;
    return ({ total, ...progress }) => {
      const now = performance.now();
      if (now - last < TELL_EVERY_MS && progress.done < total) return;
      last = now;
      this.#tell({ id, ...progress });
    };
  }
}
