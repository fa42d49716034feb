/** Files to disk: into files and folders that the person picks where the browser can, as its own downloads otherwise. */
import { safeSegments } from '@szafa/client';
import type { Item } from '../bridge.ts';
import { text } from '../text.ts';
import { call } from './core.ts';
import { localReady, saveByBrowser } from './local.ts';
import { tell, tellFault } from './notices.ts';
import { addDownload } from './transfers.ts';

const { showSaveFilePicker, showDirectoryPicker } = window as {
  showSaveFilePicker?(options: { suggestedName: string }): Promise<FileSystemFileHandle>;
  showDirectoryPicker?(options: { mode: 'readwrite' }): Promise<FileSystemDirectoryHandle>;
};

export async function download(items: Item[]): Promise<void> {
  try {
    if (items.length > 1 && showDirectoryPicker) await intoFolder(items);
    else for (const item of items) await one(item);
  } catch (error) {
    // A dialog that the person closed.
    if ((error as Error).name !== 'AbortError') tellFault(error);
  }
}

async function one(item: Item): Promise<void> {
  const { fileId, name } = item;
  if (showSaveFilePicker) {
    const handle = await showSaveFilePicker({ suggestedName: safeSegments(name).at(-1)! });
    addDownload(item, (id) => call('save', id, fileId, handle));
  } else if (await localReady()) addDownload(item, (id) => saveByBrowser(id, fileId));
  else tell(text.transfers.noWorker, true);
}

async function intoFolder(items: Item[]): Promise<void> {
  const folder = await showDirectoryPicker!({ mode: 'readwrite' });
  const taken = new Set<string>();
  for (const item of items) {
    const handle = await folder.getFileHandle(await freeName(folder, item.name, taken), { create: true });
    addDownload(item, (id) => call('save', id, item.fileId, handle));
  }
}

/** A name that is neither in the folder nor given out: nothing of the person's is overwritten. */
async function freeName(
  folder: FileSystemDirectoryHandle,
  name: string,
  taken: Set<string>,
): Promise<string> {
  const last =
    safeSegments(name)
      .at(-1)!
      .replace(/[:*?"<>|~]/g, '_')
      .replace(/^\.+|[. ]+$/g, '') || 'unnamed';
  const dot = last.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [last.slice(0, dot), last.slice(dot)] : [last, ''];
  for (let number = 1; ; number++) {
    const wish = number === 1 ? last : `${stem} (${number})${extension}`;
    if (taken.has(wish)) continue;
    try {
      await folder.getFileHandle(wish);
    } catch (error) {
      const { name: why } = error as Error;
      if (why === 'TypeMismatchError') continue; // a folder has that name
      if (why !== 'NotFoundError') throw error;
      taken.add(wish);
      return wish;
    }
  }
}
