import { randomBytes } from 'node:crypto';
import type { FileSource, Szafa } from '@szafa/client/node';
import type { Lookup } from '../../select/lookup.ts';
import type { Origins } from '../../select/origin.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { PullPlan } from '../pull.ts';
import type { TransferRun } from '../run.ts';

/** Shared by all files of one upload. */
export interface Put {
  run: TransferRun;
  szafa: Szafa;
  /** The server's tree, listed after the files under way were locked. */
  lookup: Lookup;
  /** Paths on the server of all files of this command. */
  paths: Set<string>;
  origins: Origins;
  pull: PullPlan | undefined;
  hardlinks: ReturnType<typeof createHardlinks>;
  uploaded: PlannedFile[];
  /** Versions that were removed because another device had uploaded the same. */
  duplicates: number;
}

/** The IDs that several names of one file share, for one run of put. */
export function createHardlinks() {
  const ids = new Map<string, string>();
  const used = new Set<string>();
  const last = new Map<string, Promise<void>>();
  return {
    /** The ID for a name; `kept` is its ID on the server. By identity, so that a file that is replaced in between counts as another. */
    idOf(source: Pick<FileSource, 'isLinked' | 'identity'>, kept: string | undefined): string | undefined {
      if (!source.isLinked) return undefined;
      const known = ids.get(source.identity);
      if (known !== undefined) return known;
      const isFree = kept !== undefined && !used.has(kept);
      const id = isFree ? kept : randomBytes(16).toString('base64url');
      ids.set(source.identity, id);
      used.add(id);
      return id;
    },

    /** Works on the names of one file one at a time. */
    async inOrder(inode: string | undefined, work: () => Promise<void>): Promise<void> {
      if (inode === undefined) return work();
      const before = last.get(inode);
      const now = before ? before.then(work) : work();
      const settled = now.catch(() => {});
      last.set(inode, settled);
      await now;
    },
  };
}
