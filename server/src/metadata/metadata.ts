import { Accounts } from './accounts.ts';
import { Arrivals } from './arrivals.ts';
import { Dirs } from './dirs.ts';
import { Documents } from './documents.ts';
import { Files } from './files.ts';
import { Garbage } from './garbage.ts';
import type { Lookup } from './lookup.ts';
import { Marks } from './times.ts';
import { Orphans } from './orphans.ts';
import { Pulls } from './pulls.ts';
import type { PoolLoad, SqlStore } from './sql.ts';
import { StoreRecord } from './store-record.ts';
import { Transfers } from './transfers.ts';
import { lookUpUsage, usageOf } from './usage.ts';

/** The metadata store: everything the service knows, except the bytes of volumes. */
export class Metadata {
  readonly accounts: Accounts;
  readonly arrivals: Arrivals;
  readonly dirs: Dirs;
  readonly documents: Documents;
  readonly files: Files;
  readonly garbage: Garbage;
  readonly marks: Marks;
  readonly orphans: Orphans;
  readonly pulls: Pulls;
  readonly store: StoreRecord;
  readonly transfers: Transfers;
  readonly #sql: SqlStore;

  constructor(sql: SqlStore) {
    this.#sql = sql;
    this.accounts = new Accounts(sql);
    this.arrivals = new Arrivals(sql);
    this.dirs = new Dirs(sql);
    this.documents = new Documents(sql);
    this.files = new Files(sql);
    this.garbage = new Garbage(sql);
    this.marks = new Marks(sql);
    this.orphans = new Orphans(sql);
    this.pulls = new Pulls(sql);
    this.store = new StoreRecord(sql);
    this.transfers = new Transfers(sql);
  }

  usage(caller: string): Promise<{ bytes: bigint; counted: bigint }> {
    return usageOf(this.#sql, caller);
  }

  lookUpUsage(): Lookup<{ bytes: bigint }> {
    return lookUpUsage(this.#sql);
  }

  /** Connections, where the engine has a pool of them. */
  get load(): PoolLoad | undefined {
    return this.#sql.load;
  }

  async ping(): Promise<void> {
    await this.#sql.query('SELECT 1');
  }

  close(): Promise<void> {
    return this.#sql.close();
  }
}
