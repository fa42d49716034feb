/** Files that are shown and saved, whoever reads them: their owner, or a visitor. */
import { isAhead } from '@szafa/client';
import type { FileCalls, FileInfo, Zip } from '../bridge.ts';
import type { Handlers } from './answer.ts';
import { serveFile, serveZip } from './outlet.ts';
import type { Readable } from './readable.ts';
import type { Tasks } from './tasks.ts';
import { shownType } from './types.ts';
import { zippedFiles } from './zipped-files.ts';

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
  const zipOf = (id: string, wish: Zip) => (signal: AbortSignal) =>
    zippedFiles(wish, (...args) => shelf.openOnce(...args), signal, tasks.teller(id));
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
    saveZip: (id, wish, handle) => tasks.save(id, zipOf(id, wish), handle),
    async serve(id, fileId, request, port) {
      const remote = await shelf.open(fileId).catch((error: unknown) => {
        port!.postMessage(null);
        throw error;
      });
      const tell = tasks.teller(id);
      await tasks.run(id, (signal) => serveFile(remote, request, port!, signal, tell));
    },
    serveZip: (id, wish, port) =>
      tasks.run(id, (signal) => serveZip(wish.name, zipOf(id, wish), port!, signal)),
    stop: async (id) => tasks.stop(id),
  };
}
