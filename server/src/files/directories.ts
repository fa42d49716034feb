import { cleanDirName, type Directory, type DirNameBody, type NewDir } from '@szafa/protocol';
import type { AccountRef } from '../accounts/sessions.ts';
import type { Metadata } from '../metadata.ts';
import { ApiError } from '../platform/http/api-error.ts';
import type { DirectoryRow } from './directories-table.ts';
import { takenDir, unknownDir } from './refusals.ts';

export interface NamedDirectory {
  dir_id: number;
  name: string;
}

export class Directories {
  readonly #metadata: Pick<Metadata, 'dirs'>;

  constructor(metadata: Pick<Metadata, 'dirs'>) {
    this.#metadata = metadata;
  }

  async create({ username, accountId }: AccountRef, body: NewDir): Promise<NamedDirectory> {
    const name = cleanDirName(body.name);
    const dirId = await this.#metadata.dirs.create(username, name, Date.now(), accountId);
    if (dirId === undefined) throw takenDir();
    return { dir_id: dirId, name };
  }

  async rename(owner: string, id: string, { match, ...body }: DirNameBody): Promise<NamedDirectory> {
    const dirId = parseDirId(id);
    const name = cleanDirName(body.name);
    const result = dirId && (await this.#metadata.dirs.rename(owner, dirId, { name, match }));
    if (!result || result === 'no directory') throw unknownDir();
    if (result === 'changed') throw new ApiError(412, 'the directory has been renamed in the meantime');
    if (result === 'taken') throw takenDir();
    return { dir_id: dirId, name };
  }

  async remove(owner: string, id: string): Promise<number> {
    const dirId = parseDirId(id);
    if (!dirId || !(await this.#metadata.dirs.remove(owner, dirId))) throw unknownDir();
    return dirId;
  }
}

export const describeDirectory = (row: DirectoryRow): Omit<Directory, 'size'> & { size: bigint } => ({
  ...row,
  created_at: new Date(row.created_at).toISOString(),
});

/** The number in a path; 0 if it cannot be a directory's. */
function parseDirId(text: string): number {
  const dirId = /^[1-9][0-9]{0,15}$/.test(text) ? Number(text) : 0;
  return Number.isSafeInteger(dirId) ? dirId : 0;
}
