import type { ReadableHeader, RemoteFile } from '@szafa/client';

/** A file of one's own, or one that somebody shares. */
export type Readable = RemoteFile<ReadableHeader>;
