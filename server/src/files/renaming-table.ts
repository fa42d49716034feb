import { createHash } from 'node:crypto';
import { type NewName, toBase64 } from '@szafa/protocol';
import { Queries, Refused, refusal, type Sql } from '../platform/sql/sql.ts';
import { outdate, outdateAccount } from '../upkeep/documents-table.ts';
import { holdDir } from './directories-table.ts';
import { isOwn } from './files-table.ts';
import { isOverAllowance } from './quota-check.ts';
import { HELD, type HeldFile, holdFiles } from './removal.ts';
import { countedIn, growExtra, noteChange, shiftUsage } from './usage.ts';

const digestOf = (encParams: string) => createHash('sha256').update(toBase64(encParams)).digest('hex');

/** Other names for files and directories that are there. */
export class RenamingTable extends Queries {
  /** All of them, or none: then those that the caller does not have there, or that are not as it saw them. */
  files(
    caller: string,
    names: NewName[],
    { inTrash = false, quota }: { inTrash?: boolean; quota?: number | undefined } = {},
  ): Promise<string[] | 'no directory' | 'over quota'> {
    const renamed = this.sql.transaction<string[] | 'no directory'>(async (tx) => {
      if (!(await holdDirs(tx, caller, names))) return 'no directory';
      const ids = names.map(({ fileId }) => fileId);
      const held = await holdFiles<HeldFile & { enc_params: string }>(tx, ids, `${HELD}, enc_params`);
      const own = held.filter((file) => isOwn(caller, file) && file.trashed_at > 0 === inTrash);
      const now = new Map(own.map((file) => [file.file_id, file]));
      const isSeen = (file: { enc_params: string } | undefined, match: string) =>
        file !== undefined && digestOf(file.enc_params) === match;
      const refused = names.filter(({ fileId, match }) => !isSeen(now.get(fileId), match));
      if (refused.length > 0) return refused.map(({ fileId }) => fileId);
      for (const { fileId, fileName, encParams, dirId } of names) {
        const [row] = await tx.execute<{ rev: number }>(
          // A copy that has got a name is a file of its own: the next copy of the same file may stand beside it.
          `UPDATE files SET file_name = ?, enc_params = ?, dir_id = ?, cloned_from = NULL, rev = rev + 1
           WHERE file_id = ? RETURNING rev`,
          ...[fileName, encParams, dirId ?? now.get(fileId)!.dir_id, fileId],
        );
        await outdate(tx, fileId, row!.rev);
      }
      const shifts = names.map(({ fileId, dirId }) => {
        const file = now.get(fileId)!;
        const from = countedIn(file);
        return { ...file, from, to: dirId ?? from };
      });
      await shiftUsage(tx, shifts);
      const growth = new Map<string, number>();
      for (const { fileId, encParams } of names) {
        const { owner, enc_params } = now.get(fileId)!;
        const more = Buffer.byteLength(encParams) - Buffer.byteLength(enc_params);
        growth.set(owner, (growth.get(owner) ?? 0) + more);
      }
      for (const [owner, bytes] of growth) if (bytes !== 0) await growExtra(tx, owner, bytes);
      const grows = growth.values().some((bytes) => bytes > 0);
      if (quota !== undefined && grows && (await isOverAllowance(tx, caller, quota)))
        throw new Refused('over quota');
      return [];
    });
    return renamed.catch(refusal<'over quota'>);
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
      await noteChange(tx, owner);
      return 'renamed';
    });
  }
}

/** Whether the caller has all directories that files go to. They are held in the order of their numbers, before any file. */
async function holdDirs(tx: Sql, caller: string, names: NewName[]): Promise<boolean> {
  const targets = new Set(names.flatMap(({ dirId }) => dirId ?? []));
  for (const dirId of [...targets].sort((a, b) => a - b)) {
    if (!(await holdDir(tx, caller, dirId))) return false;
  }
  return true;
}
