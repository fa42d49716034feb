/** Collects the files, with their paths, from a drop or a file input. */
import type { ChosenFile } from './transfers.ts';

/** The files of one folder, or files that were chosen without a folder. */
export interface Batch {
  folder: string | undefined;
  chosen: ChosenFile[];
  /** Paths of empty folders below `folder`; '' is the folder itself. */
  empty: string[];
}

interface HandleItem extends DataTransferItem {
  getAsFileSystemHandle?(): Promise<FileSystemHandle | null>;
}

/** A file below a folder, or the path of an empty folder. */
type FolderEntry = ChosenFile | string;

async function* below(folder: FileSystemDirectoryHandle, prefix: string): AsyncGenerator<FolderEntry> {
  let isEmpty = true;
  for await (const handle of folder.values()) {
    isEmpty = false;
    const name = prefix + handle.name;
    if (handle.kind === 'directory') yield* below(handle as FileSystemDirectoryHandle, `${name}/`);
    else {
      const fileHandle = handle as FileSystemFileHandle;
      yield { file: await fileHandle.getFile(), name, handle: fileHandle };
    }
  }
  if (isEmpty) yield prefix.slice(0, -1);
}

async function* belowEntry(folder: FileSystemDirectoryEntry, prefix: string): AsyncGenerator<FolderEntry> {
  const reader = folder.createReader();
  const page = () => new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
  let isEmpty = true;
  for (let entries = await page(); entries.length > 0; entries = await page()) {
    isEmpty = false;
    for (const entry of entries) {
      const name = prefix + entry.name;
      if (entry.isDirectory) yield* belowEntry(entry as FileSystemDirectoryEntry, `${name}/`);
      else {
        const fileEntry = entry as FileSystemFileEntry;
        yield { file: await new Promise<File>((resolve, reject) => fileEntry.file(resolve, reject)), name };
      }
    }
  }
  if (isEmpty) yield prefix.slice(0, -1);
}

async function folderBatch(folder: string, inside: AsyncIterable<FolderEntry>): Promise<Batch> {
  const batch: Batch = { folder, chosen: [], empty: [] };
  for await (const found of inside) {
    if (typeof found === 'string') batch.empty.push(found);
    else batch.chosen.push(found);
  }
  return batch;
}

interface DroppedItem {
  handle: Promise<FileSystemHandle | null> | undefined;
  entry: FileSystemEntry | null;
  file: File | null;
}

async function batchOf({ handle: soon, entry, file }: DroppedItem): Promise<Batch | undefined> {
  const alone = (chosen: ChosenFile): Batch => ({ folder: undefined, chosen: [chosen], empty: [] });
  const handle = await soon?.catch(() => null);
  if (handle?.kind === 'directory') {
    return folderBatch(handle.name, below(handle as FileSystemDirectoryHandle, ''));
  }
  if (handle) {
    const fileHandle = handle as FileSystemFileHandle;
    const found = await fileHandle.getFile();
    return alone({ file: found, name: found.name, handle: fileHandle });
  }
  if (entry?.isDirectory) return folderBatch(entry.name, belowEntry(entry as FileSystemDirectoryEntry, ''));
  return file ? alone({ file, name: file.name }) : undefined;
}

export async function fromDrop(data: DataTransfer): Promise<Batch[]> {
  // Read all items before the first await: the browser clears them after it.
  const dropped = [...data.items]
    .filter((item) => item.kind === 'file')
    .map(
      (item: HandleItem): DroppedItem => ({
        handle: item.getAsFileSystemHandle?.(),
        entry: item.webkitGetAsEntry(),
        file: item.getAsFile(),
      }),
    );
  const batches = await Promise.all(dropped.map(batchOf));
  return batches.filter((batch) => batch !== undefined);
}

/** Reads a file input. With `webkitdirectory`, paths start with the chosen folder, and empty folders are missing. */
export function fromInput(files: Iterable<File>): Batch[] {
  const batches = new Map<string | undefined, Batch>();
  for (const file of files) {
    const [first, ...rest] = file.webkitRelativePath.split('/');
    const inFolder = rest.length > 0;
    const folder = inFolder ? first : undefined;
    const batch = batches.get(folder) ?? { folder, chosen: [], empty: [] };
    batch.chosen.push({ file, name: inFolder ? rest.join('/') : file.name });
    batches.set(folder, batch);
  }
  return [...batches.values()];
}
