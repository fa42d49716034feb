import { blobSource, type RemoteFile, type Szafa } from '@szafa/client';
import type { Progress, UploadNote } from '../bridge.ts';
import { browserJournal, kept } from './database.ts';
import { Spool } from './spool.ts';
import { VOLUMES_AT_ONCE } from './transport.ts';

/** Sealed volumes kept in memory between the two passes, where they cannot be kept in a file. */
const MEMORY_BUDGET = 128 * 1024 * 1024;
/** Files up to this size wait in memory: a file would cost more than it spares. */
const SMALL = 16 * 1024 * 1024;
const TELL_EVERY_MS = 200;

/** What `stop` makes a transfer fail with. */
export class StoppedError extends Error {
  override name = 'StoppedError';
  readonly code = 'stopped';
}

/** The uploads and downloads under way in this tab. */
export class Transfers {
  readonly #szafa: () => Szafa;
  readonly #tell: (progress: Progress) => void;
  readonly #running = new Map<string, AbortController>();

  constructor(szafa: () => Szafa, tell: (progress: Progress) => void) {
    this.#szafa = szafa;
    this.#tell = tell;
  }

  stop(id: string): void {
    this.#running.get(id)?.abort(new StoppedError('stopped'));
  }

  stopAll(): void {
    for (const id of this.#running.keys()) this.stop(id);
  }

  /** `after`: of the newest file of that name. */
  upload(note: UploadNote, file: File, after: number): Promise<{ fileId: string }> {
    const { id, name, dirId } = note;
    return this.run(id, async (signal) => {
      const tell = this.teller(id);
      const source = blobSource(file);
      const spool = file.size > SMALL ? await Spool.start(id) : undefined;
      try {
        const { fileId } = await this.#szafa().upload(source, {
          name,
          dirId,
          mtime: file.lastModified,
          after,
          ...(file.type && { type: file.type }),
          memoryBudget: MEMORY_BUDGET,
          shelf: spool,
          parallel: VOLUMES_AT_ONCE,
          journal: browserJournal,
          signal,
          onProgress: ({ phase, done, total }) => tell(phase, done, total),
        });
        await kept.forgetNote(id);
        return { fileId };
      } finally {
        await source.close();
        await spool?.remove();
      }
    });
  }

  async abandon({ id, fileName, name, dirId }: UploadNote): Promise<void> {
    await kept.forgetNote(id);
    await this.#szafa().abandon(browserJournal, { place: fileName, name, dirId });
  }

  /** The browser writes aside and moves the file to its name at `close`, when everything was verified. */
  save(id: string, remote: RemoteFile, handle: FileSystemFileHandle): Promise<void> {
    return this.run(id, async (signal) => {
      const tell = this.teller(id);
      const target = await handle.createWritable();
      try {
        const onProgress = ({ done, total }: { done: number; total: number }) => tell('receive', done, total);
        for await (const piece of remote.pieces({ signal, onProgress })) {
          await target.write(piece as Uint8Array<ArrayBuffer>);
        }
        await target.close();
      } catch (error) {
        await target.abort(error);
        throw error;
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
  teller(id: string): (phase: Progress['phase'], done: number, total: number) => void {
    let last = 0;
    let lastPhase = '';
    return (phase, done, total) => {
      const now = performance.now();
      if (now - last < TELL_EVERY_MS && done < total && phase === lastPhase) return;
      last = now;
      lastPhase = phase;
      this.#tell({ id, phase, done });
    };
  }
}
