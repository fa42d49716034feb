/** What an engine makes of each kind of vector. */
import type { FileRecord } from '@szafa/protocol';
import { SeenRevs } from '../../client/src/files/seen-revs.ts';
import {
  Api,
  type Bytes,
  bytesSource,
  type Engine,
  Keys,
  SzafaError,
  type Transport,
} from '../../client/src/index.ts';
import { openFile } from '../../client/src/transfers/download/open-file.ts';
import type { RemoteFile } from '../../client/src/transfers/download/remote-file.ts';
import {
  changeBag,
  checkBag,
  deriveAccountKeys,
  derivePasskeyKek,
  deriveRecoveryKeys,
  extentOf,
  fromBase64Url,
  layoutOf,
  layoutWith,
  makeBag,
  openBag,
  openDirName,
  openFileName,
  openIdentity,
  openVolume,
  parseBag,
  parseHeader,
  parseRecoveryText,
  recoveryText,
  rekeyBag,
  resealHeader,
  sealDirName,
  sealFileName,
  sealHeader,
  sealVolume,
  storedSize,
  streamSizes,
  toBase64Url,
  totalSha256,
  type Unlocker,
  unseal,
} from '../src/index.ts';
import { bagOfReader, READER } from './bag-builder.ts';
import type {
  BagVector,
  BagWriterVector,
  Change,
  Expected,
  FileVector,
  KdfVector,
  LayoutVector,
  NameVector,
  PasskeyVector,
  RecoveryVector,
  SealVector,
  VolumeSpot,
  VolumeVector,
  WriterVector,
} from './kinds.ts';

/** An engine that draws these bytes, in this order, and no others. */
function drawing(engine: Engine, random: string[]): Engine {
  const left = random.map((hex) => Uint8Array.fromHex(hex));
  return {
    ...engine,
    random(length) {
      const next = left.shift();
      if (next?.length !== length) throw new Error(`${length} random bytes were not expected`);
      return next;
    },
  };
}

/** A service that has this one file, and the key bag of its owner. */
function serviceOf(vector: FileVector, bag: Bytes, listed: FileRecord): Transport {
  const params = new TextEncoder().encode(JSON.stringify(vector.enc_params)).toBase64();
  const headers: Record<string, string> = { 'x-enc-params': params, 'x-chunk-count': vector.chunk_count };
  const keys = new TextEncoder().encode(JSON.stringify({ keys: toBase64Url(bag) }));
  const list = new TextEncoder().encode(JSON.stringify({ files: [listed] }));
  return async ({ url, method, into }) => {
    if (/\/api\/files(\?|$)/.test(url)) return { status: 200, header: () => undefined, body: list };
    if (url.endsWith('/api/account/keys')) return { status: 200, header: () => undefined, body: keys };
    if (url.endsWith('/digests'))
      return { status: 200, header: () => undefined, body: fromBase64Url(vector.digests) };
    const idx = Number(url.split('/').at(-1));
    const bytes = fromBase64Url(vector.volumes[idx - 1]!);
    const body =
      method === 'HEAD' ? new Uint8Array(0) : (into?.(bytes.length) ?? new Uint8Array(bytes.length));
    if (method !== 'HEAD') body.set(bytes);
    return { status: 200, header: (name) => headers[name.toLowerCase()], body };
  };
}

/** The plaintext of an opened file. */
export type Read = (remote: RemoteFile) => Promise<Uint8Array>;

const readStream: Read = async (remote) => {
  const parts: Uint8Array<ArrayBuffer>[] = [];
  for await (const part of remote.stream()) parts.push(part);
  return new Uint8Array(await new Blob(parts).arrayBuffer());
};

/** Opens the file as a download does. */
export async function runFile(engine: Engine, vector: FileVector, read = readStream): Promise<Expected> {
  const { record } = vector;
  const { bag, kek } = await bagOfReader(engine, vector);
  const created = { created_at: '2026-01-01T00:00:00.000Z', dir_id: null, dir_name: '', user_id: 'wektor' };
  const whole = { ...record, ...created, file_id: 'f' };
  const api = new Api({ server: 'http://service.invalid', transport: serviceOf(vector, bag, whole) });
  const keys = new Keys({ engine, api, username: READER.username, kek });
  const seen = new Map(vector.seen_rev === undefined ? [] : [['f', vector.seen_rev]]);
  const revs = new SeenRevs({ load: async () => seen, save: async () => {} });
  try {
    const remote = await openFile({ api, engine, keys, revs }, 'f', { record: whole });
    return { metadata: remote.metadata, plain: toBase64Url(await read(remote)) };
  } catch (error) {
    if (!(error instanceof SzafaError)) throw error;
    return { stage: String((error as SzafaError & { stage?: string }).stage), code: error.code };
  }
}

