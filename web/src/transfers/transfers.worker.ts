import { blobSource, type Szafa } from '@szafa/client';
import { requireUser } from '../accounts/same-account.worker.ts';
import { journalLock, type UnfinishedUpload } from '../core/bridge/calls.ts';
import type { Progress } from '../core/bridge/messages.ts';
import { browserJournal, unfinishedUploads } from '../core/database.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { VOLUMES_AT_ONCE } from '../core/transport/transport.worker.ts';
import { thumbnailFor } from '../files/thumbnails/thumbnails.worker.ts';

/** The uploads and downloads under way in this tab. */
export class Transfers extends Tasks {
  readonly #szafa: () => Szafa;
  readonly #tell: (progress: Progress) => void;

  constructor(szafa: () => Szafa, tell: (progress: Progress) => void) {
    super(tell);
    this.#szafa = szafa;
    this.#tell = tell;
  }

  /** The account that the upload was started for; throws if another one has signed in since. */
  #of({ username }: UnfinishedUpload): Szafa {
    const szafa = this.#szafa();
    requireUser(szafa, username);
    return szafa;
  }

  /**
   * `after`: of the newest file of that path. A file that is on its way to the same place already, in whichever tab, is
   * waited for: with one journal, the two would take each other's volumes for their own.
   */
  upload(note: UnfinishedUpload, file: File, after: number): Promise<void> {
    const { id, path } = note;
    return this.#alone(note, async (signal) => {
      const tell = this.reporter(id);
      const source = blobSource(file);
      let stored: number | undefined;
      try {
        const thumbnail = await thumbnailFor(file);
        await this.#of(note).upload(source, {
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
        await unfinishedUploads.forget(id);
      } catch (error) {
        if (stored !== undefined) this.#tell({ id, done: stored, stored });
        throw error;
      } finally {
        await source.close();
      }
    });
  }

  async storedBytes(note: UnfinishedUpload): Promise<number> {
    const { fileName, path } = note;
    return this.#of(note).storedOf(browserJournal, { place: fileName, path });
  }

  async cancelUpload(note: UnfinishedUpload): Promise<void> {
    const { id, fileName, path } = note;
    await navigator.locks.request(journalLock(note), { ifAvailable: true }, async (lock) => {
      // Otherwise the journal is of another upload, which is running.
      if (lock) await this.#of(note).abandon(browserJournal, { place: fileName, path });
    });
    // Not before: without it nobody can give the upload up once more.
    await unfinishedUploads.forget(id);
  }

  #alone<T>(note: UnfinishedUpload, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.run(note.id, (signal) =>
      navigator.locks.request(journalLock(note), { signal }, () => work(signal)),
    );
  }
}
