import { openFile, type RemoteFile } from '../src/download/remote-file.ts';
import { utf8 } from '../src/format/bytes.ts';
import { macOf } from '../src/format/header.ts';
import {
  deriveAccountKeys,
  extentOf,
  fromBase64Url,
  layoutOf,
  layoutWith,
  openDirName,
  openFileName,
  openVolume,
  sealFileName,
  sealVolume,
  storedSize,
  streamSizes,
  toBase64Url,
  totalSha256,
  unseal,
} from '../src/format/index.ts';
import {
  Api,
  type Bytes,
  bytesSource,
  type Engine,
  Keyring,
  type Metadata,
  SzafaError,
  type Transport,
} from '../src/index.ts';

/** What opening must come to: the plaintext, or the class of the error and the stage at which it showed. */
export type Expected = { metadata: Metadata; plain: string } | { stage: string; code: string };

export interface FileVector {
  name: string;
  /** The one thing that is wrong. */
  about: string;
  username: string;
  password: string;
  enc_params: Record<string, unknown>;
  /** The value of X-Chunk-Count. */
  chunk_count: string;
  record: { file_name: string; size: number; sha256: string; chunk_count: number };
  /** base64url, in the order in which the service gives them. */
  volumes: string[];
  expect: Expected;
}

export interface KdfVector {
  name: string;
  username: string;
  password: string;
  auth_secret: string;
  kek: string;
}

export interface SealVector {
  name: string;
  key: string;
  label: string;
  sealed: string;
  expect: { plain: string } | { fault: string };
}

export interface NameVector {
  name: string;
  kind: 'file' | 'dir';
  key: string;
  text: string;
  total_sha256?: string;
  size?: number;
  chunk_count?: number;
  expect: { name: string; whole: boolean } | null;
}

/** What a writer must come to: everything about a file that leaves it no choice. */
export interface WriterVector {
  name: string;
  file_key: string;
  file_id: string;
  master: string;
  file_name: string;
  plain: string;
  volume_size: number;
  /** Of each volume, hex. */
  salts: string[];
  /** The header's text, as some writer wrote it. */
  header: string;
  expect: {
    volumes: string[];
    total_sha256: string;
    file_size: number;
    chunk_count: number;
    /** As it stands in the record. */
    file_name: string;
    mac: string;
  };
}

export interface LayoutVector {
  size: number;
  wish?: number;
  /** The length was not known before the end. */
  stream?: boolean;
  volume_size: number;
  late_volume_size: number;
  volume_count: number;
  /** Of the last volume. */
  last: { offset: number; length: number };
  stored_size: number;
}

/** One change of bytes: flip a bit, cut to a length, add zeros, let two places change their bytes, repeat some at another place. */
export type Change =
  | { flip: number }
  | { cut: number }
  | { add: number }
  | { swap: [one: number, other: number, length: number] }
  | { copy: [from: number, to: number, length: number] };

/** What a reader takes a volume for, and what a writer made it for. */
export interface VolumeSpot {
  file_id: string;
  idx: number;
  is_last: boolean;
  /** Of the plaintext, whose byte k is k mod 251. */
  length: number;
}

export interface VolumeVector {
  name: string;
  about: string;
  file_key: string;
  salt: string;
  written: VolumeSpot;
  /** SHA-256 of the volume as it was written. */
  sha256: string;
  /** The volume itself, base64url, where it is short. */
  sealed?: string;
  changes?: Change[];
  /** Where it differs from what was written. */
  read?: Partial<VolumeSpot>;
  expect: 'opens' | 'length' | 'commitment' | 'tag';
}

const keks = new WeakMap<Engine, Map<string, ReturnType<typeof deriveAccountKeys>>>();

/** The KDF runs once for each account, as it does in a client. */
function keysOf(engine: Engine, username: string, password: string) {
  const known = keks.get(engine) ?? new Map<string, ReturnType<typeof deriveAccountKeys>>();
  keks.set(engine, known);
  const id = JSON.stringify([username, password]);
  const keys = known.get(id) ?? deriveAccountKeys(engine, username, password);
  known.set(id, keys);
  return keys;
}

/** A service that has this one file. */
function serviceOf(vector: FileVector): Transport {
  const params = new TextEncoder().encode(JSON.stringify(vector.enc_params)).toBase64();
  const headers: Record<string, string> = { 'x-enc-params': params, 'x-chunk-count': vector.chunk_count };
  return async ({ url, method, into }) => {
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
  const { username, password, record } = vector;
  const { kek } = await keysOf(engine, username, password);
  const api = new Api({ server: 'http://service.invalid', transport: serviceOf(vector) });
  const keyring = new Keyring({ engine, api, username, kek, secret: password });
  const created = { created_at: '2026-01-01T00:00:00.000Z', dir_id: null, dir_name: '', user_id: username };
  try {
    const whole = { ...record, ...created, file_id: 'f' };
    const remote = await openFile({ api, engine, keyring }, 'f', { record: whole });
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
  const { authSecret, kek } = await keysOf(engine, vector.username, vector.password);
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

export async function runName(engine: Engine, vector: NameVector): Promise<NameVector['expect']> {
  const key = Uint8Array.fromHex(vector.key);
  if (vector.kind === 'dir') {
    const name = await openDirName(engine, key, vector.text);
    return name === undefined ? null : { name, whole: true };
  }
  const binding = {
    totalSha256: vector.total_sha256 ?? '',
    storedSize: vector.size ?? 0,
    count: vector.chunk_count ?? 0,
  };
  return (await openFileName(engine, key, vector.text, binding)) ?? null;
}

export async function runWriter(engine: Engine, vector: WriterVector): Promise<WriterVector['expect']> {
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
  return {
    volumes,
    total_sha256: total,
    file_size: binding.storedSize,
    chunk_count: layout.count,
    file_name: await sealFileName(engine, master, vector.file_name, binding),
    mac: toBase64Url(await macOf(engine, fileKey, utf8(vector.header))),
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

function changed(bytes: Bytes, change: Change): Bytes {
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
