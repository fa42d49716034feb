/** Files that are shown and saved, whoever reads them: their owner, or a visitor. */
import { isAhead } from '@szafa/client';
import type { Handlers } from '../core/answer.worker.ts';
import type { FileCalls, FileInfo, Zip } from '../core/bridge/calls.ts';
import type { Pieces } from '../core/packer.worker.ts';
import type { Tasks } from '../core/tasks.worker.ts';
import { shownType } from '../files/preview/types.worker.ts';
import { serveFile, serveZip } from './outlet.worker.ts';
import type { Readable } from './readable.worker.ts';

export interface Shelf {
  /** One that is read in parts, again and again. */
  open(fileId: string): Promise<Readable>;
  /** One that is read once, from its beginning. */
  openOnce(fileId: string, signal: AbortSignal): Promise<Readable>;
}

function infoOf({ metadata: { name, size, mtime, type, added } }: Readable): FileInfo {
  return {
    size,
    type: shownType(name, type),
    ...(mtime !== undefined && { mtime }),
    ahead: added !== undefined && isAhead({ added }),
  };
}

export function fileHandlers(tasks: Tasks, shelf: Shelf): Handlers<FileCalls> {
  /** How many links were left out. */
  const zipped = async (
    id: string,
    wish: Zip,
    write: (begin: (signal: AbortSignal) => Pieces) => Promise<void>,
  ): Promise<number> => {
    let left = 0;
    await write(async function* (signal) {
      const { zippedFiles } = await import('./zip/zipped-files.worker.ts');
      const open: Shelf['openOnce'] = (...args) => shelf.openOnce(...args);
      yield* zippedFiles(wish, open, signal, tasks.teller(id), () => left++);
    });
    return left;
  };
  return {
    info: async (fileId) => infoOf(await shelf.open(fileId)),
    async readText(fileId, most) {
      const bytes = await (await shelf.open(fileId)).readRange(0, most);
      // A character that the limit cuts in two is left out.
      return new TextDecoder().decode(bytes, { stream: true });
    },
    async save(id, fileId, handle) {
      const remote = await shelf.open(fileId);
      const onProgress = tasks.teller(id);
      await tasks.save(id, (signal) => remote.pieces({ signal, onProgress }), handle);
    },
    saveZip: (id, wish, handle) => zipped(id, wish, (begin) => tasks.save(id, begin, handle)),
    async serve(id, fileId, request, port) {
      const remote = await shelf.open(fileId).catch((error: unknown) => {
        port!.postMessage(null);
        throw error;
      });
      const tell = tasks.teller(id);
      await tasks.run(id, (signal) => serveFile(remote, request, port!, signal, tell));
    },
    serveZip: (id, wish, port) =>
      zipped(id, wish, (begin) => tasks.run(id, (signal) => serveZip(wish.name, begin, port!, signal))),
    stop: async (id) => tasks.stop(id),
  };
}
