import type { LoadPool } from './load/pool.ts';
import type { Fleet } from './peers/fleet.ts';

/** What every cell works with. */
export interface Bench {
  fleet: Fleet;
  pool: LoadPool;
  /** On the filesystem that is measured; cells make their own folders in it. */
  folder: string;
  rounds: number;
  /** Small amounts, only to see that everything runs. */
  quick: boolean;
  /** What the cell `accounts` fills the database with. */
  sizes: { accounts: number; files: number };
  log: (line: string) => void;
}
