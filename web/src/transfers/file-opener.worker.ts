import type { ReadableHeader, RemoteFile } from '@szafa/client';

/** A file of one's own, or one that somebody shares. */
export type ReadableFile = RemoteFile<ReadableHeader>;

export interface FileOpener {
  /** Opens a file that is read in parts, repeatedly. */
  open(fileId: string): Promise<ReadableFile>;
  /** Opens a file that is read once, from its beginning. */
  openOnce(fileId: string, signal: AbortSignal): Promise<ReadableFile>;
}
