import type { Volume } from '@szafa/protocol';
import { outdate } from './documents.ts';
import { Queries } from './sql.ts';
import { noteChange } from './usage.ts';
import { entryOf, parseEntry } from './volumes.ts';

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
  /** Once, whoever comes first. False when the file has one, or is no more, or is in the trash. */
  set(fileId: string, volume: Volume): Promise<boolean> {
    return this.#change('thumbnail = ?', 'thumbnail IS NULL AND trashed_at = 0', entryOf(volume), fileId);
  }

  /** One that is lost, so that there can be another one. False when the file has not this one. */
  forget(fileId: string, volume: Volume): Promise<boolean> {
    return this.#change('thumbnail = NULL', 'thumbnail = ?', entryOf(volume), fileId);
  }

  #change(set: string, condition: string, entry: string, fileId: string): Promise<boolean> {
    return this.sql.transaction(async (tx) => {
      const [row] = await tx.execute<{ rev: number; owner: string }>(
        `UPDATE files SET ${set}, rev = rev + 1 WHERE ${condition} AND file_id = ? RETURNING rev, owner`,
        entry,
        fileId,
      );
      if (!row) return false;
      await outdate(tx, fileId, row.rev);
      await noteChange(tx, row.owner);
      return true;
    });
  }
}