export async function runKdf(
  engine: Engine,
  vector: KdfVector,
): Promise<Pick<KdfVector, 'auth_secret' | 'kek'>> {
  const { service_id: serviceId, username, password, profile } = vector;
  const { authSecret, kek } = await deriveAccountKeys(engine, { serviceId, username }, password, profile);
  return { auth_secret: authSecret, kek: kek.toHex() };
}

export async function runSeal(engine: Engine, vector: SealVector): Promise<SealVector['expect']> {
  const opened = await unseal(
    engine,
    Uint8Array.fromHex(vector.key),
    vector.label,
    fromBase64Url(vector.sealed),
  );
  return 'plain' in opened ? { plain: opened.plain.toHex() } : opened;
}

const nothing = { rev: 0, gen: 0, added: 0, whole: false };

/** Reads the name; where it says from what, it is also written, and must come to the same text. */
export async function runName(engine: Engine, vector: NameVector): Promise<NameVector['expect']> {
  const key = Uint8Array.fromHex(vector.key);
  const { given, expect, text } = vector;
  const binding = {
    totalSha256: vector.total_sha256 ?? '',
    storedSize: vector.size ?? 0,
    count: vector.chunk_count ?? 0,
  };
  if (given !== undefined) {
    const written =
      vector.kind === 'dir'
        ? await sealDirName(engine, key, given)
        : await sealFileName(engine, key, { ...nothing, ...expect, name: given }, binding);
    if (written !== text) return { ...nothing, name: `written as ${written}` };
  }
  if (vector.kind === 'file') return (await openFileName(engine, key, text, binding)) ?? null;
  const name = await openDirName(engine, key, text);
  return name === undefined ? null : { ...nothing, name, whole: true };
}

/** Opens the bag as a session does. */
export async function runBag(engine: Engine, vector: BagVector): Promise<BagVector['expect']> {
  const { service_id: serviceId, username, pin } = vector;
  try {
    const bag = parseBag(fromBase64Url(vector.bag));
    const next = await checkBag(engine, bag, { serviceId, username }, pin && { serviceId, ...pin });
    const masters = await openBag(plainEngine(engine), bag, wayOf(vector));
    const { x25519, ed25519 } = await openIdentity(engine, bag, masters[0]!.key);
    const floor = bag.floor > 1 ? { floor: bag.floor } : {};
    return {
      rev: next.rev,
      digest: next.digest,
      masters: masters.map(({ epoch, key }) => ({ epoch, key: key.toHex() })),
      x25519: x25519.toHex(),
      ed25519: ed25519.toHex(),
      ...floor,
    };
  } catch (error) {
    if (!(error instanceof SzafaError)) throw error;
    return { stage: String((error as SzafaError & { stage?: string }).stage), code: error.code };
  }
}

function wayOf({ kek, recovery, passkey }: BagVector): Unlocker {
  if (passkey) return { type: 'passkey', id: passkey.id, kek: Uint8Array.fromHex(passkey.kek) };
  const type = recovery === undefined ? 'password' : 'recovery';
  return { type, kek: Uint8Array.fromHex(recovery ?? kek) };
}

/** One that holds no keys: they are what the vector is about. */
const plainEngine = (engine: Engine): Engine => ({ ...engine, hold: (key) => key });

export async function runBagWriter(
  engine: Engine,
  vector: BagWriterVector,
): Promise<BagWriterVector['expect']> {
  const { kind, service_id: serviceId, username, before, recovery, passkey, keep } = vector;
  const drawn = drawing(engine, vector.random);
  const bytes = (hex: string | undefined) => (hex === undefined ? undefined : Uint8Array.fromHex(hex));
  const entries = {
    password: bytes(vector.kek),
    recovery: bytes(recovery),
    passkey: passkey && { id: passkey.id, kek: Uint8Array.fromHex(passkey.kek) },
    keep: keep && new Set(keep),
    floor: vector.floor,
  };
  const keks = { password: entries.password!, recovery: entries.recovery };
  if (kind === 'first' || !before) {
    return { bag: toBase64Url(await makeBag(drawn, { serviceId, username }, keks)) };
  }
  const way = { type: 'password' as const, kek: Uint8Array.fromHex(before.kek) };
  const bag = parseBag(fromBase64Url(before.bag));
  const next =
    kind === 'change' ? await changeBag(drawn, bag, way, entries) : await rekeyBag(drawn, bag, way, keks);
  return { bag: toBase64Url(next) };
}

export async function runPasskey(engine: Engine, vector: PasskeyVector): Promise<PasskeyVector['expect']> {
  const { service_id: serviceId, username, secret } = vector;
  const kek = await derivePasskeyKek(engine, { serviceId, username }, Uint8Array.fromHex(secret));
  return { kek: kek.toHex() };
}

