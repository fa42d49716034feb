import type { ReadableHeader, RemoteFile } from '@szafa/client';

/** A file of the account, or one that is shared with it or by a link. */
export type ReadableFile = RemoteFile<ReadableHeader>;

export interface FileOpener {
  /** Opens a file that is read in parts, repeatedly. */
  open(fileId: string): Promise<ReadableFile>;
  /** Opens a file that is read once, from the start. */
  openOnce(fileId: string, signal: AbortSignal): Promise<ReadableFile>;
}
