/** The key bag of an account: its master keys and key pairs, sealed for a password, a recovery key and passkeys. */
import { type Bytes, concat, equal, utf8 } from './bytes.ts';
import { deriveKey, type Engine, labels } from './engine.ts';
import { requireSuite, TamperedError, WrongPasswordError } from './errors.ts';
import { bytesOf, isObject, isWhole, parseObject } from './json.ts';
import { type AccountName, profileOf } from './keys.ts';
import { SEAL_OVERHEAD, unseal, unsealOrThrow } from './seal.ts';

const SUITE = 1;
const MAC = 32;
/** Length of master keys and of the secret halves of key pairs. */
export const KEY_BYTES = 32;
const SEALED_KEY = KEY_BYTES + SEAL_OVERHEAD;
/** The highest epoch: headers store epochs in four bytes. @public */
export const MOST_EPOCHS = 2 ** 32 - 1;
const MOST_ENTRIES = 64;
/** Longest id of a passkey (WebAuthn). */
const MOST_ID = 1023;

/** A master key, from which all keys of an account's own files derive. @public */
export interface Master {
  /** Starts at 1; every rekey adds one. */
  epoch: number;
  key: Bytes;
}

/** Entry types that a bag has at most once. @public */
export type EntryType = 'password' | 'recovery';

/** A key that opens one entry of a bag. `id` is the id of the passkey, in base64url. @public */
export type Unlocker = { type: EntryType; kek: Bytes } | { type: 'passkey'; id: string; kek: Bytes };

/** The current master, sealed for one unlocker. Entries of unknown types are kept as they are. */
export interface EntryJson {
  type: string;
  id?: unknown;
  key?: unknown;
}

/** The JSON text of a bag. */
export interface BagJson {
  service_id: string;
  username: string;
  rev: number;
  profile: number;
  /** Epoch of the current master, which the entries seal. */
  epoch: number;
  /** Earlier masters, newest first, sealed under the current one. */
  earlier: { epoch: number; key: string }[];
  entries: EntryJson[];
  /** Secret halves of the account's key pairs, sealed under the current master. */
  identity: { x25519: string; ed25519: string };
  /** The first epoch that is not retired; 1 by default. */
  floor?: number;
}

/** A well-formed bag, before any key was tried. @public */
export interface ParsedBag extends AccountName {
  bytes: Bytes;
  rev: number;
  profile: number;
  epoch: number;
  earlier: { epoch: number; sealed: Bytes }[];
  /** The current master, sealed for the password. */
  password: Bytes;
  recovery: Bytes | undefined;
  /** The current master sealed for each passkey, by passkey id in base64url. */
  passkeys: ReadonlyMap<string, Bytes>;
  identity: { x25519: Bytes; ed25519: Bytes };
  /** The first epoch whose headers and names readers accept. */
  floor: number;
  /** The parsed JSON, including fields that this client does not know: a writer must keep them. */
  json: BagJson;
}

/** What a client remembers about the newest bag that it has seen. @public */
export interface Pin {
  serviceId: string;
  rev: number;
  /** SHA-256 of the bag's bytes, lower-case hex. */
  digest: string;
  /** KDF profile of the bag; 1 by default. */
  profile?: number | undefined;
  /** Epoch and digest (lower-case hex) of the newest master key; absent in pins of earlier versions. */
  master?: { epoch: number; digest: string } | undefined;
}

/** Computes the MAC over suite and exact text, so that readers need not serialise the JSON again. */
async function macOf(engine: Engine, master: Bytes, text: Uint8Array): Promise<Bytes> {
  return engine.hmac(await deriveKey(engine, master, labels.bag), concat(Uint8Array.of(SUITE), text));
}

/** Returns the bytes of a bag: suite ‖ MAC ‖ text. */
export async function sealBag(engine: Engine, master: Bytes, json: BagJson): Promise<Bytes> {
  const text = utf8(JSON.stringify(json));
  return concat(Uint8Array.of(SUITE), await macOf(engine, master, text), text);
}

const malformed = (what: string) => new TamperedError('bag', `${what} in the key bag is malformed`);

/**
 * Checks everything that needs no key.
 * @throws TamperedError at stage `bag`; UnsupportedError for an unknown suite or KDF profile @public
 */
