import { type Report, UsageError } from '../../operator/commands/report.ts';
import { identify, identityOf, isForeign } from '../store-identity.ts';
import { adoptStore } from '../store-record.ts';
import type { Pair } from './pair.ts';

export const ADOPT_USAGE = `usage: szafa-server adopt [--store ID]

Declares that the volume store belongs to this database, and ends a contest.

A store is contested when it shows the mark of another database: after restoring an older backup, when a copy of the
database runs elsewhere on the same store, or after a failover that lost its last transactions. The server then
works as usual but deletes nothing, because the other database may name volumes that this one does not.

Before you adopt:
  1. Stop every server that uses the other database, or give it another store.
  2. "szafa-server rescue --missing --dry-run" shows which files the store has and this database lacks. If you want them,
     run "szafa-server rescue --missing": it takes them and ends the contest by itself.
Adopt if the files that only the other database knows may stay without a record. They are not deleted: they become
orphans, see "szafa-server orphans". From then on, what this database deletes is deleted from the store.

  --store ID   joins a database and a store that were not a pair. ID is the store's id, which the server names when it
               refuses to start. If the store has none, use the id of the database, and the store gets it.

Can run while the server does.`;

/** Makes the volume store, in its current state, belong to the database. */
export async function adopt(
  { metadata, sql, volumes }: Pair,
  storeId: string | undefined,
  report: Report,
): Promise<void> {
  const { id: found, mark } = await identityOf(volumes);
  const facts = await metadata.store.get();
  const { id: own, confirmed, contestedAt } = facts;
  if (!confirmed && found !== own) {
    throw new UsageError('the database is new: to fill it from the store, run "szafa-server rescue"');
  }
  const id = found ?? own;
  if (found !== own && storeId !== id) {
    throw new UsageError(
      `the database belongs to store ${own}, but the volume store ${found === undefined ? 'has no id' : `is ${found}`}. ` +
        `To join the two from now on, run "szafa-server adopt --store ${id}"`,
    );
  }
  if (storeId !== undefined && storeId !== id) throw new UsageError(`the store is ${id}, not ${storeId}`);
  const isOurs = found === own && contestedAt === null && !isForeign(facts, mark);
  if (!isOurs) {
    const identity = await identify(metadata.store, volumes);
    await sql.transaction((tx) => adoptStore(tx, identity));
    await volumes.writeNote('service-id', facts.serviceId);
  }
  report.line({
    store: id,
    adopted: isOurs ? 'it already belongs to this database' : 'it now belongs to this database',
  });
}
