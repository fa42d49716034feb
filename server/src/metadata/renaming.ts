import { createHash } from 'node:crypto';
import { ADMIN, type NewName, toBase64 } from '@szafa/protocol';
import { outdate, outdateAccount } from './documents.ts';
import { Queries, type Sql } from './sql.ts';

const digestOf = (encParams: string) => createHash('sha256').update(toBase64(encParams)).digest('hex');

/** Other names for files and directories that are there. */
export class RenamingTable extends Queries {
  /** All of them, or none: then those that the caller does not have, or that are not as it saw them. */
  files(caller: string, names: NewName[]): Promise<string[]> {
    return this.sql.transaction(async (tx) => {
      const now = await lockFiles(tx, caller, names);
      const refused = names.filter(({ fileId, match }) => now.get(fileId) !== match);
      if (refused.length > 0) return refused.map(({ fileId }) => fileId);
      for (const { fileId, fileName, encParams } of names) {
        const [row] = await tx.execute<{ rev: number }>(
          'UPDATE files SET file_name = ?, enc_params = ?, rev = rev + 1 WHERE file_id = ? RETURNING rev',
          fileName,
          encParams,
          fileId,
        );
        await outdate(tx, fileId, row!.rev);
      }
      return [];
    });
  }

  dir(
    owner: string,
    dirId: number,
    { name, match }: { name: string; match: string },
  ): Promise<'renamed' | 'no directory' | 'changed' | 'taken'> {
    return this.sql.transaction(async (tx) => {
      const [dir] = await tx.query<{ name: string }>(
        `SELECT name FROM dirs WHERE dir_id = ? AND owner = ? ${tx.dialect.forUpdate}`,
        dirId,
        owner,
      );
      if (!dir) return 'no directory';
      if (dir.name !== match) return 'changed';
      if (dir.name === name) return 'renamed';
      // A row of this name for a moment: who makes a directory of the same name meanwhile waits for it, and then finds it taken.
      const [held] = await tx.execute<{ dir_id: number }>(
        `INSERT INTO dirs (owner, name, created_at) VALUES (?, ?, 0)
         ON CONFLICT (owner, name) DO NOTHING RETURNING dir_id`,
        owner,
        name,
      );
      if (!held) return 'taken';
      await tx.execute('DELETE FROM dirs WHERE dir_id = ?', held.dir_id);
      await tx.execute('UPDATE dirs SET name = ? WHERE dir_id = ?', name, dirId);
      await outdateAccount(tx, owner);
      return 'renamed';
    });
  }
}

/** By their ids: the digests of what is to be replaced. Locked in the order of the ids, so that two batches wait in one direction only. */
async function lockFiles(tx: Sql, caller: string, names: NewName[]): Promise<Map<string, string>> {
  const rows = await tx.query<{ file_id: string; owner: string; enc_params: string }>(
    `SELECT file_id, owner, enc_params FROM files WHERE file_id IN (${tx.dialect.listed})
     ORDER BY file_id ${tx.dialect.forUpdate}`,
    // An id of another form is nobody's, and some databases take not every text.
    JSON.stringify(names.map(({ fileId }) => fileId).filter((id) => /^[0-9a-f]{32}$/.test(id))),
  );
  const own = rows.filter(({ owner }) => owner === caller || (caller === ADMIN && owner === ''));
  return new Map(own.map(({ file_id, enc_params }) => [file_id, digestOf(enc_params)]));
}