export function parseBag(bytes: Bytes): ParsedBag {
  if (bytes.length === 0) throw new TamperedError('bag', 'the key bag is empty');
  requireSuite(bytes[0]);
  if (bytes.length < 1 + MAC) throw new TamperedError('bag', 'the key bag is cut off');
  const json = parseObject(bytes.subarray(1 + MAC), 'bag', 'the key bag') as Partial<BagJson>;
  const { service_id: serviceId, username, rev, profile, epoch } = json;
  const { earlier, entries, identity, floor = 1 } = json;
  if (typeof serviceId !== 'string' || !/^[0-9a-f]{32}$/.test(serviceId)) throw malformed('service_id');
  if (typeof username !== 'string') throw malformed('username');
  if (!isWhole(rev, 1, Number.MAX_SAFE_INTEGER)) throw malformed('rev');
  if (!isWhole(profile, 0, Number.MAX_SAFE_INTEGER)) throw malformed('profile');
  if (!isWhole(epoch, 1, MOST_EPOCHS)) throw malformed('epoch');
  if (!Array.isArray(earlier)) throw malformed('earlier');
  if (!Array.isArray(entries) || entries.length > MOST_ENTRIES) throw malformed('entries');
  if (!isObject(identity)) throw malformed('identity');
  if (!isWhole(floor, 1, epoch)) throw malformed('floor');
  let last = epoch;
  const parsed = {
    ...{ bytes, serviceId, username, rev, profile, epoch, floor },
    earlier: earlier.map((one: unknown) => {
      if (!isObject(one) || !isWhole(one['epoch'], 1, last - 1)) throw malformed('earlier');
      last = one['epoch'];
      return { epoch: last, sealed: sealedKey(one['key'], 'an earlier master key') };
    }),
    ...parseEntries(entries),
    identity: {
      x25519: sealedKey(identity.x25519, 'x25519'),
      ed25519: sealedKey(identity.ed25519, 'ed25519'),
    },
    json: json as BagJson,
  };
  // Checked last: an unknown profile must be reported only for a bag that is otherwise well-formed.
  profileOf(profile);
  return parsed;
}

const sealedKey = (value: unknown, what: string) => bytesOf(value, 'bag', what, SEALED_KEY);

/** Requires exactly one password entry, at most one recovery entry, and at most one entry per passkey. */
function parseEntries(entries: unknown[]): Pick<ParsedBag, EntryType | 'passkeys'> {
  const found: Record<EntryType, Bytes[]> = { password: [], recovery: [] };
  const passkeys = new Map<string, Bytes>();
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry['type'] !== 'string') throw malformed('entries');
    const { type } = entry;
    if (type === 'password' || type === 'recovery')
      found[type].push(sealedKey(entry['key'], `the entry ${type}`));
    if (type !== 'passkey') continue;
    const id = entry['id'] as string;
    const { length } = bytesOf(id, 'bag', 'the id of a passkey');
    if (length === 0 || length > MOST_ID || passkeys.has(id)) throw malformed('entries');
    passkeys.set(id, sealedKey(entry['key'], 'the entry passkey'));
  }
  const [password, another] = found.password;
  const [recovery, second] = found.recovery;
  if (!password || another || second) throw malformed('entries');
  return { password, recovery, passkeys };
}

/**
 * Checks that a bag belongs to this account and is not older than the pinned one.
 * @returns the new pin
 * @throws TamperedError at stage `owner` or `rollback` @public
 */
export async function checkBag(
  engine: Engine,
  bag: ParsedBag,
  account: AccountName,
  pin: Pin | undefined,
): Promise<Pin> {
  if (bag.serviceId !== account.serviceId) {
    throw new TamperedError('owner', 'the key bag belongs to another server');
  }
  if (bag.username !== account.username) {
    throw new TamperedError('owner', 'the key bag belongs to another account');
  }
  const digest = (await engine.sha256(bag.bytes)).toHex();
  if (pin && bag.rev < pin.rev) {
    throw new TamperedError(
      'rollback',
      `the server returned an older key bag (${bag.rev}) than before (${pin.rev})`,
    );
  }
  if (pin && bag.rev === pin.rev && digest !== pin.digest) {
    throw new TamperedError('rollback', 'the key bag differs from the one seen before');
  }
  const { serviceId, rev, profile } = bag;
  return { serviceId, rev, digest, profile, ...(pin?.master && { master: pin.master }) };
}

