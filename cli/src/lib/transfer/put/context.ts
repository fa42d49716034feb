import { randomBytes } from 'node:crypto';
import type { FileSource, Szafa } from '@szafa/client/node';
import type { Lookup } from '../../select/lookup.ts';
import type { Origins } from '../../select/origin.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { PullPlan } from '../pull.ts';
import type { TransferRun } from '../run.ts';

/** State shared by all files of one put command. */
export interface Put {
  run: TransferRun;
  szafa: Szafa;
  /** Lists the server. Replaced whenever locks are taken, so that it is never older than the locks. */
  lookup: Lookup;
  /** Server paths of all files of this command. */
  paths: Set<string>;
  origins: Origins;
  pull: PullPlan | undefined;
  hardlinks: ReturnType<typeof createHardlinks>;
  uploaded: PlannedFile[];
  /** Number of versions removed because another device had uploaded the same file. */
  duplicates: number;
}

/** Assigns one ID to all hard links of a file, for one run of put. */
export function createHardlinks() {
  const ids = new Map<string, string>();
  const used = new Set<string>();
  const last = new Map<string, Promise<void>>();
  return {
    /** Returns the ID for a name; `kept` is its ID on the server. Keyed by `identity`, so that a replaced file gets a new ID. */
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

    /** Runs `work` for the hard links of one file one after the other. */
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
