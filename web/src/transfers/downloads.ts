/** Downloads files, several of them as one zip: into a file that the user picks, or as a browser download. */
import { safeSegments } from '@szafa/client';
import type { Item, Zip } from '../core/bridge/calls.ts';
import { call, callWith } from '../core/call.ts';
import { notify, notifyError } from '../core/notices.ts';
import { text } from '../core/text/index.ts';
import { localReady, saveByBrowser } from './local.ts';
import { addDownload, generation } from './transfers.ts';

const { showSaveFilePicker } = window as {
  showSaveFilePicker?(options: { suggestedName: string }): Promise<FileSystemFileHandle>;
};

/** A download into a picked file, or through the service worker. */
interface SaveJob {
  name: string;
  size: number;
  into(id: string, handle: FileSystemFileHandle): Promise<void>;
  serve: (id: string) => Parameters<typeof saveByBrowser>[1];
}

async function save({ name, size, into, serve }: SaveJob): Promise<void> {
  const before = generation;
  try {
    if (showSaveFilePicker) {
      const handle = await showSaveFilePicker({ suggestedName: safeSegments(name).at(-1)! });
      if (before === generation) addDownload({ name, size }, (id) => into(id, handle));
    } else if (await localReady()) {
      if (before === generation) addDownload({ name, size }, (id) => saveByBrowser(id, serve(id)));
    } else notify(text.transfers.noWorker, true);
  } catch (error) {
    // An AbortError means that the user closed the file picker.
    if ((error as Error).name !== 'AbortError') notifyError(error);
  }
}

export async function download({ fileId, name, size }: Item): Promise<void> {
  await save({
    name,
    size,
    into: (id, handle) => call('save', id, fileId, handle),
    serve: (id) => (port, request) => callWith(port, 'serve', id, fileId, request),
  });
}

function tellLinks(left: number): void {
  if (left > 0) notify(text.transfers.linksLeft(left), true);
}

/** `size` is the total size of the files in the zip. */
export async function saveZip(zip: Zip, size: number): Promise<void> {
  await save({
    name: zip.name,
    size,
    into: (id, handle) => call('saveZip', id, zip, handle).then(tellLinks),
    serve: (id) => (port) => callWith(port, 'serveZip', id, zip).then(tellLinks),
  });
}
