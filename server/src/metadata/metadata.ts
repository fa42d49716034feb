import { AccountRecords } from './account-records.ts';
import { AccountsTable } from './accounts.ts';
import { ArrivalsTable } from './arrivals.ts';
import { AuditTable } from './audit.ts';
import { ChecksTable } from './checks.ts';
import { DeparturesTable } from './departures.ts';
import { DirsTable } from './dirs.ts';
import { DocumentsTable } from './documents.ts';
import { FactorsTable } from './factors.ts';
import { FilesTable } from './files.ts';
import { GarbageTable } from './garbage.ts';
import { InvitationsTable } from './invitations.ts';
import type { Lookup } from './lookup.ts';
import { NodesTable } from './nodes.ts';
import { OrphansTable } from './orphans.ts';
import { PasskeysTable } from './passkeys.ts';
import { PullsTable } from './pulls.ts';
import { ReceivedTable } from './received.ts';
import { RecoveriesTable } from './recoveries.ts';
import { RenamingTable } from './renaming.ts';
import { RequestsTable } from './requests.ts';
import { SessionsTable } from './sessions.ts';
import { SharesTable } from './shares.ts';
import { type PoolLoad, Queries, type SqlStore } from './sql.ts';
import { StoreRecord } from './store-record.ts';
import { StreamedTable } from './streamed.ts';
import { ThumbnailsTable } from './thumbnails.ts';
import { TimesTable } from './times.ts';
import { TotalsTable } from './totals.ts';
import { TransfersTable } from './transfers.ts';
import { TrashTable } from './trash.ts';
import { UploadsTable } from './uploads.ts';
import { type Holdings, lookUpUsage, usageOf } from './usage.ts';

/** The metadata store: everything the service knows, except the bytes of volumes. */
export class Metadata extends Queries<SqlStore> {
  readonly accounts = new AccountsTable(this.sql);
  readonly accountRecords = new AccountRecords(this.sql);
  readonly arrivals = new ArrivalsTable(this.sql);
  readonly audit = new AuditTable(this.sql);
  readonly checks = new ChecksTable(this.sql);
  readonly departures = new DeparturesTable(this.sql);
  readonly dirs = new DirsTable(this.sql);
  readonly documents = new DocumentsTable(this.sql);
  readonly factors = new FactorsTable(this.sql);
  readonly files = new FilesTable(this.sql);
  readonly garbage = new GarbageTable(this.sql);
  readonly invitations = new InvitationsTable(this.sql);
  readonly times = new TimesTable(this.sql);
  readonly nodes = new NodesTable(this.sql);
  readonly orphans = new OrphansTable(this.sql);
  readonly passkeys = new PasskeysTable(this.sql);
  readonly pulls = new PullsTable(this.sql);
  readonly received = new ReceivedTable(this.sql);
  readonly recoveries = new RecoveriesTable(this.sql);
  readonly sessions = new SessionsTable(this.sql);
  readonly requests = new RequestsTable(this.sql);
  readonly renaming = new RenamingTable(this.sql);
  readonly shares = new SharesTable(this.sql);
  readonly store = new StoreRecord(this.sql);
  readonly streamed = new StreamedTable(this.sql);
  readonly thumbnails = new ThumbnailsTable(this.sql);
  readonly totals = new TotalsTable(this.sql);
  readonly transfers = new TransfersTable(this.sql);
  readonly trash = new TrashTable(this.sql);
  readonly uploads = new UploadsTable(this.sql);

  usage(caller: string): Promise<{ bytes: bigint; counted: bigint }> {
    return usageOf(this.sql, caller);
  }

  lookUpUsage(): Lookup<Holdings> {
    return lookUpUsage(this.sql);
  }

  /** Connections, where the engine has a pool of them. */
  get load(): PoolLoad | undefined {
    return this.sql.load;
  }

  async ping(): Promise<void> {
    await this.sql.query('SELECT 1');
  }

  close(): Promise<void> {
    return this.sql.close();
  }
}
