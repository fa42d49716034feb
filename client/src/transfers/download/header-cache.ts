import type { FileRecord } from '@szafa/protocol';

/** The fields of a record that its header belongs to: another name means another header. */
export type Listed = Pick<FileRecord, 'file_id' | 'file_name' | 'sha256' | 'dir_id'>;

/**
 * Keeps the sealed headers of one account between sessions, so that a known file costs no request. Headers from it are verified like
 * those from the server, so a damaged cache only means more requests. It never throws. @public
 */
export interface HeaderCache {
  /** Returns the enc_params of a file. */
  load(file: Listed): Promise<Record<string, unknown> | undefined> | Record<string, unknown> | undefined;
  save(file: Listed, encParams: Record<string, unknown>): void;
  /** Called with all files of a directory (0 is the root), or of the account: other entries there can be dropped. */
  listed(dirId: number | undefined, files: readonly Listed[]): void;
}

/** @public */
export interface HeaderCaches {
  of(username: string): HeaderCache;
}
