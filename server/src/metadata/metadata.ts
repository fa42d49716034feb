import { AccountsTable } from './accounts.ts';
import { ArrivalsTable } from './arrivals.ts';
import { DirsTable } from './dirs.ts';
import { DocumentsTable } from './documents.ts';
import { FilesTable } from './files.ts';
import { GarbageTable } from './garbage.ts';
import type { Lookup } from './lookup.ts';
import { OrphansTable } from './orphans.ts';
import { PullsTable } from './pulls.ts';
import type { PoolLoad, SqlStore } from './sql.ts';
import { StoreRecord } from './store-record.ts';
import { TimesTable } from './times.ts';
import { TransfersTable } from './transfers.ts';
import { lookUpUsage, usageOf } from './usage.ts';

/** The metadata store: everything the service knows, except the bytes of volumes. */
export class Metadata {
  readonly accounts: AccountsTable;
  readonly arrivals: ArrivalsTable;
  readonly dirs: DirsTable;
  readonly documents: DocumentsTable;
  readonly files: FilesTable;
  readonly garbage: GarbageTable;
  readonly times: TimesTable;
  readonly orphans: OrphansTable;
  readonly pulls: PullsTable;
  readonly store: StoreRecord;
  readonly transfers: TransfersTable;
  readonly #sql: SqlStore;

  constructor(sql: SqlStore) {
    this.#sql = sql;
    this.accounts = new AccountsTable(sql);
    this.arrivals = new ArrivalsTable(sql);
    this.dirs = new DirsTable(sql);
    this.documents = new DocumentsTable(sql);
    this.files = new FilesTable(sql);
    this.garbage = new GarbageTable(sql);
    this.times = new TimesTable(sql);
    this.orphans = new OrphansTable(sql);
    this.pulls = new PullsTable(sql);
    this.store = new StoreRecord(sql);
    this.transfers = new TransfersTable(sql);
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
