import { Writable } from 'node:stream';
import type { Volume } from '@szafa/protocol';
import type { FileRow } from '../../files/files-table.ts';
import { readManifest } from '../../files/manifest.ts';
import { USAGE_COLUMNS } from '../../files/quota.ts';
import { withThumbnail } from '../../files/thumbnails-table.ts';
import { type Report, UsageError } from '../../operator/commands/report.ts';
import { VolumeRejected } from '../../platform/errors.ts';
import { inParallel } from '../../platform/parallel.ts';
import { insertInto, type Sql, type Value } from '../../platform/sql/sql.ts';
import { type Body, copyInto } from '../../platform/volumes/body.ts';
import { newName } from '../../platform/volumes/names.ts';
import type { OpenVolume } from '../../platform/volumes/store.ts';
import { copyShareParts } from '../../sharing/share-rows.ts';
import { insertReceived, isStreaming } from '../../transfers/streamed-table.ts';
import type { TransferRow } from '../../transfers/transfer-rows.ts';
import { insertVolumes } from '../../transfers/volumes-table.ts';
import { identityOf, newRandomId, pairStores } from '../store-identity.ts';
import { takeOverStore } from '../store-record.ts';
import type { Pair } from './pair.ts';
import { filesOf, insertRow, isEmpty, rowsOf, type TableName, tables, uploadsOf } from './rows.ts';

/** Turns a stored volume into a body for another store. */
const bodyOf = (volume: OpenVolume): Body => ({
  async pour(sink) {
    let refusal: unknown;
    const bridge = new Writable({
      write: (chunk: Buffer, _encoding, done) => {
        Promise.try(copyInto, chunk, sink).then(
          () => done(),
          (error: Error) => {
            refusal = error;
            done(error);
          },
        );
      },
    });
    // `send` rejects with the same error.
    bridge.on('error', () => undefined);
    await volume.send(bridge, 0, volume.size).catch((error: unknown) => {
      throw refusal ?? error;
    });
  },
});

interface Group {
  id: string;
  /** Undefined for uploads. */
  file: FileRow | undefined;
  upload: TransferRow | undefined;
}

/** Groups copied at the same time; small files mostly wait for the stores. */
const GROUPS_AT_ONCE = 16;

/**
 * Copies everything from one pair of stores to an empty one. Volumes are copied first, and the target verifies each by its
 * digest; the rows follow in one transaction. So an interrupted run can simply be started again and copies the missing
 * volumes; the source never changes. If only the database moves, the volumes stay and the store gets a new id, because a
 * store belongs to one database.
 */
export async function migrateStores(from: Pair, to: Pair, report: Report): Promise<void> {
  if (!(await isEmpty(to.sql)))
    throw new UsageError('the target database is not empty; migrate needs an empty one');
  const facts = await from.metadata.store.get();
  await to.metadata.store.setServiceId(facts.serviceId);
  const stays = (await identityOf(to.volumes)).id === facts.id;
  if (!stays) await pairStores(to.metadata.store, to.volumes);
  report.expect(await sumOf(from.sql));
  await inParallel(groupsOf(from.sql), GROUPS_AT_ONCE, (group) => copyGroup(from, to, group, report));
  // Unless all volumes were copied, no rows are: a partial copy must not look like a complete one.
  if (report.problems > 0) return;
  const id = newRandomId();
  await to.sql.transaction(async (tx) => {
    await copyRows(from, tx, report);
    if (!stays) return;
    await copyGarbage(from.sql, tx);
    await takeOverStore(tx, id, facts);
  });
  await to.sql.advanceSerials?.();
  // Written last, because from then on the source database is refused.
  if (stays) await to.volumes.writeNote('store-id', id);
}

/** Counts files and bytes now, because the stored totals may be as old as the last sweep. */
async function sumOf(sql: Sql): Promise<{ files: number; bytes: number }> {
  const text = 'SELECT COUNT(*) AS files, CAST(COALESCE(SUM(stored_size), 0) AS TEXT) AS bytes FROM files';
  const [row] = await sql.query<{ files: number; bytes: string }>(text);
  return { files: Number(row!.files), bytes: Number(row!.bytes) };
}

/** Lists files and open uploads. Garbage is not copied. */
async function* groupsOf(sql: Sql): AsyncGenerator<Group> {
  for await (const file of filesOf(sql)) yield { id: file.file_id, file, upload: undefined };
  for await (const upload of uploadsOf(sql)) yield { id: upload.file_id, file: undefined, upload };
}

async function copyGroup(from: Pair, to: Pair, { id, file, upload }: Group, report: Report): Promise<void> {
  const volumes = await (upload ? from.metadata.streamed.volumes(upload) : from.metadata.files.volumes(id));
  const specs = file ? withThumbnail(volumes, file) : volumes;
  // Files and streaming uploads must have all their volumes; other uploads may lack some.
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
  // The server writes all documents again after its start.
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
