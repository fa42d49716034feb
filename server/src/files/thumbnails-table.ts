import { ADMIN, type Volume } from '@szafa/protocol';
import { Queries, Refused, refusal } from '../platform/sql/sql.ts';
import { entryOf, parseEntry } from '../transfers/volumes-table.ts';
import { outdate } from '../upkeep/documents-table.ts';
import { isOverAllowance } from './quota-check.ts';
import { growExtra } from './usage.ts';

/** In a store, a thumbnail is the volume of its file that has this number: all others begin with one. */
export const THUMBNAIL = 0;

/** What a file's record says of its thumbnail. */
export const thumbnailOf = ({ thumbnail }: { thumbnail: string | null }): Volume | undefined =>
  parseEntry(thumbnail, THUMBNAIL);

/** All that the group of a file has to have. */
export function withThumbnail(volumes: Volume[], file: { thumbnail: string | null }): Volume[] {
  const thumbnail = thumbnailOf(file);
  return thumbnail ? [...volumes, thumbnail] : volumes;
}

export class ThumbnailsTable extends Queries {
  /** Once, whoever comes first. False when the file has one, or is no more, or is in the trash. `quota`: where it is enforced. */
  set(fileId: string, volume: Volume, quota?: number): Promise<boolean | 'over quota'> {
    const only = 'thumbnail IS NULL AND trashed_at = 0';
    return this.#change('thumbnail = ?', only, volume, fileId, volume.size, quota).catch(
      refusal<'over quota'>,
    );
  }

  /** One that is lost, so that there can be another one. False when the file has not this one. */
  forget(fileId: string, volume: Volume): Promise<boolean> {
    return this.#change('thumbnail = NULL', 'thumbnail = ?', volume, fileId, -volume.size);
  }

  #change(
    set: string,
    condition: string,
    volume: Volume,
    fileId: string,
    growth: number,
    quota?: number,
  ): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<{ rev: number; owner: string }>(
        `UPDATE files SET ${set}, rev = rev + 1 WHERE ${condition} AND file_id = ? RETURNING rev, owner`,
        entryOf(volume),
        fileId,
      );
      if (!row) return false;
      await outdate(tx, fileId, row.rev);
      await growExtra(tx, row.owner, growth);
      if (quota !== undefined && (await isOverAllowance(tx, row.owner || ADMIN, quota)))
        throw new Refused('over quota');
      return true;
    });
  }
}
