import { ADMIN, type Volume } from '@szafa/protocol';
import { Queries, Rollback, rollbackReason } from '../platform/sql/sql.ts';
import { entryOf, parseEntry } from '../transfers/volumes-table.ts';
import { markStale } from '../upkeep/documents-table.ts';
import { addExtra, isOverAllowance } from './quota.ts';

/** In the store, a thumbnail is volume 0 of its file; the content starts at 1. */
export const THUMBNAIL = 0;

export const thumbnailOf = ({ thumbnail }: { thumbnail: string | null }): Volume | undefined =>
  parseEntry(thumbnail, THUMBNAIL);

/** All volumes in the group of a file: its content and its thumbnail. */
export function withThumbnail(volumes: Volume[], file: { thumbnail: string | null }): Volume[] {
  const thumbnail = thumbnailOf(file);
  return thumbnail ? [...volumes, thumbnail] : volumes;
}

export class ThumbnailsTable extends Queries {
  /**
   * Sets the thumbnail once. False if the file already has one, does not exist or is in the trash. `quota` is given if it is
   * enforced.
   */
  set(fileId: string, volume: Volume, quota?: number): Promise<boolean | 'over quota'> {
    const update = 'UPDATE files SET thumbnail = ?, rev = rev + 1 WHERE thumbnail IS NULL AND trashed_at = 0';
    return this.#change(update, fileId, volume, volume.size, quota).catch(rollbackReason<'over quota'>);
  }

  /** Forgets a lost thumbnail, so that it can be sent again. False if the file has a different thumbnail by now. */
  forget(fileId: string, volume: Volume): Promise<boolean> {
    const update = 'UPDATE files SET thumbnail = NULL, rev = rev + 1 WHERE thumbnail = ?';
    return this.#change(update, fileId, volume, -volume.size);
  }

  /** `growth` is counted toward the owner's allowance. */
  #change(update: string, fileId: string, volume: Volume, growth: number, quota?: number): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const text = `${update} AND file_id = ? RETURNING rev, owner`;
      const [row] = await tx.execute<{ rev: number; owner: string }>(text, entryOf(volume), fileId);
      if (!row) return false;
      await markStale(tx, fileId, row.rev);
      await addExtra(tx, row.owner, growth);
      if (quota !== undefined && (await isOverAllowance(tx, row.owner || ADMIN, quota)))
        throw new Rollback('over quota');
      return true;
    });
  }
}
