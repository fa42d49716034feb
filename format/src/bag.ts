import { type Bytes, concat, equal, utf8 } from './bytes.ts';
import { EMPTY, type Engine, labels } from './engine.ts';
import { TamperedError, UnsupportedError, WrongPasswordError } from './errors.ts';
import { bytesOf, isObject, isWhole, parseObject } from './json.ts';
import { type AccountName, profileOf } from './keys.ts';
import { SEAL_OVERHEAD, unseal } from './seal.ts';

/** What keys, MAC and seals a bag is made with; another number is another format. */
const SUITE = 1;
const MAC = 32;
/** Of master keys and of the secrets of key pairs. */
export const KEY_BYTES = 32;
const SEALED_KEY = KEY_BYTES + SEAL_OVERHEAD;
/** Of master keys, whose epochs also travel in every header. @public */
export const MOST_EPOCHS = 2 ** 32 - 1;
const MOST_ENTRIES = 64;
/** Of the id of a passkey, by WebAuthn. */
const MOST_ID = 1023;

/** A master key: all that is sealed for the owner of an account hangs on one. @public */
export interface Master {
  /** From 1; a higher one was made later. */
  epoch: number;
  key: Bytes;
}

/** The ways to the master key of which there is one, or none. @public */
export type EntryType = 'password' | 'recovery';

/** A key that opens one of the entries; of passkeys, that of this id, in base64url. @public */
export type Way = { type: EntryType; kek: Bytes } | { type: 'passkey'; id: string; kek: Bytes };

/** A way to the current master; what else is in one of a type that this client does not know is kept as it is. */
export interface EntryJson {
  type: string;
  id?: unknown;
  key?: unknown;
}

/** The JSON text inside. */
export interface BagJson {
  service_id: string;
  username: string;
  rev: number;
  profile: number;
  /** Of the current master, which the entries seal. */
  epoch: number;
  /** Earlier masters, newest first, sealed under the current one. */
  earlier: { epoch: number; key: string }[];
  entries: EntryJson[];
  /** Secret halves of the account's key pairs, sealed under the current master. */
  identity: { x25519: string; ed25519: string };
  /** Earlier epochs prove nothing any more; 1 where it is absent. */
  floor?: number;
}

/** A bag whose shape is right, before any key was tried. @public */
export interface ParsedBag extends AccountName {
  bytes: Bytes;
  rev: number;
  profile: number;
  epoch: number;
  earlier: { epoch: number; sealed: Bytes }[];
  /** The current master, under the KEK of each way. */
  password: Bytes;
  recovery: Bytes | undefined;
  /** The same for each passkey, by its id in base64url. */
  passkeys: ReadonlyMap<string, Bytes>;
  identity: { x25519: Bytes; ed25519: Bytes };
  /** Of the earliest master key under which headers and names still count. */
  floor: number;
  /** All that it says: whoever writes the next one keeps what it does not know. */
  json: BagJson;
}

/** What a client remembers of the newest bag that it has seen. @public */
export interface Pin {
  serviceId: string;
  rev: number;
  /** SHA-256 of the bag's bytes, lower-case hex. */
  digest: string;
  /** The KDF profile in it; 1 where it is absent. */
  profile?: number | undefined;
  /** The newest master key in it, by a digest in lower-case hex; absent in pins of earlier versions. */
  master?: { epoch: number; digest: string } | undefined;
}

/** Suite ‖ MAC ‖ text. The MAC covers the suite and the exact text, so that nothing is ever serialised again. */
async function macOf(engine: Engine, master: Bytes, text: Uint8Array): Promise<Bytes> {
  const key = await engine.hkdf(master, EMPTY, utf8(labels.bag), 32);
  return engine.hmac(key, concat(Uint8Array.of(SUITE), text));
}

/** The exact bytes for a text. */
export async function bagOf(engine: Engine, master: Bytes, json: BagJson): Promise<Bytes> {
  const text = utf8(JSON.stringify(json));
  return concat(Uint8Array.of(SUITE), await macOf(engine, master, text), text);
}

const malformed = (what: string) => new TamperedError('bag', `${what} in the key bag is malformed`);

/** Everything that can be checked without a key. @public */
export function parseBag(bytes: Bytes): ParsedBag {
  const [suite] = bytes;
  if (suite === undefined) throw new TamperedError('bag', 'the key bag is empty');
  if (suite !== SUITE) throw new UnsupportedError('suite', `suite ${suite} is unknown to this client`);
  if (bytes.length < 1 + MAC) throw new TamperedError('bag', 'the key bag is cut off');
  const json = parseObject(bytes.subarray(1 + MAC), 'bag', 'the key bag') as Partial<BagJson>;
  const {
    service_id: serviceId,
    username,
    rev,
    profile,
    epoch,
    earlier,
    entries,
    identity,
    floor = 1,
  } = json;
  if (typeof serviceId !== 'string' || !/^[0-9a-f]{32}$/.test(serviceId)) throw malformed('service_id');
  if (typeof username !== 'string') throw malformed('username');
  if (!isWhole(rev, 1, Number.MAX_SAFE_INTEGER)) throw malformed('rev');
  if (!isWhole(profile, 0, Number.MAX_SAFE_INTEGER)) throw malformed('profile');
  if (!isWhole(epoch, 1, MOST_EPOCHS)) throw malformed('epoch');
  if (!Array.isArray(earlier)) throw malformed('earlier');
  if (!Array.isArray(entries) || entries.length > MOST_ENTRIES) throw malformed('entries');
  if (!isObject(identity)) throw malformed('identity');
  if (!isWhole(floor, 1, epoch)) throw malformed('floor');
  const key = (value: unknown, what: string) => bytesOf(value, 'bag', what, SEALED_KEY);
  let last = epoch;
  const parsed = {
    ...{ bytes, serviceId, username, rev, profile, epoch, floor },
    earlier: earlier.map((one: unknown) => {
      if (!isObject(one) || !isWhole(one['epoch'], 1, last - 1)) throw malformed('earlier');
      last = one['epoch'];
      return { epoch: last, sealed: key(one['key'], 'an earlier master key') };
    }),
    ...waysOf(entries, key),
    identity: { x25519: key(identity.x25519, 'x25519'), ed25519: key(identity.ed25519, 'ed25519') },
    json: json as BagJson,
  };
  // A stage of its own, after the shape of everything.
  profileOf(profile);
  return parsed;
}

