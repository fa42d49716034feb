import type { Volume } from '@szafa/protocol';
import type { FileRow } from '../../files/files-table.ts';
import { readManifest } from '../../files/manifest.ts';
import { USAGE_COLUMNS } from '../../files/quota.ts';
import { withThumbnail } from '../../files/thumbnails-table.ts';
import { type Report, UsageError } from '../../operator/commands/report.ts';
import { VolumeRejected } from '../../platform/errors.ts';
import { inParallel } from '../../platform/parallel.ts';
import { insertInto, type Sql, type Value } from '../../platform/sql/sql.ts';
import { newName } from '../../platform/volumes/names.ts';
import { copyShareParts } from '../../sharing/share-rows.ts';
import { insertReceived, isStreaming } from '../../transfers/streamed-table.ts';
import type { TransferRow } from '../../transfers/transfer-rows.ts';
import { insertVolumes } from '../../transfers/volumes-table.ts';
import { identityOf, newStoreId, settleStore } from '../store-identity.ts';
import { handOver } from '../store-record.ts';
import type { Pair } from './pair.ts';
import { filesOf, insertRow, isEmpty, rowsOf, type TableName, tables, uploadsOf } from './rows.ts';
import { bodyOf } from './volume-body.ts';

interface Group {
  id: string;
  /** The record, where the group is a file by now. */
  file: FileRow | undefined;
  upload: TransferRow | undefined;
}

/** Groups at once: a small file mostly waits for the stores. */
const AT_ONCE = 16;

/**
 * Copies everything from one pair of stores to another, which is empty. Volumes go first, each verified against its
 * digest by the store that takes it; the rows follow in one transaction. So a run that was cut off is just
 * started again, goes on with the volumes that are missing, and the source is never changed. Where only the database
 * moves, the volumes stay, and the store gets a new id: it belongs to one database.
 */
export async function migrateStores(from: Pair, to: Pair, report: Report): Promise<void> {
  if (!(await isEmpty(to.sql))) throw new UsageError('the database to migrate to is not empty');
  const facts = await from.metadata.store.get();
  await to.metadata.store.setServiceId(facts.serviceId);
  const stays = (await identityOf(to.volumes)).id === facts.id;
  if (!stays) await settleStore(to.metadata.store, to.volumes);
  report.expect(await sumOf(from.sql));
  await inParallel(groupsOf(from.sql), AT_ONCE, (group) => copyGroup(from, to, group, report));
  // A half copy must not look like a whole one: the rows come only when every volume has.
  if (report.problems > 0) return;
  const id = newStoreId();
  await to.sql.transaction(async (tx) => {
    await copyRows(from, tx, report);
    if (!stays) return;
    await copyGarbage(from.sql, tx);
    await handOver(tx, id, facts);
  });
  await to.sql.advanceSerials?.();
  // Last: from now on the database that it came from is refused.
  if (stays) await to.volumes.writeNote('store-id', id);
}

/** How much there is, counted now: the kept totals are of the last sweep. */
async function sumOf(sql: Sql): Promise<{ files: number; bytes: number }> {
  const [row] = await sql.query<{ files: number; bytes: string }>(
    'SELECT COUNT(*) AS files, CAST(COALESCE(SUM(stored_size), 0) AS TEXT) AS bytes FROM files',
  );
  return { files: Number(row!.files), bytes: Number(row!.bytes) };
}

/** Files, and uploads under way. What is waiting to be removed stays behind. */
async function* groupsOf(sql: Sql): AsyncGenerator<Group> {
  for await (const file of filesOf(sql)) yield { id: file.file_id, file, upload: undefined };
  for await (const upload of uploadsOf(sql)) yield { id: upload.file_id, file: undefined, upload };
}

async function copyGroup(from: Pair, to: Pair, { id, file, upload }: Group, report: Report): Promise<void> {
  const volumes = await (upload ? from.metadata.streamed.volumes(upload) : from.metadata.files.volumes(id));
  const specs = file ? withThumbnail(volumes, file) : volumes;
  // Of other uploads only some have come.
  const isWhole = !upload || isStreaming(upload);
  await to.volumes.create(id);
  const here = new Set((await to.volumes.list(id)).map(newName));
  const isCopied = specs.every((spec) => here.has(newName(spec)));
  const there = new Set(isCopied ? [] : (await from.volumes.list(id)).map(newName));
  for (const spec of specs) {
    if (here.has(newName(spec))) {
      report.count('volumes already there');
      report.count('bytes already there', spec.size);
    } else if (there.has(newName(spec))) await copyVolume(from, to, id, spec, report);
    else if (isWhole) report.problem('missing volumes', { file: id, volume: spec.idx });
  }
  if (file) await to.volumes.writeManifest(await readManifest(from.metadata, file));
  report.count(file ? 'files' : 'unfinished uploads');
}

async function copyVolume(from: Pair, to: Pair, id: string, spec: Volume, report: Report): Promise<void> {
  const volume = await from.volumes.open(id, spec);
  if (!volume) {
    report.problem('missing volumes', { file: id, volume: spec.idx });
    return;
  }
  try {
    await to.volumes.put(id, spec, bodyOf(volume));
    report.count('volumes');
    report.count('bytes', spec.size);
  } catch (error) {
    if (!(error instanceof VolumeRejected)) throw error;
    report.problem('volumes with wrong bytes', { file: id, volume: spec.idx });
  } finally {
    await volume.close();
  }
}

/** What is doomed there is doomed here. */
async function copyGarbage(from: Sql, tx: Sql): Promise<void> {
  for (const { file_id } of await from.query<{ file_id: string }>('SELECT file_id FROM garbage')) {
    await tx.execute('INSERT INTO garbage (file_id, not_before) VALUES (?, 0)', file_id);
  }
}

async function copyRows(from: Pair, tx: Sql, report: Report): Promise<void> {
  for (const table of Object.keys(tables) as TableName[]) {
    for await (const row of rowsOf(from.sql, table)) {
      await insertRow(tx, table, row);
      if (table === 'shares') await copyShareParts(from.sql, tx, row['id'] as string);
      report.count('rows');
    }
  }
  // Written by the service that starts on them.
  await tx.execute('UPDATE account_documents SET written_rev = 0');
  const sums = await from.sql.query<Record<string, Value>>(`SELECT ${USAGE_COLUMNS.join(', ')} FROM usage`);
  for (const row of sums) {
    await tx.execute(insertInto('usage', USAGE_COLUMNS), ...USAGE_COLUMNS.map((column) => row[column]!));
  }
  for await (const { id, upload } of groupsOf(from.sql)) {
    await insertVolumes(tx, id, await from.metadata.files.volumes(id));
    if (upload && isStreaming(upload)) await insertReceived(tx, id, await from.metadata.streamed.list(id));
  }
}
