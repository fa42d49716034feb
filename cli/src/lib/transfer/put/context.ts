import type { Szafa } from '@szafa/client/node';
import type { Lookup } from '../../select/lookup.ts';
import type { Origins } from '../../select/origin.ts';
import type { PlannedFile } from '../../select/plan.ts';
import type { PullPlan } from '../pull.ts';
import type { TransferRun } from '../run.ts';
import type { Hardlinks } from './hardlinks.ts';

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
  hardlinks: Hardlinks;
  uploaded: PlannedFile[];
  /** Versions that were removed because another device had uploaded the same. */
  duplicates: number;
}
