import type { FileRecord } from '@szafa/protocol';

/** Fields of a record that identify its header: a record with another name has another header. */
export type Listed = Pick<FileRecord, 'file_id' | 'file_name' | 'sha256' | 'dir_id'>;

/**
 * Keeps the sealed headers of one account between sessions, so that opening a known file needs no request. Cached headers are verified
 * like those from the server, so damage only causes more requests. Never throws. @public
 */
export interface HeaderCache {
  /** Returns the enc_params of a file. */
  load(file: Listed): Promise<Record<string, unknown> | undefined> | Record<string, unknown> | undefined;
  save(file: Listed, encParams: Record<string, unknown>): void;
  /** Called with all files of a directory (0 is the root) or of the account, so that entries of other files there can be dropped. */
  listed(dirId: number | undefined, files: readonly Listed[]): void;
}

/** @public */
export interface HeaderCaches {
  of(username: string): HeaderCache;
}
