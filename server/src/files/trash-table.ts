import type { TrashCursor } from '@szafa/protocol';
import { Queries } from '../platform/sql/sql.ts';
import { markManifestsStale } from '../upkeep/documents-table.ts';
import { type LockedFile, lockFiles, removeFiles } from './file-changes-table.ts';
import { type FileListRow, isOwn, type ListOptions, selectList } from './files-table.ts';
import { countedIn, moveUsage } from './quota.ts';

const END: TrashCursor = { trashedAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER };

/**
 * Files in the trash keep their rows, with the time when they were put there. Every change locks the row, so that of a
 * restore and a concurrent expiry only one succeeds.
 */
export class TrashTable extends Queries {
  /**
   * Puts all files into the trash or none. Returns the files that the caller does not have. Files already in the trash keep
   * their time.
   */
  put(caller: string, ids: string[], now: number): Promise<string[]> {
    return this.#setTime(caller, ids, now);
  }

  /** Restores all files or none, like `put`. Each returns to its directory, or to the root if that was deleted. */
  restore(caller: string, ids: string[]): Promise<string[]> {
    return this.#setTime(caller, ids, 0);
  }

  #setTime(caller: string, ids: string[], trashedAt: number): Promise<string[]> {
    return this.sql.transaction(async (tx) => {
      const own = (await lockFiles(tx, ids)).filter((file) => isOwn(caller, file));
      const known = new Set(own.map(({ file_id }) => file_id));
      const unknown = ids.filter((id) => !known.has(id));
      if (unknown.length > 0) return unknown;
      const changed = own.filter(({ trashed_at }) => trashed_at > 0 !== trashedAt > 0);
      if (changed.length === 0) return [];
      const list = JSON.stringify(changed.map(({ file_id }) => file_id));
      const text = `UPDATE files SET trashed_at = ?, rev = rev + 1 WHERE file_id ${tx.dialect.inJsonList}`;
      await tx.execute(text, trashedAt, list);
      await markManifestsStale(tx, list);
      const moved = (file: LockedFile) => countedIn({ ...file, trashed_at: trashedAt });
      const moves = changed.map((file) => ({ ...file, from: countedIn(file), to: moved(file) }));
      await moveUsage(tx, moves);
      return [];
    });
  }

  /** One page, latest first. */
  list(
    caller: string,
    options: Omit<ListOptions, 'before'> & { before?: TrashCursor },
  ): Promise<FileListRow[]> {
    const { before = END, limit } = options;
    const { select, params } = selectList(caller, options);
    return this.sql.query<FileListRow>(
      `${select} AND f.trashed_at > 0 AND (f.trashed_at, f.seq) < (?, ?)
       ORDER BY f.trashed_at DESC, f.seq DESC LIMIT ?`,
      ...[...params, before.trashedAt, before.seq, limit],
    );
  }

  /** Deletes the given files that are in the caller's trash; returns their number. */
  empty(caller: string, ids: string[], now: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      const own = (await lockFiles(tx, ids)).filter((file) => isOwn(caller, file) && file.trashed_at > 0);
      await removeFiles(tx, own, now);
      return own.length;
    });
  }

  /** Deletes up to `limit` files of any owner that were put into the trash at or before `before`; returns their number. */
  async expire(before: number, now: number, limit: number): Promise<number> {
    const rows = await this.sql.query<{ file_id: string }>(
      'SELECT file_id FROM files WHERE trashed_at > 0 AND trashed_at <= ? ORDER BY trashed_at LIMIT ?',
      ...[before, limit],
    );
    if (rows.length === 0) return 0;
    return this.sql.transaction(async (tx) => {
      const ids = rows.map(({ file_id }) => file_id);
      // Some may have been restored since, and perhaps put into the trash again.
      const due = (await lockFiles(tx, ids)).filter(
        ({ trashed_at }) => trashed_at > 0 && trashed_at <= before,
      );
      await removeFiles(tx, due, now);
      return due.length;
    });
  }
}
