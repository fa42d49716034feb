/** The worker of the page that requests lead to: it seals files for whoever asked for them, and sends them. */
import { blobSource, LinkOverError, LockedError, parseRequest, RequestVisit } from '@szafa/client';
import { answerBy, say } from '../core/answer.worker.ts';
import { type AskedFor, placeLock, type SenderCalls, type UploadNote } from '../core/bridge/calls.ts';
import { visitorJournal, visitorNotes } from '../core/database.worker.ts';
import { holdingEngine } from '../core/engine/engine.worker.ts';
import { Tasks } from '../core/tasks.worker.ts';
import { pageTransport, VOLUMES_AT_ONCE } from '../core/transport/transport.worker.ts';

const RETRY_MS = 3_000;

const tasks = new Tasks((progress) => say({ progress }));
const engine = holdingEngine();
const transport = pageTransport((reachable) => say({ reachable }));
let visiting: RequestVisit | undefined;

function visit(): RequestVisit {
  if (!visiting) throw new LockedError('no request is visited');
  return visiting;
}

/** Uploads of this request that were not finished: visitors have no name, so they are remembered under its path. */
const notesOf = async (id: string) =>
  (await visitorNotes.all()).filter(({ username }) => username === `/r/${id}`);

async function visitRequest(link: string): Promise<AskedFor> {
  const address = parseRequest(link);
  try {
    visiting = await RequestVisit.begin(address, { engine, transport, retry: { capMs: RETRY_MS } });
  } catch (error) {
    // None of them goes on.
    if (error instanceof LinkOverError)
      for (const note of await notesOf(address.id)) {
        await RequestVisit.forget(address, visitorJournal, inJournal(note), engine);
        await visitorNotes.forget(note.id);
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

/** A file that is on its way already, in whichever tab, is waited for: with one journal, the two would take each other's volumes. */
function upload(note: UploadNote, file: File): Promise<void> {
  const { id, path } = note;
  const send = async (signal: AbortSignal) => {
    const tell = tasks.teller(id);
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
      await visitorNotes.forget(id);
    } catch (error) {
      if (stored !== undefined) say({ progress: { id, done: stored, stored } });
      throw error;
    } finally {
      await source.close();
    }
  };
  return tasks.run(id, (signal) => navigator.locks.request(placeLock(note), { signal }, () => send(signal)));
}

const inJournal = ({ fileName, path }: UploadNote) => ({ place: fileName, name: path });

answerBy<SenderCalls>({
  visitRequest,
  upload,
  remember: (notes) => visitorNotes.keep(notes),
  remembered: () => notesOf(visit().id),
  stored: (note) => visit().storedOf(visitorJournal, inJournal(note)),
  async abandon(note) {
    await navigator.locks.request(placeLock(note), { ifAvailable: true }, async (lock) => {
      // Otherwise what is remembered is of another upload, which goes on.
      if (lock) await visit().abandon(visitorJournal, inJournal(note));
    });
    await visitorNotes.forget(note.id);
  },
  stop: async (id) => tasks.stop(id),
});
