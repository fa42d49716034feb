import { blobSource, type RemoteFile, type Szafa } from '@szafa/client';
import type { Progress, UploadNote } from '../bridge.ts';
import { browserJournal, kept } from './database.ts';
import { VOLUMES_AT_ONCE } from './transport.ts';

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
      try {
        const { fileId } = await this.#szafa().upload(source, {
          name,
          dirId,
          mtime: file.lastModified,
          after,
          ...(file.type && { type: file.type }),
          parallel: VOLUMES_AT_ONCE,
          journal: browserJournal,
          signal,
          onProgress: ({ done }) => tell('send', done, file.size),
        });
        await kept.forgetNote(id);
        return { fileId };
      } finally {
        await source.close();
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
