import type { FileRecord } from '@szafa/protocol';

/** What a list says of a file, as far as its header goes with it: beside another name, another header is to be expected. */
export type Listed = Pick<FileRecord, 'file_id' | 'file_name' | 'sha256' | 'dir_id'>;

/**
 * Where the sealed headers of one account are kept between sessions, so that a file that was seen before costs no request. What comes
 * out of it is verified as if the service had sent it, so a cache that is damaged, or of another account, is only an empty one. It never
 * fails: what cannot be kept is asked for again. @public
 */
export interface HeaderCache {
  /** enc_params, as they came. */
  load(file: Listed): Promise<Record<string, unknown> | undefined> | Record<string, unknown> | undefined;
  save(file: Listed, encParams: Record<string, unknown>): void;
  /** All files of a directory (0 is the root), or of the account: what is kept of others there can go. */
  listed(dirId: number | undefined, files: readonly Listed[]): void;
}

/** By account. @public */
export interface HeaderCaches {
  of(username: string): HeaderCache;
}
