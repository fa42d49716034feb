/** Writes key bags: the first one, and later ones with other entries or a new master key. */
import {
  type BagJson,
  type EntryJson,
  KEY_BYTES,
  openCurrentMaster,
  openEarlier,
  openIdentity,
  type ParsedBag,
  sealBag,
  type Unlocker,
} from './bag.ts';
import { type Bytes, toBase64Url } from './bytes.ts';
import { type Engine, labels } from './engine.ts';
import { type AccountName, PROFILE } from './keys.ts';
import { seal } from './seal.ts';

/** The keys that open a new bag. @public */
export interface Keks {
  password: Bytes;
  recovery?: Bytes | undefined;
}

/** Changes for the next bag. @public */
export interface BagChanges {
  password?: Bytes | undefined;
  recovery?: Bytes | undefined;
  /** Adds the entry of a passkey, or replaces it. */
  passkey?: { id: string; kek: Bytes } | undefined;
  /** Ids of the passkeys to keep; all by default. */
  keep?: ReadonlySet<string> | undefined;
  /** Retires the master keys of earlier epochs; never lowers the floor. */
  floor?: number | undefined;
}

const sealText = async (engine: Engine, key: Bytes, label: string, secret: Bytes) =>
  toBase64Url(await seal(engine, key, label, secret));

async function makeEntry(engine: Engine, unlocker: Unlocker, master: Bytes): Promise<EntryJson> {
  const { type, kek } = unlocker;
  const id = unlocker.type === 'passkey' ? { id: unlocker.id } : {};
  return { type, ...id, key: await sealText(engine, kek, labels[type], master) };
}

async function makeEntries(
  engine: Engine,
  { password, recovery }: Keks,
  master: Bytes,
): Promise<EntryJson[]> {
  const entries = [await makeEntry(engine, { type: 'password', kek: password }, master)];
  if (recovery) entries.push(await makeEntry(engine, { type: 'recovery', kek: recovery }, master));
  return entries;
}

async function sealIdentity(engine: Engine, master: Bytes, draw: (type: 'x25519' | 'ed25519') => Bytes) {
  return {
    x25519: await sealText(engine, master, labels.x25519, draw('x25519')),
    ed25519: await sealText(engine, master, labels.ed25519, draw('ed25519')),
  };
}

/** Makes the first bag of an account, with a new master key and new key pairs. @public */
export async function makeBag(
  engine: Engine,
  account: AccountName,
  keks: Keks,
  profile = PROFILE,
): Promise<Bytes> {
  const master = engine.random(KEY_BYTES);
  const bag = await sealBag(engine, master, {
    service_id: account.serviceId,
    username: account.username,
    rev: 1,
    profile,
    epoch: 1,
    earlier: [],
    entries: await makeEntries(engine, keks, master),
    identity: await sealIdentity(engine, master, () => engine.random(KEY_BYTES)),
  });
  master.fill(0);
  return bag;
}

/**
 * Makes the next bag with other entries. Keeps the master keys, and any fields and entries that this client does not know.
 * @throws WrongPasswordError, TamperedError like `openBag` @public
 */
export async function changeBag(
  engine: Engine,
  bag: ParsedBag,
  unlocker: Unlocker,
  { password, recovery, passkey, keep, floor }: BagChanges,
): Promise<Bytes> {
  const master = await openCurrentMaster(engine, bag, unlocker);
  const stays = ({ type, id }: EntryJson) => type !== 'passkey' || !keep || keep.has(id as string);
  const entries = bag.json.entries.filter(stays);
  const changed: Unlocker[] = [];
  if (password) changed.push({ type: 'password', kek: password });
  if (recovery) changed.push({ type: 'recovery', kek: recovery });
  if (passkey) changed.push({ type: 'passkey', ...passkey });
  for (const next of changed) {
    const id = next.type === 'passkey' ? next.id : undefined;
    const at = entries.findIndex((entry) => entry.type === next.type && (!id || entry.id === id));
    entries.splice(at < 0 ? entries.length : at, at < 0 ? 0 : 1, await makeEntry(engine, next, master));
  }
  const profile = password ? PROFILE : bag.profile;
  const json = { ...bag.json, rev: bag.rev + 1, profile, entries };
  if (floor !== undefined && floor > bag.floor) json.floor = floor;
  const next = await sealBag(engine, master, json);
  master.fill(0);
  return next;
}

/**
 * Makes the next bag with a new master key, which seals the earlier master keys and the key pairs. Drops all entries but the given ones:
 * the others seal the old master key.
 * @throws WrongPasswordError, TamperedError like `openBag` @public
 */
export async function rekeyBag(
  engine: Engine,
  bag: ParsedBag,
  unlocker: Unlocker,
  keks: Keks,
): Promise<Bytes> {
  const last = await openCurrentMaster(engine, bag, unlocker);
  const before = [{ epoch: bag.epoch, key: last }, ...(await openEarlier(engine, bag, last))];
  const secrets = await openIdentity(engine, bag, last);
  const master = engine.random(KEY_BYTES);
  const entries = await makeEntries(engine, keks, master);
  const earlier: BagJson['earlier'] = [];
  for (const { epoch, key } of before) {
    earlier.push({ epoch, key: await sealText(engine, master, labels.master, key) });
  }
  const next = await sealBag(engine, master, {
    service_id: bag.serviceId,
    username: bag.username,
    rev: bag.rev + 1,
    // The password's KEK does not change, and so its KDF profile does not either.
    profile: bag.profile,
    epoch: bag.epoch + 1,
    earlier,
    entries,
    identity: await sealIdentity(engine, master, (type) => secrets[type]),
    ...(bag.json.floor !== undefined && { floor: bag.floor }),
  });
  for (const key of [master, secrets.x25519, secrets.ed25519, ...before.map((one) => one.key)]) key.fill(0);
  return next;
}
