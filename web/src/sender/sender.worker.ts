/** The worker of the page behind a request link: seals files for the account that requested them, and uploads them. */
import { blobSource, LinkOverError, LockedError, parseRequest, RequestVisit } from '@szafa/client';
import { post, serveCalls } from '../core/answer.worker.ts';
import {
  journalLock,
  type RequestTerms,
  type SenderCalls,
  type UnfinishedUpload,
} from '../core/bridge/calls.ts';
import { visitorJournal, visitorUploads } from '../core/database.worker.ts';
import { appEngine } from '../core/engine/engine.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { pageTransport, VOLUMES_AT_ONCE } from '../core/transport/transport.worker.ts';

const RETRY_MS = 3_000;

const tasks = new Tasks((progress) => post({ progress }));
const engine = appEngine();
const transport = pageTransport((reachable) => post({ reachable }));
let visiting: RequestVisit | undefined;

function visit(): RequestVisit {
  if (!visiting) throw new LockedError('no request is visited');
  return visiting;
}

/** Returns the unfinished uploads of this request. They are stored under its path, because visitors have no username. */
const notesOf = async (id: string) =>
  (await visitorUploads.all()).filter(({ username }) => username === `/r/${id}`);

async function visitRequest(link: string): Promise<RequestTerms> {
  const address = parseRequest(link);
  try {
    visiting = await RequestVisit.begin(address, { engine, transport, retry: { capMs: RETRY_MS } });
  } catch (error) {
    // The request has ended, so none of its uploads can resume.
    if (error instanceof LinkOverError)
      for (const note of await notesOf(address.id)) {
        await RequestVisit.forget(address, visitorJournal, inJournal(note), engine);
        await visitorUploads.forget(note.id);
      }
    throw error;
  }
  const { note, limits } = visiting;
  const { files, bytes, expiresAt } = limits;
  return {
    ...{ files, bytes, expiresAt: expiresAt === null ? null : Date.parse(expiresAt) },
    ...(note !== undefined && { note }),
  };
}

/** Waits if any tab is uploading the same file: two uploads with one journal would take each other's volumes. */
function upload(note: UnfinishedUpload, file: File): Promise<void> {
  const { id, path } = note;
  const send = async (signal: AbortSignal) => {
    const tell = tasks.reporter(id);
    const source = blobSource(file);
    let stored: number | undefined;
    try {
      await visit().upload(source, {
        name: path,
        mtime: file.lastModified,
        ...(file.type && { type: file.type }),
        parallel: VOLUMES_AT_ONCE,
        journal: visitorJournal,
        signal,
        onProgress: (progress) => {
          ({ stored } = progress);
          tell({ ...progress, total: file.size });
        },
      });
      await visitorUploads.forget(id);
    } catch (error) {
      if (stored !== undefined) post({ progress: { id, done: stored, stored } });
      throw error;
    } finally {
      await source.close();
    }
  };
  return tasks.run(id, (signal) =>
    navigator.locks.request(journalLock(note), { signal }, () => send(signal)),
  );
}

const inJournal = ({ fileName, path }: UnfinishedUpload) => ({ place: fileName, name: path });

serveCalls<SenderCalls>({
  visitRequest,
  upload,
  storeUploads: (uploads) => visitorUploads.store(uploads),
  storedUploads: () => notesOf(visit().id),
  storedBytes: (note) => visit().storedOf(visitorJournal, inJournal(note)),
  async cancelUpload(note) {
    await navigator.locks.request(journalLock(note), { ifAvailable: true }, async (lock) => {
      // Without the lock, the journal belongs to another upload that is running.
      if (lock) await visit().abandon(visitorJournal, inJournal(note));
    });
    await visitorUploads.forget(note.id);
  },
  stop: async (id) => tasks.stop(id),
});
