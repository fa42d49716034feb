import type { TrashCursor } from '@szafa/protocol';
import { Queries } from '../platform/sql/sql.ts';
import { outdateFiles } from '../upkeep/documents-table.ts';
import { isOwn, type ListedFile, type ListOptions, listing } from './files-table.ts';
import { holdFiles, removeFiles } from './removal.ts';
import { countedIn, shiftUsage } from './usage.ts';

const LAST: TrashCursor = { trashedAt: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER };

/**
 * Files that are in the trash keep their rows, with the time at which they came there: nobody else uses them, and they count in no
 * directory. Whoever changes where one is holds its row, so that of a restore and the end of its time only one comes about.
 */
export class TrashTable extends Queries {
  /** All of them, or none: then those that the caller does not have. What is in the trash stays there since then. */
  put(caller: string, ids: string[], now: number): Promise<string[]> {
    return this.#place(caller, ids, now);
  }

  /** The same way back: to where each came from, which is the root where that directory is gone. */
  restore(caller: string, ids: string[]): Promise<string[]> {
    return this.#place(caller, ids, 0);
  }

  #place(caller: string, ids: string[], trashedAt: number): Promise<string[]> {
    return this.sql.transaction(async (tx) => {
      const own = (await holdFiles(tx, ids)).filter((file) => isOwn(caller, file));
      const known = new Set(own.map(({ file_id }) => file_id));
      const unknown = ids.filter((id) => !known.has(id));
      if (unknown.length > 0) return unknown;
      const others = own.filter(({ trashed_at }) => trashed_at > 0 !== trashedAt > 0);
      if (others.length === 0) return [];
      const list = JSON.stringify(others.map(({ file_id }) => file_id));
      await tx.execute(
        `UPDATE files SET trashed_at = ?, rev = rev + 1 WHERE file_id ${tx.dialect.amongListed}`,
        trashedAt,
        list,
      );
      await outdateFiles(tx, list);
      const shifts = others.map((file) => ({
        ...file,
        from: countedIn(file),
        to: countedIn({ ...file, trashed_at: trashedAt }),
      }));
      await shiftUsage(tx, shifts);
      return [];
    });
  }

  /** One page, latest first. */
  list(
    caller: string,
    {
      dirId,
      headers,
      before = LAST,
      limit,
    }: Pick<ListOptions, 'dirId' | 'headers' | 'limit'> & { before?: TrashCursor },
  ): Promise<ListedFile[]> {
    const { select, params } = listing(caller, { dirId, headers });
    return this.sql.query<ListedFile>(
      `${select} AND f.trashed_at > 0 AND (f.trashed_at, f.seq) < (?, ?)
       ORDER BY f.trashed_at DESC, f.seq DESC LIMIT ?`,
      ...[...params, before.trashedAt, before.seq, limit],
    );
  }

  /** Those of these that are the caller's and in the trash; how many there were. */
  empty(caller: string, ids: string[], now: number): Promise<number> {
    return this.sql.transaction(async (tx) => {
      const gone = (await holdFiles(tx, ids)).filter((file) => isOwn(caller, file) && file.trashed_at > 0);
      await removeFiles(tx, gone, now);
      return gone.length;
    });
  }

  /** Up to `limit` that came there by `before`, whosever they are; how many there were. */
  async expire(before: number, now: number, limit: number): Promise<number> {
    const found = await this.sql.query<{ file_id: string }>(
      'SELECT file_id FROM files WHERE trashed_at > 0 AND trashed_at <= ? ORDER BY trashed_at LIMIT ?',
      before,
      limit,
    );
    if (found.length === 0) return 0;
    return this.sql.transaction(async (tx) => {
      const ids = found.map(({ file_id }) => file_id);
      // Restored meanwhile, and perhaps put there again.
      const due = (await holdFiles(tx, ids)).filter(
        ({ trashed_at }) => trashed_at > 0 && trashed_at <= before,
      );
      await removeFiles(tx, due, now);
      return due.length;
    });
  }
}