/** Names of the unlockers in messages. */
const UNLOCKER: Record<Unlocker['type'], string> = {
  password: 'password',
  recovery: 'recovery key',
  passkey: 'passkey',
};

/** Returns the current master key in the clear. Verifies the MAC of the whole bag with it. */
export async function openCurrentMaster(engine: Engine, bag: ParsedBag, unlocker: Unlocker): Promise<Bytes> {
  const { type, kek } = unlocker;
  const sealed = unlocker.type === 'passkey' ? bag.passkeys.get(unlocker.id) : bag[unlocker.type];
  if (!sealed) throw new TamperedError('entry', `the key bag has no entry for the ${UNLOCKER[type]}`);
  const opened = await unseal(engine, kek, labels[type], sealed);
  if ('fault' in opened && opened.fault === 'commitment')
    throw new WrongPasswordError(`the ${UNLOCKER[type]} does not open the keys of this account`);
  if (!('plain' in opened)) throw new TamperedError('entry', `the entry ${type} of the key bag was changed`);
  const mac = bag.bytes.subarray(1, 1 + MAC);
  if (!equal(await macOf(engine, opened.plain, bag.bytes.subarray(1 + MAC)), mac)) {
    throw new TamperedError('bag-mac', 'the MAC of the key bag is wrong');
  }
  return opened.plain;
}

/**
 * Opens the master keys, newest first. The engine holds them.
 * @throws WrongPasswordError if the KEK does not open the entry; TamperedError if the bag was changed @public
 */
export async function openBag(engine: Engine, bag: ParsedBag, unlocker: Unlocker): Promise<Master[]> {
  // Computing the MAC needs the key in the clear, so the engine takes it only afterwards.
  const current = await engine.hold(await openCurrentMaster(engine, bag, unlocker));
  const masters: Master[] = [{ epoch: bag.epoch, key: current }];
  for (const { epoch, key } of await openEarlier(engine, bag, current)) {
    masters.push({ epoch, key: await engine.hold(key) });
  }
  return masters;
}

/** Opens the earlier masters, in the clear. */
export async function openEarlier(engine: Engine, { earlier }: ParsedBag, current: Bytes): Promise<Master[]> {
  const masters: Master[] = [];
  for (const { epoch, sealed } of earlier) {
    masters.push({
      epoch,
      key: await openKey(engine, current, labels.master, sealed, 'an earlier master key'),
    });
  }
  return masters;
}

const masterDigest = async (engine: Engine, { key }: Master) =>
  (await deriveKey(engine, key, labels.pin)).toHex();

/**
 * Requires that the masters of a bag include the pinned one. An old password still opens the entry in an earlier bag, and anyone who gets
 * that master key can write a bag around it with any `rev` and `epoch`.
 * @returns the newest master, to be pinned
 * @throws TamperedError at stage `masters`
 */
export async function checkMasters(
  engine: Engine,
  masters: readonly Master[],
  pin: Pin | undefined,
): Promise<NonNullable<Pin['master']>> {
  if (pin?.master) {
    const { epoch, digest } = pin.master;
    const known = masters.find((one) => one.epoch === epoch);
    if (!known || (await masterDigest(engine, known)) !== digest) {
      throw new TamperedError('masters', 'the key bag lacks the master key that was seen before');
    }
  }
  const [newest] = masters as [Master, ...Master[]];
  return { epoch: newest.epoch, digest: await masterDigest(engine, newest) };
}

/** Opens the secret halves of the account's key pairs: 32 bytes each (RFC 7748, RFC 8032). @public */
export async function openIdentity(
  engine: Engine,
  { identity }: ParsedBag,
  master: Bytes,
): Promise<{ x25519: Bytes; ed25519: Bytes }> {
  return {
    x25519: await openKey(engine, master, labels.x25519, identity.x25519, 'the X25519 key'),
    ed25519: await openKey(engine, master, labels.ed25519, identity.ed25519, 'the Ed25519 key'),
  };
}

const openKey = (engine: Engine, master: Bytes, label: string, sealed: Bytes, what: string) =>
  unsealOrThrow(engine, master, label, sealed, ['masters', `${what} in the key bag does not open`]);
