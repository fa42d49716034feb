import type { LoadPool } from './load/pool.ts';
import type { Fleet } from './peers/fleet.ts';

/** Shared by all cells, the measurements of the bench. */
export interface Bench {
  fleet: Fleet;
  pool: LoadPool;
  /** A folder on the measured filesystem, in which each cell creates its own folder. */
  folder: string;
  rounds: number;
  /** Uses small amounts of data, only to check that everything runs. */
  quick: boolean;
  /** Size of the database in the cell `accounts`. */
  sizes: { accounts: number; files: number };
  log: (line: string) => void;
}
