import { blobSource, PIECE_SIZE, type Szafa } from '@szafa/client';
import { type Progress, placeLock, type UploadNote } from '../bridge.ts';
import { browserJournal, kept } from './database.ts';
import { Packer, type Pieces } from './packer.ts';
import { thumbnailFor } from './thumbnails.ts';
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

  /**
   * `after`: of the newest file of that path. A file that is on its way to the same place already, in whichever tab, is
   * waited for: with one journal, the two would take each other's volumes for their own.
   */
  upload(note: UploadNote, file: File, after: number): Promise<{ fileId: string }> {
    const { id, path } = note;
    return this.#alone(note, async (signal) => {
      const tell = this.teller(id);
      const source = blobSource(file);
      let stored: number | undefined;
      try {
        const thumbnail = await thumbnailFor(file);
        const { fileId } = await this.#szafa().upload(source, {
          path,
          mtime: file.lastModified,
          after,
          ...(file.type && { type: file.type }),
          ...(thumbnail && { thumbnail }),
          parallel: VOLUMES_AT_ONCE,
          journal: browserJournal,
          signal,
          onProgress: (progress) => {
            ({ stored } = progress);
            tell({ ...progress, total: file.size });
          },
        });
        await kept.forgetNote(id);
        return { fileId };
      } catch (error) {
        if (stored !== undefined) this.#tell({ id, done: stored, stored });
        throw error;
      } finally {
        await source.close();
      }
    });
  }

  stored({ fileName, path }: UploadNote): Promise<number> {
    return this.#szafa().storedOf(browserJournal, { place: fileName, path });
  }

  async abandon(note: UploadNote): Promise<void> {
    const { id, fileName, path } = note;
    await kept.forgetNote(id);
    await navigator.locks.request(placeLock(note), { ifAvailable: true }, async (lock) => {
      // Otherwise what is remembered is of another upload, which goes on.
      if (lock) await this.#szafa().abandon(browserJournal, { place: fileName, path });
    });
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

  #alone<T>(note: UploadNote, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.run(note.id, (signal) =>
      navigator.locks.request(placeLock(note), { signal }, () => work(signal)),
    );
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
