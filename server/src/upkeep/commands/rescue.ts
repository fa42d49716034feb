import { type Report, reportBroken, UsageError } from '../../operator/commands/report.ts';
import { inParallel } from '../../platform/parallel.ts';
import { pages } from '../orphans.ts';
import { identify, isForeign, serviceOf } from '../store-identity.ts';
import { takeStore } from '../store-record.ts';
import type { Pair } from './pair.ts';
import { PasswordFile } from './password-file.ts';
import { AccountRescue, type Taking } from './rescue-accounts.ts';
import { FileRescue, unknownOf } from './rescue-files.ts';
import { isEmpty } from './rows.ts';

/** Documents that are read from the store at once. */
const READ_AT_ONCE = 8;
/** Stands in the database while it is being filled: a rescue that was killed is run again. */
const UNDER_WAY = 'rescue';

/** Rebuilds the metadata from what lies beside the volumes, into an empty database. */
export async function rescue(pair: Pair, passwords: string, report: Report): Promise<void> {
  const { metadata, sql, volumes } = pair;
  const again = (await metadata.timestamps.get(UNDER_WAY)) > 0;
  if (!again && !(await isEmpty(sql))) {
    throw new UsageError(
      'the database is not empty: rescue fills an empty one; for a database in use, rescue --missing adds what it lacks',
    );
  }
  const file = await PasswordFile.open(passwords, again);
  try {
    await metadata.timestamps.set(UNDER_WAY, Date.now());
    await takeWhatIsThere(pair, 'all', report, file);
  } finally {
    await file.close();
  }
  await sql.advanceSerials?.();
  // Last: no service starts on a database that does not know its store.
  const identity = await identify(metadata.store, volumes);
  await takeServiceId(pair, report);
  await sql.transaction(async (tx) => {
    await takeStore(tx, identity);
    await tx.execute('DELETE FROM timestamps WHERE name = ?', UNDER_WAY);
  });
}

/**
 * Takes what the store has and the database lacks, as after the restore of an older backup; what the database has stays
 * as it is. Ends a contest: nothing of what the other database had is unknown here any more.
 */
export async function rescueMissing(
  pair: Pair,
  { passwords, dryRun }: { passwords: string | undefined; dryRun: boolean },
  report: Report,
): Promise<void> {
  const file = passwords === undefined ? undefined : await PasswordFile.open(passwords);
  await takeWhatIsThere(pair, dryRun ? 'nothing' : 'missing', report, file).finally(() => file?.close());
  const { store } = pair.metadata;
  const identity = await identify(store, pair.volumes);
  const facts = await store.get();
  if (facts.contestedAt === null && !isForeign(facts, identity.mark)) return;
  // What could not be taken must not be removed either, before somebody has looked at it.
  if (dryRun || report.problems > 0) report.line({ store: 'contested' });
  else await pair.sql.transaction((tx) => takeStore(tx, identity));
}

/** Clients derive what they log in with from it: under another one no password would be right. */
async function takeServiceId({ metadata, volumes }: Pair, report: Report): Promise<void> {
  const found = await serviceOf(volumes);
  if (found !== undefined) {
    await metadata.store.setServiceId(found);
    return;
  }
  const { serviceId } = await metadata.store.get();
  await volumes.writeNote('service-id', serviceId);
  report.problem('stores that had lost their service id', { 'new service id': serviceId });
}

/** Accounts first: their files are theirs. */
async function takeWhatIsThere(
  pair: Pair,
  taking: Taking,
  report: Report,
  file: PasswordFile | undefined,
): Promise<void> {
  const accounts = new AccountRescue(pair, taking, report, file);
  const files = new FileRescue(pair, taking, accounts, report);
  const unlessBroken = reportBroken(report);
  await inParallel(pair.volumes.accounts(), READ_AT_ONCE, (id) => accounts.take(id).catch(unlessBroken));
  for await (const groups of pages(pair.volumes.groups())) {
    await inParallel(await unknownOf(pair.sql, groups), READ_AT_ONCE, (id) =>
      files.take(id).catch(unlessBroken),
    );
  }
}
