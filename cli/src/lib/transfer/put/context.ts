import type { Claims, Journal, Szafa } from '@szafa/client/node';
import type { Invocation } from '../../../command.ts';
import type { Lookup } from '../../select/lookup.ts';
import type { Origins } from '../../select/origin.ts';
import type { Planned } from '../../select/plan.ts';
import type { Batch } from '../batch.ts';
import type { Tally } from '../concurrency.ts';
import type { Progress } from '../progress/progress.ts';
import type { PullPlan } from '../pull.ts';
import type { Hardlinks } from './hardlinks.ts';

/** Everything that is the same for all files of one upload. */
export interface Put {
  invocation: Invocation;
  szafa: Szafa;
  journal: Journal & { claims: Claims };
  /** What is there, as of the moment when the files under way were claimed. */
  lookup: Lookup;
  /** Paths on the server of all files of this command. */
  paths: Set<string>;
  origins: Origins;
  progress: Progress;
  parallel: number;
  pull: PullPlan | undefined;
  hardlinks: Hardlinks;
  tally: Tally;
  batch: Batch;
  /** Files that were uploaded. */
  uploaded: Planned[];
  /** Versions that were removed because another device had uploaded the same. */
  duplicates: number;
}
