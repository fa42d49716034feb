/** Handlers of the calls that preview and download files, for the app and the link page. */
import { isAhead } from '@szafa/client';
import type { Handlers } from '../core/answer.worker.ts';
import type { FileCalls, FileInfo, Zip } from '../core/bridge/calls.ts';
import type { Pieces, Tasks } from '../core/tasks.worker.ts';
import { shownType } from '../files/preview/types.worker.ts';
import type { FileOpener, ReadableFile } from './file-opener.worker.ts';
import { serveFile, serveZip } from './outlet.worker.ts';

function infoOf({ metadata: { name, size, mtime, type, added } }: ReadableFile): FileInfo {
  return {
    size,
    type: shownType(name, type),
    ...(mtime !== undefined && { mtime }),
    ahead: added !== undefined && isAhead({ added }),
  };
}

export function fileHandlers(tasks: Tasks, files: FileOpener): Handlers<FileCalls> {
  /** Returns the number of symbolic links that were left out. */
  const zipped = async (
    id: string,
    zip: Zip,
    write: (begin: (signal: AbortSignal) => Pieces) => Promise<void>,
  ): Promise<number> => {
    let left = 0;
    await write(async function* (signal) {
      const { zippedFiles } = await import('./zip/zipped-files.worker.ts');
      const open: FileOpener['openOnce'] = (...args) => files.openOnce(...args);
      yield* zippedFiles(zip, open, signal, tasks.reporter(id), () => left++);
    });
    return left;
  };
  return {
    info: async (fileId) => infoOf(await files.open(fileId)),
    async readText(fileId, most) {
      const bytes = await (await files.open(fileId)).readRange(0, most);
      // `stream` leaves out a character that the limit cuts in two.
      return new TextDecoder().decode(bytes, { stream: true });
    },
    async save(id, fileId, handle) {
      const remote = await files.open(fileId);
      const onProgress = tasks.reporter(id);
      await tasks.save(id, (signal) => remote.pieces({ signal, onProgress }), handle);
    },
    saveZip: (id, zip, handle) => zipped(id, zip, (begin) => tasks.save(id, begin, handle)),
    async serve(id, fileId, request, port) {
      const remote = await files.open(fileId).catch((error: unknown) => {
        port!.postMessage(null);
        throw error;
      });
      const onProgress = tasks.reporter(id);
      await tasks.run(id, (signal) => serveFile(remote, request, port!, signal, onProgress));
    },
    serveZip: (id, zip, port) =>
      zipped(id, zip, (begin) => tasks.run(id, (signal) => serveZip(zip.name, begin, port!, signal))),
    stop: async (id) => tasks.stop(id),
  };
}
