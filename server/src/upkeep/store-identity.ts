import { randomBytes } from 'node:crypto';
import { ConfigError } from '../platform/errors.ts';
import type { VolumeStore } from '../platform/volumes/store.ts';
import type { StoreFacts, StoreRecord } from './store-record.ts';

/** The database and the volume store are not a pair; the message says what to do. */
export class StoreRefused extends ConfigError {
  override name = 'StoreRefused';
  /** The store's id, if it has one. */
  readonly found: string | undefined;

  constructor(facts: StoreFacts, found: string | undefined) {
    super(refusal(facts, found));
    this.found = found;
  }
}

/** As ids of stores and services are made. */
const RANDOM_ID = /^[0-9a-f]{32}$/;

export interface Identity {
  id: string | undefined;
  /** Which database had the store last. */
  mark: string | undefined;
}

export async function identityOf(volumes: VolumeStore): Promise<Identity> {
  const [id, mark] = await Promise.all([idOf(volumes), volumes.readNote('store-mark')]);
  return { id, mark };
}

/** Text that is no id, as of a file that was cut short, names no store that a database could belong to. */
async function idOf(volumes: VolumeStore): Promise<string | undefined> {
  const text = await volumes.readNote('store-id');
  return text !== undefined && RANDOM_ID.test(text) ? text : undefined;
}

/** Which service the store is of; undefined where it does not say. */
export async function serviceOf(volumes: VolumeStore): Promise<string | undefined> {
  const text = await volumes.readNote('service-id');
  return text !== undefined && RANDOM_ID.test(text) ? text : undefined;
}

/** Whether the store was another database's last. */
export const isForeign = ({ marks }: StoreFacts, mark: string | undefined) =>
  mark !== undefined && !marks.includes(mark);

/**
 * Resolves when the database and the store belong together, and makes a new database and an empty store a pair: the id
 * comes from the transaction that made the tables, every node writes the same one, and the database then knows
 * that the store has it. A store that cannot be read throws, and is never taken for one that has no id. The store is
 * read first: what it has was written to the database before.
 */
export async function settleStore(
  record: StoreRecord,
  volumes: VolumeStore,
): Promise<{ facts: StoreFacts; mark: string | undefined }> {
  const { id: first, mark } = await identityOf(volumes);
  const facts = await record.get();
  if (first !== facts.id) {
    const empty = await isEmpty(volumes);
    // Once more, and last: another node that starts at this moment writes it before it confirms it or takes a volume.
    const id = await idOf(volumes);
    const newPair = id === undefined && !facts.confirmed && empty;
    if (id !== facts.id && !newPair) throw new StoreRefused(facts, id);
    await volumes.writeNote('store-id', facts.id);
    const written = await idOf(volumes);
    // Another new database was given the same store at this moment.
    if (written !== facts.id) throw new StoreRefused(facts, written);
  }
  if (!facts.confirmed) {
    // Before it counts as a pair: without it, no password of its users would be right after a rescue.
    await volumes.writeNote('service-id', facts.serviceId);
    await record.confirm();
  }
  return { facts, mark };
}

/** The identity of a store that a database is about to take; one without an id is given the database's. */
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

export const newStoreId = () => randomBytes(16).toString('hex');
export const newMark = () => randomBytes(16).toString('hex');

async function isEmpty(volumes: VolumeStore): Promise<boolean> {
  for await (const _ of volumes.groups()) return false;
  return true;
}

function refusal({ id: own, confirmed }: StoreFacts, found: string | undefined): string {
  const rebuilt =
    'Restore the database from its backup, or rebuild it from the store with "szafa-server rescue". ' +
    'For a new server, choose an empty folder or another prefix.';
  if (!confirmed && found === undefined) {
    return `the database is new, but the volume store has volumes. Nothing was changed. ${rebuilt}`;
  }
  if (!confirmed) {
    return `the database is new, but the volume store (${found}) belongs to another one. Nothing was changed. ${rebuilt}`;
  }
  const check = 'Nothing was changed. Check SZ_DATABASE, SZ_DATA and SZ_VOLUMES';
  if (found === undefined) {
    return (
      `the volume store has no id, the database belongs to store ${own}. ${check}, and whether the disk is mounted. ` +
      `If the volumes were restored without their id: "szafa-server adopt --store ${own}".`
    );
  }
  return (
    `the database belongs to store ${own}, the volume store is ${found}. ${check}. ` +
    `If these two are to be a pair from now on: "szafa-server adopt --store ${found}".`
  );
}
