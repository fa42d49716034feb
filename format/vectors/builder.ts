import { createHash } from 'node:crypto';
import type { Bytes, Engine, Metadata } from '../../client/src/index.ts';
import { bytesSource } from '../../client/src/transfers/upload/source.ts';
import { concat, utf8 } from '../src/bytes.ts';
import { labels } from '../src/engine.ts';
import {
  type EncParams,
  extentOf,
  type ListedName,
  layoutWith,
  type Master,
  type NameBinding,
  seal,
  sealFileName,
  sealVolume,
  storedSize,
  toBase64Url,
  totalSha256,
} from '../src/index.ts';
import type { FileVector } from './kinds.ts';

/** The same bytes at every run: SHA-256 over a seed and a counter. Only for vectors. */
export function reproducible(engine: Engine, seed: string): Engine {
  let counter = 0;
  let pool: Uint8Array = new Uint8Array(0);
  const block = (n: number) => Uint8Array.fromHex(sha256Hex(`${seed}:${n}`));
  return {
    ...engine,
    random(length) {
      while (pool.length < length) pool = concat(pool, block(counter++));
      const taken = pool.slice(0, length) as Bytes;
      pool = pool.slice(length);
      return taken;
    },
  };
}

function sha256Hex(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

export type Json = Record<string, unknown>;

/** The same object with one key set, or set otherwise. */
export const withKey = (key: string, value: unknown) => (json: Json) => ({ ...json, [key]: value });

/** Where a fault can be put in; what comes after it is made from the faulty thing, seals and MACs included. */
export interface Faults {
  /** Under which header and name are made, instead of the reader's. */
  master?: Bytes;
  fileKey?: (sealed: Bytes) => Bytes;
  /** The file key that is sealed and used. */
  sealedUnder?: { by?: 'master'; label?: string; key?: Bytes };
  metadataUnder?: 'file key';
  macUnder?: 'file key';
  metadata?: (metadata: Json) => unknown;
  metadataText?: (text: Bytes) => Bytes;
  sealedMetadata?: (sealed: Bytes) => Bytes;
  metadataLabel?: string;
  total?: (hex: string) => string;
  header?: (header: Json) => unknown;
  headerText?: (text: Bytes) => Bytes;
  /** After the MAC was made. */
  headerAfterMac?: (text: Bytes) => Bytes;
  mac?: (mac: Bytes) => Bytes;
  params?: (params: Json) => Json;
  /** The volume (from 1) with which the volumes say that the file ends. */
  endsWith?: number;
  /** In the additional data. */
  version?: number;
  volumes?: (volumes: Bytes[]) => Bytes[];
  /** A volume (from 1) that somebody with the file key sealed again, of other bytes. */
  forged?: number;
  /** Of the list: `forged` are the digests of the volumes with the forged one among them. */
  digests?: (honest: Bytes[], forged: Bytes[]) => Bytes[];
  chunkCount?: string;
  record?: (record: Json) => Json;
  /** What is sealed in the list otherwise than in the metadata, and what it is bound to. */
  listed?: Partial<ListedName>;
  nameBinding?: Partial<NameBinding>;
}

export interface Base {
  /** Those that the reader has, newest first; the file is under the first. */
  masters: Master[];
  /** With its padding, if it has any. */
  plain: Bytes;
  volumeSize: number;
  lateVolumeSize?: number;
  metadata: Metadata;
}

export async function buildFile(
  engine: Engine,
  base: Base,
  faults: Faults = {},
): Promise<Omit<FileVector, 'name' | 'about' | 'expect'>> {
  const { plain, volumeSize, lateVolumeSize = volumeSize, metadata: known } = base;
  const layout = layoutWith({ volumeSize, lateVolumeSize }, known.size, plain.length);
  const fileId = engine.random(16);
  const fileKey = engine.random(32);
  const source = bytesSource(plain);
  const sealing: Engine = {
    ...engine,
    sealSegments(key, ...rest) {
      const aad = key.aad.with(0, faults.version ?? key.aad[0]!);
      return engine.sealSegments({ ...key, aad }, ...rest);
    },
  };
  const sealed: { bytes: Bytes; digest: Bytes }[] = [];
  for (let idx = 1; idx <= layout.count; idx++) {
    const place = { fileId, fileKey, idx, isLast: idx === (faults.endsWith ?? layout.count) };
    const { bytes, digest } = await sealVolume(sealing, place, source, extentOf(layout, idx));
    sealed.push({ bytes: bytes as Bytes, digest });
  }
  const honest = (
    await totalSha256(
      engine,
      sealed.map(({ digest }) => digest),
    )
  ).toHex();
  const total = faults.total?.(honest) ?? honest;
  const [{ epoch, key: own }] = base.masters as [Master];
  const master = faults.master ?? own;
  const derived = await engine.hkdf(master, fileId, utf8(labels.header), 64);
  const [macKey, sealKey] = [derived.slice(0, 32), derived.slice(32)];
  const { by, label = labels.fileKey, key = fileKey } = faults.sealedUnder ?? {};
  const sealedKey = await seal(engine, by ? master : sealKey, label, key);
  const metadata = faults.metadata?.({ ...base.metadata }) ?? base.metadata;
  const metadataText = utf8(JSON.stringify(metadata));
  const blanks = new Uint8Array(Math.ceil(metadataText.length / 256) * 256 - metadataText.length).fill(0x20);
  const sealedMetadata = await seal(
    engine,
    faults.metadataUnder ? fileKey : sealKey,
    faults.metadataLabel ?? labels.metadata,
    faults.metadataText?.(metadataText) ?? concat(metadataText, blanks),
  );
  const header: Json = {
    file_id: toBase64Url(fileId),
    epoch,
    volume_size: volumeSize,
    ...(lateVolumeSize !== volumeSize && { late_volume_size: lateVolumeSize }),
    volume_count: layout.count,
    total_sha256: total,
    file_key: toBase64Url(faults.fileKey?.(sealedKey) ?? sealedKey),
    metadata: toBase64Url(faults.sealedMetadata?.(sealedMetadata) ?? sealedMetadata),
  };
  const written = utf8(JSON.stringify(faults.header ? faults.header(header) : header));
  const text = faults.headerText?.(written) ?? written;
  const mac = await engine.hmac(faults.macUnder ? fileKey : macKey, text);
  const params: EncParams = {
    szafa: 1,
    header: toBase64Url(faults.headerAfterMac?.(text) ?? text),
    mac: toBase64Url(faults.mac?.(mac) ?? mac),
  };
  const binding = { totalSha256: total, storedSize: storedSize(layout), count: layout.count };
  const record: Json = {
    file_name: await sealFileName(
      engine,
      master,
      { ...known, ...faults.listed },
      { ...binding, ...faults.nameBinding },
    ),
    size: binding.storedSize,
    sha256: total,
    chunk_count: layout.count,
  };
  const given = sealed.slice();
  if (faults.forged !== undefined) {
    const idx = faults.forged;
    const place = { fileId, fileKey, idx, isLast: idx === layout.count };
    const other = bytesSource(plain.map((byte) => byte ^ 0xff));
    const { bytes, digest } = await sealVolume(engine, place, other, extentOf(layout, idx));
    given[idx - 1] = { bytes: bytes as Bytes, digest };
  }
  const volumes = given.map(({ bytes }) => bytes);
  const listed = sealed.map(({ digest }) => digest);
  const digests =
    faults.digests?.(
      listed,
      given.map(({ digest }) => digest),
    ) ?? listed;
  return {
    masters: base.masters.map((one) => ({ epoch: one.epoch, key: one.key.toHex() })),
    enc_params: faults.params?.(params as unknown as Json) ?? (params as unknown as Json),
    chunk_count: faults.chunkCount ?? String(layout.count),
    record: (faults.record?.(record) ?? record) as FileVector['record'],
    digests: toBase64Url(concat(...digests)),
    volumes: (faults.volumes?.(volumes) ?? volumes).map(toBase64Url),
  };
}
