import { PIECE_SIZE } from '@szafa/client';
import type { Progress } from './bridge/messages.ts';

/** Content in pieces of up to PIECE_SIZE bytes. Each piece is valid until the next one is requested. */
export type Pieces = AsyncGenerator<Uint8Array, void>;

/** Packs small pieces, as in a zip of small files, into full buffers, because each buffer costs a message or a write. */
export class Packer {
  readonly #pieces: Pieces;
  #rest: Uint8Array = new Uint8Array();

  constructor(pieces: Pieces) {
    this.#pieces = pieces;
  }

  /** Returns the number of bytes written: fewer than `memory.length` only at the end of the content. */
  async fill(memory: Uint8Array): Promise<number> {
    let at = 0;
    while (at < memory.length) {
      if (this.#rest.length === 0) {
        const { done, value } = await this.#pieces.next();
        if (done) break;
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, memory.length - at);
      memory.set(part, at);
      at += part.length;
      this.#rest = this.#rest.subarray(part.length);
    }
    return at;
  }

  async close(): Promise<void> {
    await this.#pieces.return();
  }
}

const REPORT_EVERY_MS = 200;

/** A task was ended by `stop`. */
export class StoppedError extends Error {
  override name = 'StoppedError';
  readonly code = 'stopped';
}

/** The running tasks of this tab. A task can be stopped by its id. */
export class Tasks {
  readonly #report: (progress: Progress) => void;
  readonly #running = new Map<string, AbortController>();

  constructor(report: (progress: Progress) => void) {
    this.#report = report;
  }

  stop(id: string): void {
    this.#running.get(id)?.abort(new StoppedError('stopped'));
  }

  stopAll(): void {
    for (const id of this.#running.keys()) this.stop(id);
  }

  /** Writes to a temporary file, which replaces the target only at `close`: after all content was verified. */
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

  /** Returns a progress callback that is limited to one report per REPORT_EVERY_MS, plus the last one. */
  reporter(id: string): (progress: Omit<Progress, 'id'> & { total: number }) => void {
    let last = Number.NEGATIVE_INFINITY;
    return ({ total, ...progress }) => {
      const now = performance.now();
      if (now - last < REPORT_EVERY_MS && progress.done < total) return;
      last = now;
      this.#report({ id, ...progress });
    };
  }
}