export async function runRecovery(engine: Engine, vector: RecoveryVector): Promise<RecoveryVector['expect']> {
  const { service_id: serviceId, username } = vector;
  try {
    const key = await parseRecoveryText(engine, vector.typed);
    const { authSecret, kek } = await deriveRecoveryKeys(engine, { serviceId, username }, key);
    const text = await recoveryText(engine, key);
    return { key: key.toHex(), text, auth_secret: authSecret, kek: kek.toHex() };
  } catch (error) {
    if (error instanceof SzafaError && error.code === 'recovery-key') return null;
    throw error;
  }
}

export async function runWriter(engine: Engine, vector: WriterVector): Promise<WriterVector['expect']> {
  const { epoch, metadata, random } = vector;
  const [fileKey, fileId, master] = [vector.file_key, vector.file_id, vector.master].map((hex) =>
    Uint8Array.fromHex(hex),
  ) as [Bytes, Bytes, Bytes];
  const source = bytesSource(fromBase64Url(vector.plain));
  const layout = layoutOf(source.size, vector.volume_size);
  const volumes: string[] = [];
  const digests: Uint8Array[] = [];
  for (let idx = 1; idx <= layout.count; idx++) {
    const place = { fileId, fileKey, idx, isLast: idx === layout.count };
    const salt = Uint8Array.fromHex(vector.salts[idx - 1]!);
    const { bytes, digest } = await sealVolume(engine, place, source, extentOf(layout, idx), { salt });
    volumes.push(toBase64Url(bytes));
    digests.push(digest);
  }
  const total = (await totalSha256(engine, digests)).toHex();
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  const encParams = await sealHeader(drawing(engine, random), {
    ...{ fileId, fileKey: fileKey.slice(), layout, totalSha256: total, metadata },
    master: { epoch, key: master },
  });
  const next = { epoch: vector.next.epoch, key: Uint8Array.fromHex(vector.next.master) };
  const parsed = parseHeader({ ...encParams });
  const resealed = await resealHeader(drawing(engine, vector.next.random), parsed, master, next);
  return {
    volumes,
    total_sha256: total,
    file_size: binding.storedSize,
    chunk_count: layout.count,
    file_name: await sealFileName(engine, master, metadata, binding),
    enc_params: encParams,
    resealed: {
      file_name: await sealFileName(engine, next.key, resealed.metadata, binding),
      enc_params: resealed.encParams,
    },
  };
}

export function runLayout(vector: LayoutVector): LayoutVector {
  const { size, wish, stream } = vector;
  const layout = stream ? layoutWith(streamSizes(wish), size) : layoutOf(size, wish);
  return {
    size,
    ...(wish !== undefined && { wish }),
    ...(stream && { stream }),
    volume_size: layout.volumeSize,
    late_volume_size: layout.lateVolumeSize,
    volume_count: layout.count,
    last: extentOf(layout, layout.count),
    stored_size: storedSize(layout),
  };
}

export function plainOf(length: number): Bytes {
  return new Uint8Array(length).map((_, k) => k % 251);
}

export function changed(bytes: Bytes, change: Change): Bytes {
  const copy = bytes.slice();
  if ('cut' in change) return bytes.slice(0, change.cut);
  if ('flip' in change) copy[change.flip]! ^= 1;
  if ('copy' in change) {
    const [from, to, length] = change.copy;
    copy.copyWithin(to, from, from + length);
  }
  if ('swap' in change) {
    const [one, other, length] = change.swap;
    copy.set(bytes.subarray(other, other + length), one);
    copy.set(bytes.subarray(one, one + length), other);
  }
  if (!('add' in change)) return copy;
  const longer = new Uint8Array(bytes.length + change.add);
  longer.set(bytes);
  return longer;
}

export type VolumeOutcome = Pick<VolumeVector, 'sha256' | 'sealed' | 'expect'>;

/** Seals the volume, changes it as the vector says, and opens it. */
export async function runVolume(engine: Engine, vector: VolumeVector): Promise<VolumeOutcome> {
  const { written } = vector;
  const fileKey = Uint8Array.fromHex(vector.file_key);
  const placeOf = ({ file_id, idx, is_last }: VolumeSpot) => ({
    fileKey,
    fileId: Uint8Array.fromHex(file_id),
    idx,
    isLast: is_last,
  });
  const plain = plainOf(written.length);
  const part = { offset: 0, length: written.length };
  const salt = Uint8Array.fromHex(vector.salt);
  const { bytes, digest } = await sealVolume(engine, placeOf(written), bytesSource(plain), part, { salt });
  const read = { ...written, ...vector.read };
  const sealed = new Uint8Array(bytes);
  const given = (vector.changes ?? []).reduce(changed, sealed.slice());
  const opened = await openVolume(engine, placeOf(read), read.length, given);
  const same = 'bytes' in opened && opened.bytes.every((byte, k) => byte === plain[k]);
  return {
    sha256: digest.toHex(),
    ...(vector.sealed !== undefined && { sealed: toBase64Url(sealed) }),
    expect: 'fault' in opened ? opened.fault : same ? 'opens' : 'length',
  };
}
