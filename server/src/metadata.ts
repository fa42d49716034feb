import type { Lookup } from './accounts/account-rows.ts';
import { AccountsTable } from './accounts/accounts-table.ts';
import { DeletionsTable } from './accounts/deletion-table.ts';
import { FactorsTable, PasskeysTable } from './accounts/factors-table.ts';
import { InvitationsTable } from './accounts/invitations-table.ts';
import { RecoveriesTable } from './accounts/recoveries-table.ts';
import { SessionsTable } from './accounts/sessions-table.ts';
import { DirectoriesTable } from './files/directories-table.ts';
import { FileChangesTable } from './files/file-changes-table.ts';
import { FilesTable } from './files/files-table.ts';
import { GarbageTable } from './files/garbage-table.ts';
import { type AccountUsage, lookUpUsage } from './files/quota.ts';
import { ThumbnailsTable } from './files/thumbnails-table.ts';
import { TrashTable } from './files/trash-table.ts';
import { AccountRecords } from './operator/accounts-table.ts';
import { AuditTable } from './operator/audit-table.ts';
import { NodesTable } from './operator/nodes-table.ts';
import { TotalsTable } from './operator/totals-table.ts';
import { type PoolLoad, Queries, type SqlStore } from './platform/sql/sql.ts';
import { RequestsTable } from './sharing/requests-table.ts';
import { SharesTable } from './sharing/shares-table.ts';
import { PullsTable } from './transfers/pull/pulls-table.ts';
import { ReceivedVolumesTable } from './transfers/received-volumes-table.ts';
import { StreamedTable } from './transfers/streamed-table.ts';
import { TransfersTable } from './transfers/transfers-table.ts';
import { ChecksTable } from './upkeep/checks-table.ts';
import { DocumentsTable } from './upkeep/documents-table.ts';
import { OrphansTable } from './upkeep/orphans-table.ts';
import { StoreRecord } from './upkeep/store-record.ts';
import { TimestampsTable } from './upkeep/timestamps-table.ts';

/** The metadata store: everything the server knows except the bytes of volumes. */
export class Metadata extends Queries<SqlStore> {
  readonly accounts = new AccountsTable(this.sql);
  readonly accountRecords = new AccountRecords(this.sql);
  readonly audit = new AuditTable(this.sql);
  readonly checks = new ChecksTable(this.sql);
  readonly deletions = new DeletionsTable(this.sql);
  readonly dirs = new DirectoriesTable(this.sql);
  readonly documents = new DocumentsTable(this.sql);
  readonly factors = new FactorsTable(this.sql);
  readonly fileChanges = new FileChangesTable(this.sql);
  readonly files = new FilesTable(this.sql);
  readonly garbage = new GarbageTable(this.sql);
  readonly invitations = new InvitationsTable(this.sql);
  readonly timestamps = new TimestampsTable(this.sql);
  readonly nodes = new NodesTable(this.sql);
  readonly orphans = new OrphansTable(this.sql);
  readonly passkeys = new PasskeysTable(this.sql);
  readonly pulls = new PullsTable(this.sql);
  readonly receivedVolumes = new ReceivedVolumesTable(this.sql);
  readonly recoveries = new RecoveriesTable(this.sql);
  readonly sessions = new SessionsTable(this.sql);
  readonly requests = new RequestsTable(this.sql);
  readonly shares = new SharesTable(this.sql);
  readonly store = new StoreRecord(this.sql);
  readonly streamed = new StreamedTable(this.sql);
  readonly thumbnails = new ThumbnailsTable(this.sql);
  readonly totals = new TotalsTable(this.sql);
  readonly transfers = new TransfersTable(this.sql);
  readonly trash = new TrashTable(this.sql);

  lookUpUsage(): Lookup<AccountUsage> {
    return lookUpUsage(this.sql);
  }

  /** Load of the connection pool, if the engine has one. */
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
