import { Queries } from '../platform/sql/sql.ts';
import { COLUMNS, NOT_DONE, type TransferRow } from './transfer-rows.ts';

/** Where a page of uploads begins: after this one. */
export interface UploadPlace {
  touchedAt: number;
  fileId: string;
}

/** Transfers as operators see them, by the ids of the files that they become. */
export class UploadsTable extends Queries {
  async get(fileId: string): Promise<TransferRow | undefined> {
    const text = `SELECT ${COLUMNS} FROM transfers WHERE file_id = ?`;
    return (await this.sql.query<TransferRow>(text, fileId))[0];
  }

  /**
   * Those that are under way, the longest unused first: of all accounts, or of one. One that is used meanwhile shows again
   * on a later page, and none is left out.
   */
  list({ touchedAt, fileId }: UploadPlace, limit: number, creator?: string): Promise<TransferRow[]> {
    return this.sql.query<TransferRow>(
      `SELECT ${COLUMNS} FROM transfers
       WHERE status IN ('uploading', 'failed') AND touched_at >= ? AND (touched_at > ? OR file_id > ?)
         ${creator === undefined ? '' : `AND creator = ? AND ${NOT_DONE}`} ORDER BY touched_at, file_id LIMIT ?`,
      touchedAt,
      touchedAt,
      fileId,
      ...(creator === undefined ? [] : [creator]),
      limit,
    );
  }
}
