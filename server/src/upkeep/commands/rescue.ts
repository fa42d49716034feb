import { type Report, reportBroken, UsageError } from '../../operator/commands/report.ts';
import { inParallel } from '../../platform/parallel.ts';
import { pages } from '../orphans.ts';
import { identify, isForeign, readId } from '../store-identity.ts';
import { adoptStore } from '../store-record.ts';
import type { Pair } from './pair.ts';
import { PasswordFile } from './password-file.ts';
import type { RescueParts } from './rescue-accounts.ts';
import { FileRescue, findUnknown } from './rescue-files.ts';
import { isEmpty } from './rows.ts';

const READ_AT_ONCE = 8;
/** The timestamp that is set while a rescue fills the database, so that an interrupted rescue can be repeated. */
const UNDER_WAY = 'rescue';

/** Rebuilds the metadata from the documents in the volume store, in an empty database. */
export async function rescue(pair: Pair, passwords: string, report: Report): Promise<void> {
  const { metadata, sql, volumes } = pair;
  const again = (await metadata.timestamps.get(UNDER_WAY)) > 0;
  if (!again && !(await isEmpty(sql))) {
    throw new UsageError(
      'the database is not empty, and rescue needs an empty one. To add missing files to a database in use, run "szafa-server rescue --missing"',
    );
  }
  const file = await PasswordFile.open(passwords, again);
  try {
    await metadata.timestamps.set(UNDER_WAY, Date.now());
    await takeDocuments({ pair, mode: 'all', report, file });
  } finally {
    await file.close();
  }
  await sql.advanceSerials?.();
  // Done last, because no server starts on a database that does not know its store.
  const identity = await identify(metadata.store, volumes);
  await takeServiceId(pair, report);
  await sql.transaction(async (tx) => {
    await adoptStore(tx, identity);
    await tx.execute('DELETE FROM timestamps WHERE name = ?', UNDER_WAY);
  });
}

/**
 * Adds accounts and files that the store has and the database lacks, for example after restoring an older backup. Existing
 * rows stay unchanged. Ends a contest, because the database then knows everything in the store.
 */
export async function rescueMissing(
  pair: Pair,
  { passwords, dryRun }: { passwords: string | undefined; dryRun: boolean },
  report: Report,
): Promise<void> {
  const file = passwords === undefined ? undefined : await PasswordFile.open(passwords);
  const mode = dryRun ? 'nothing' : 'missing';
  await takeDocuments({ pair, mode, report, file }).finally(() => file?.close());
  const { store } = pair.metadata;
  const identity = await identify(store, pair.volumes);
  const facts = await store.get();
  if (facts.contestedAt === null && !isForeign(facts, identity.mark)) return;
  // If there were problems, the contest stays, so that nothing is removed before an operator has looked at them.
  if (dryRun || report.problems > 0) report.line({ store: 'contested' });
  else await pair.sql.transaction((tx) => adoptStore(tx, identity));
}

/** Restores the service id. Clients derive their login secrets from it: with a different one, no password would work. */
async function takeServiceId({ metadata, volumes }: Pair, report: Report): Promise<void> {
  const found = await readId(volumes, 'service-id');
  if (found !== undefined) {
    await metadata.store.setServiceId(found);
    return;
  }
  const { serviceId } = await metadata.store.get();
  await volumes.writeNote('service-id', serviceId);
  report.problem('stores that had lost their service id', { 'new service id': serviceId });
}

/** Reads accounts first, because files need their owners. */
async function takeDocuments(parts: RescueParts): Promise<void> {
  const { volumes, sql } = parts.pair;
  const files = new FileRescue(parts);
  const unlessBroken = reportBroken(parts.report);
  await inParallel(volumes.accounts(), READ_AT_ONCE, (id) => files.accounts.take(id).catch(unlessBroken));
  for await (const groups of pages(volumes.groups())) {
    const unknown = await findUnknown(sql, groups);
    await inParallel(unknown, READ_AT_ONCE, (id) => files.take(id).catch(unlessBroken));
  }
}
