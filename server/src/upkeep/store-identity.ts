import { randomBytes } from 'node:crypto';
import { ConfigError } from '../platform/errors.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { StoreFacts, StoreRecord } from './store-record.ts';

/** The database and the volume store do not belong together. */
export class StoreRefused extends ConfigError {
  override name = 'StoreRefused';
  /** The store's id, if it has one. */
  readonly found: string | undefined;

  constructor(facts: StoreFacts, found: string | undefined) {
    super(refusal(facts, found));
    this.found = found;
  }
}

const RANDOM_ID = /^[0-9a-f]{32}$/;

export interface Identity {
  id: string | undefined;
  /** Identifies the database that last used the store. */
  mark: string | undefined;
}

export async function identityOf(volumes: VolumeStore): Promise<Identity> {
  const [id, mark] = await Promise.all([readId(volumes, 'store-id'), volumes.readNote('store-mark')]);
  return { id, mark };
}

/** Reads an id. A malformed one, such as in a truncated file, counts as missing. */
export async function readId(
  volumes: VolumeStore,
  note: 'store-id' | 'service-id',
): Promise<string | undefined> {
  const text = await volumes.readNote(note);
  return text !== undefined && RANDOM_ID.test(text) ? text : undefined;
}

/** Whether another database used the store last. */
export const isForeign = ({ marks }: StoreFacts, mark: string | undefined) =>
  mark !== undefined && !marks.includes(mark);

/**
 * Checks that the database and the store belong together, and pairs a new database with an empty store. The id comes from the
 * transaction that created the tables, so every node writes the same one; the database then records that the store has it. A
 * store that cannot be read throws, and is never mistaken for one without an id. The store is read before the database,
 * because a mark is written to the database before the store.
 */
export async function pairStores(
  record: StoreRecord,
  volumes: VolumeStore,
): Promise<{ facts: StoreFacts; mark: string | undefined }> {
  const { id: first, mark } = await identityOf(volumes);
  const facts = await record.get();
  if (first !== facts.id) {
    const empty = await isEmpty(volumes);
    // Read again after the emptiness check: a node that starts at the same time writes the id before it confirms the pair or
    // stores a volume.
    const id = await readId(volumes, 'store-id');
    const newPair = id === undefined && !facts.confirmed && empty;
    if (id !== facts.id && !newPair) throw new StoreRefused(facts, id);
    await volumes.writeNote('store-id', facts.id);
    const written = await readId(volumes, 'store-id');
    // Another new database was started with this store at the same time.
    if (written !== facts.id) throw new StoreRefused(facts, written);
  }
  if (!facts.confirmed) {
    // Written before the pair is confirmed: passwords depend on the service id, so a rescue needs it.
    await volumes.writeNote('service-id', facts.serviceId);
    await record.confirm();
  }
  return { facts, mark };
}

/** Reads the identity of a store that the database is about to adopt. A store without an id gets the database's. */
export async function identify(
  record: StoreRecord,
  volumes: VolumeStore,
): Promise<Identity & { id: string }> {
  const { id, mark } = await identityOf(volumes);
  if (id !== undefined) return { id, mark };
  const { id: own } = await record.get();
  await volumes.writeNote('store-id', own);
  return { id: own, mark };
}

/** Creates an id for a store or a mark. */
export const newRandomId = () => randomBytes(16).toString('hex');

async function isEmpty(volumes: VolumeStore): Promise<boolean> {
  for await (const _ of volumes.groups()) return false;
  return true;
}

function refusal({ id: own, confirmed }: StoreFacts, found: string | undefined): string {
  if (!confirmed) {
    const what = found === undefined ? 'has volumes' : `(${found}) belongs to another one`;
    return (
      `the database is new, but the volume store ${what}. Nothing was changed. ` +
      'Restore the database from its backup, or rebuild it from the store with "szafa-server rescue". ' +
      'For a new server, choose an empty folder or another prefix.'
    );
  }
  const check = 'Nothing was changed. Check SZ_DATABASE, SZ_DATA and SZ_VOLUMES';
  return found === undefined
    ? `the volume store has no id, the database belongs to store ${own}. ${check}, and whether the disk is mounted. ` +
        `If the volumes were restored without their id: "szafa-server adopt --store ${own}".`
    : `the database belongs to store ${own}, the volume store is ${found}. ${check}. ` +
        `If these two are to be a pair from now on: "szafa-server adopt --store ${found}".`;
}
