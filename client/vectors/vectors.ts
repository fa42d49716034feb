import { openFile, type RemoteFile } from '../src/download/remote-file.ts';
import { utf8 } from '../src/format/bytes.ts';
import { macOf } from '../src/format/header.ts';
import {
  deriveAccountKeys,
  extentOf,
  fromBase64Url,
  layoutOf,
  openDirName,
  openFileName,
  sealFileName,
  storedSize,
  toBase64Url,
  totalSha256,
  unseal,
  volumeKeys,
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
  volume_size: number;
  volume_count: number;
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
  const keys = volumeKeys(engine, fileKey, fileId, layout.count);
  const volumes: string[] = [];
  const digests: Uint8Array[] = [];
  for (let idx = 1; idx <= layout.count; idx++) {
    const { bytes, digest } = await engine.sealVolume(await keys(idx), source, extentOf(layout, idx));
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
  const { size, wish } = vector;
  const { volumeSize, count } = layoutOf(size, wish);
  return { size, ...(wish !== undefined && { wish }), volume_size: volumeSize, volume_count: count };
}
