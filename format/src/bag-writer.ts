/** Every key bag that a client writes: the first one, one with another way in, one with a new master key. */
import {
  type BagJson,
  bagOf,
  type EntryJson,
  KEY_BYTES,
  openCurrent,
  openIdentity,
  openKey,
  type ParsedBag,
  type Way,
} from './bag.ts';
import { type Bytes, toBase64Url } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { type AccountName, PROFILE } from './keys.ts';
import { seal } from './seal.ts';

/** What opens a bag from now on. @public */
export interface Keks {
  password: Bytes;
  recovery?: Bytes | undefined;
}

/** What the next bag has that the one before has not. @public */
export interface BagChanges {
  password?: Bytes | undefined;
  recovery?: Bytes | undefined;
  /** Gets an entry, or another one. */
  passkey?: { id: string; kek: Bytes } | undefined;
  /** Of the passkeys that are there, only these stay. */
  keep?: ReadonlySet<string> | undefined;
  /** Master keys of earlier epochs are retired. */
  floor?: number | undefined;
}

const sealed = async (engine: Engine, key: Bytes, label: string, secret: Bytes) =>
  toBase64Url(await seal(engine, key, label, secret));

async function entryOf(engine: Engine, way: Way, master: Bytes): Promise<EntryJson> {
  const { type, kek } = way;
  const id = way.type === 'passkey' ? { id: way.id } : {};
  return { type, ...id, key: await sealed(engine, kek, labels[type], master) };
}

async function entriesOf(engine: Engine, { password, recovery }: Keks, master: Bytes): Promise<EntryJson[]> {
  const entries = [await entryOf(engine, { type: 'password', kek: password }, master)];
  if (recovery) entries.push(await entryOf(engine, { type: 'recovery', kek: recovery }, master));
  return entries;
}

/** The first bag of an account, with a new master key and new key pairs. @public */
export async function makeBag(
  engine: Engine,
  account: AccountName,
  keks: Keks,
  profile = PROFILE,
): Promise<Bytes> {
  const master = engine.random(KEY_BYTES);
  const json: BagJson = {
    service_id: account.serviceId,
    username: account.username,
    rev: 1,
    profile,
    epoch: 1,
    earlier: [],
    entries: await entriesOf(engine, keks, master),
    identity: {
      x25519: await sealed(engine, master, labels.x25519, engine.random(KEY_BYTES)),
      ed25519: await sealed(engine, master, labels.ed25519, engine.random(KEY_BYTES)),
    },
  };
  const bag = await bagOf(engine, master, json);
  master.fill(0);
  return bag;
}

/** The next bag, in which these entries are made anew; the master keys stay, and so does all that this client does not know. @public */
export async function changeBag(
  engine: Engine,
  bag: ParsedBag,
  way: Way,
  { password, recovery, passkey, keep, floor }: BagChanges,
): Promise<Bytes> {
  const master = await openCurrent(engine, bag, way);
  const stays = ({ type, id }: EntryJson) => type !== 'passkey' || !keep || keep.has(id as string);
  const entries = bag.json.entries.filter(stays);
  const made: Way[] = [];
  if (password) made.push({ type: 'password', kek: password });
  if (recovery) made.push({ type: 'recovery', kek: recovery });
  if (passkey) made.push({ type: 'passkey', ...passkey });
  for (const next of made) {
    const id = next.type === 'passkey' ? next.id : undefined;
    const at = entries.findIndex((entry) => entry.type === next.type && (!id || entry.id === id));
    entries.splice(at < 0 ? entries.length : at, at < 0 ? 0 : 1, await entryOf(engine, next, master));
  }
  const profile = password ? PROFILE : bag.profile;
  const changed = { ...bag.json, rev: bag.rev + 1, profile, entries };
  // A writer never lowers it.
  if (floor !== undefined && floor > bag.floor) changed.floor = floor;
  const next = await bagOf(engine, master, changed);
  master.fill(0);
  return next;
}

/**
 * The next bag, with a new master key of the next epoch, under which the earlier ones and the key pairs are sealed. Of the ways in
 * only these are left: what another one sealed is the master that is replaced. @public
 */
export async function rekeyBag(engine: Engine, bag: ParsedBag, way: Way, keks: Keks): Promise<Bytes> {
  const last = await openCurrent(engine, bag, way);
  const before = [{ epoch: bag.epoch, key: last }];
  for (const { epoch, sealed: earlier } of bag.earlier) {
    before.push({ epoch, key: await openKey(engine, last, labels.master, earlier, 'an earlier master key') });
  }
  const { x25519, ed25519 } = await openIdentity(engine, bag, last);
  const master = engine.random(KEY_BYTES);
  const entries = await entriesOf(engine, keks, master);
  const earlier: BagJson['earlier'] = [];
  for (const { epoch, key } of before) {
    earlier.push({ epoch, key: await sealed(engine, master, labels.master, key) });
  }
  const next = await bagOf(engine, master, {
    service_id: bag.serviceId,
    username: bag.username,
    rev: bag.rev + 1,
    // The KEK of the password stays as it is.
    profile: bag.profile,
    epoch: bag.epoch + 1,
    earlier,
    entries,
    identity: {
      x25519: await sealed(engine, master, labels.x25519, x25519),
      ed25519: await sealed(engine, master, labels.ed25519, ed25519),
    },
    ...(bag.json.floor !== undefined && { floor: bag.floor }),
  });
  for (const key of [master, x25519, ed25519, ...before.map((one) => one.key)]) key.fill(0);
  return next;
}
