import { blobSource, type Szafa } from '@szafa/client';
import { requireUser } from '../accounts/same-account.worker.ts';
import { journalLock, type UnfinishedUpload } from '../core/bridge/calls.ts';
import type { Progress } from '../core/bridge/messages.ts';
import { browserJournal, unfinishedUploads } from '../core/database.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { VOLUMES_AT_ONCE } from '../core/transport/transport.worker.ts';
import { thumbnailFor } from '../files/thumbnails/thumbnails.worker.ts';

/** The running uploads and downloads of this tab. */
export class Transfers extends Tasks {
  readonly #szafa: () => Szafa;
  readonly #tell: (progress: Progress) => void;

  constructor(szafa: () => Szafa, tell: (progress: Progress) => void) {
    super(tell);
    this.#szafa = szafa;
    this.#tell = tell;
  }

  /** Returns the account of this upload; throws if another one has signed in since. */
  #of({ username }: UnfinishedUpload): Szafa {
    const szafa = this.#szafa();
    requireUser(szafa, username);
    return szafa;
  }

  /**
   * Waits if any tab is uploading the same file to the same path: two uploads with one journal would take each other's
   * volumes. `after` is the `gen` of the newest file at that path.
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
      // Without the lock, the journal belongs to another upload that is running.
      if (lock) await this.#of(note).abandon(browserJournal, { place: fileName, path });
    });
    // Last, so that the upload can be cancelled again if the call above fails.
    await unfinishedUploads.forget(id);
  }

  #alone<T>(note: UnfinishedUpload, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return this.run(note.id, (signal) =>
      navigator.locks.request(journalLock(note), { signal }, () => work(signal)),
    );
  }
}