/** Exactly one password, at most one recovery key, and of passkeys one entry each. */
function waysOf(
  entries: unknown[],
  key: (value: unknown, what: string) => Bytes,
): Pick<ParsedBag, EntryType | 'passkeys'> {
  const found: Record<EntryType, Bytes[]> = { password: [], recovery: [] };
  const passkeys = new Map<string, Bytes>();
  for (const entry of entries) {
    if (!isObject(entry) || typeof entry['type'] !== 'string') throw malformed('entries');
    const { type } = entry;
    if (type === 'password' || type === 'recovery') found[type].push(key(entry['key'], `the entry ${type}`));
    if (type !== 'passkey') continue;
    const id = entry['id'] as string;
    const { length } = bytesOf(id, 'bag', 'the id of a passkey');
    if (length === 0 || length > MOST_ID || passkeys.has(id)) throw malformed('entries');
    passkeys.set(id, key(entry['key'], 'the entry passkey'));
  }
  const [password, another] = found.password;
  const [recovery, second] = found.recovery;
  if (!password || another || second) throw malformed('entries');
  return { password, recovery, passkeys };
}

/** That it is this account's, and not older than what was seen before; the pin to keep from now on. @public */
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
      `the key bag is an older one (${bag.rev}, ${pin.rev} was seen before)`,
    );
  }
  if (pin && bag.rev === pin.rev && digest !== pin.digest) {
    throw new TamperedError('rollback', 'the key bag is not the one that was seen before');
  }
  const { serviceId, rev, profile } = bag;
  return { serviceId, rev, digest, profile, ...(pin?.master && { master: pin.master }) };
}

const WRONG: Record<Way['type'], string> = {
  password: 'the password does not open the keys of this account',
  recovery: 'the recovery key does not open the keys of this account',
  passkey: 'the passkey does not open the keys of this account',
};
const MISSING: Record<Way['type'], string> = {
  password: 'a password',
  recovery: 'a recovery key',
  passkey: 'this passkey',
};

/** The current master in the clear, once the MAC has shown that all of the bag is its owner's. */
export async function openCurrent(engine: Engine, bag: ParsedBag, way: Way): Promise<Bytes> {
  const { type, kek } = way;
  const sealed = way.type === 'passkey' ? bag.passkeys.get(way.id) : bag[way.type];
  if (!sealed) throw new TamperedError('entry', `the key bag has no entry for ${MISSING[type]}`);
  const opened = await unseal(engine, kek, labels[type], sealed);
  if ('fault' in opened && opened.fault === 'commitment') throw new WrongPasswordError(WRONG[type]);
  if (!('plain' in opened)) throw new TamperedError('entry', `the entry ${type} of the key bag was changed`);
  const mac = bag.bytes.subarray(1, 1 + MAC);
  if (!equal(await macOf(engine, opened.plain, bag.bytes.subarray(1 + MAC)), mac)) {
    throw new TamperedError('bag-mac', 'the MAC of the key bag is wrong');
  }
  return opened.plain;
}

/** The master keys, newest first. @public */
export async function openBag(engine: Engine, bag: ParsedBag, way: Way): Promise<Master[]> {
  // Held only now: for the MAC it is needed in the clear.
  const current = await engine.hold(await openCurrent(engine, bag, way));
  const masters: Master[] = [{ epoch: bag.epoch, key: current }];
  for (const { epoch, sealed } of bag.earlier) {
    const key = await openKey(engine, current, labels.master, sealed, 'an earlier master key');
    masters.push({ epoch, key: await engine.hold(key) });
  }
  return masters;
}

const masterDigest = async (engine: Engine, { key }: Master) =>
  (await engine.hkdf(key, EMPTY, utf8(labels.pin), 32)).toHex();

/**
 * Requires the pinned master key among those of a bag, and returns what to pin of it. The password may be older than the master key: its
 * entry in an earlier bag still opens, and anyone who has the master key in it can write a bag around it, with any `rev` and `epoch`.
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
      throw new TamperedError('masters', 'the master key that was seen before is not in the key bag');
    }
  }
  const [newest] = masters as [Master, ...Master[]];
  return { epoch: newest.epoch, digest: await masterDigest(engine, newest) };
}

/** The secret halves of the account's key pairs: 32 bytes each, by RFC 7748 and RFC 8032. @public */
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

/** One of the keys that are sealed under the current master, in the clear. */
export async function openKey(
  engine: Engine,
  master: Bytes,
  label: string,
  sealed: Bytes,
  what: string,
): Promise<Bytes> {
  const opened = await unseal(engine, master, label, sealed);
  if (!('plain' in opened)) throw new TamperedError('masters', `${what} in the key bag does not open`);
  return opened.plain;
}
