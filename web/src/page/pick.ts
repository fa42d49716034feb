/** From what was dropped or chosen to files with names. */
import type { Chosen } from './transfers.ts';

/** Files that belong together: those of one folder, or those that came alone. */
export interface Batch {
  folder: string | undefined;
  chosen: Chosen[];
}

interface HandleItem extends DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}

async function* below(folder: FileSystemDirectoryHandle, prefix: string): AsyncGenerator<Chosen> {
  for await (const handle of folder.values()) {
    const name = prefix + handle.name;
    if (handle.kind === 'directory') yield* below(handle as FileSystemDirectoryHandle, `${name}/`);
    else {
      const fileHandle = handle as FileSystemFileHandle;
      yield { file: await fileHandle.getFile(), name, handle: fileHandle };
    }
  }
}

async function* belowEntry(folder: FileSystemDirectoryEntry, prefix: string): AsyncGenerator<Chosen> {
  const reader = folder.createReader();
  const page = () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
  for (let entries = await page(); entries.length > 0; entries = await page()) {
    for (const entry of entries) {
      const name = prefix + entry.name;
      if (entry.isDirectory) yield* belowEntry(entry as FileSystemDirectoryEntry, `${name}/`);
      else {
        const fileEntry = entry as FileSystemFileEntry;
        yield { file: await new Promise<File>((resolve, reject) => fileEntry.file(resolve, reject)), name };
      }
    }
  }
}

interface Dropped {
  handle: Promise<FileSystemHandle | null> | undefined;
  entry: FileSystemEntry | null;
  file: File | null;
}

async function batchOf({ handle: soon, entry, file }: Dropped): Promise<Batch | undefined> {
  const handle = await soon?.catch(() => null);
  if (handle?.kind === 'directory') {
    const inside = below(handle as FileSystemDirectoryHandle, '');
    return { folder: handle.name, chosen: await Array.fromAsync(inside) };
  }
  if (handle) {
    const fileHandle = handle as FileSystemFileHandle;
    const found = await fileHandle.getFile();
    return { folder: undefined, chosen: [{ file: found, name: found.name, handle: fileHandle }] };
  }
  if (entry?.isDirectory) {
    const inside = belowEntry(entry as FileSystemDirectoryEntry, '');
    return { folder: entry.name, chosen: await Array.fromAsync(inside) };
  }
  return file ? { folder: undefined, chosen: [{ file, name: file.name }] } : undefined;
}

export async function fromDrop(data: DataTransfer): Promise<Batch[]> {
  // All of them at once: after the first wait the browser takes the items away.
  const dropped = [...data.items]
    .filter((item) => item.kind === 'file')
    .map(
      (item: HandleItem): Dropped => ({
        handle: item.getAsFileSystemHandle?.(),
        entry: item.webkitGetAsEntry(),
        file: item.getAsFile(),
      }),
    );
  const batches = await Promise.all(dropped.map(batchOf));
  return batches.filter((batch) => batch !== undefined);
}

/** Of an input: with `webkitdirectory` each file knows its path, whose first part is the folder. */
export function fromInput(files: Iterable<File>): Batch[] {
  const batches = new Map<string | undefined, Batch>();
  for (const file of files) {
    const [first, ...rest] = file.webkitRelativePath.split('/');
    const inFolder = rest.length > 0;
    const folder = inFolder ? first : undefined;
    const batch = batches.get(folder) ?? { folder, chosen: [] };
    batch.chosen.push({ file, name: inFolder ? rest.join('/') : file.name });
    batches.set(folder, batch);
  }
  return [...batches.values()];
}
