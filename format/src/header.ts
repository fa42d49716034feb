/** The header of a file: its keys, sizes and metadata, sealed and authenticated by the owner's master key. */
import { decodeEncParams, encodeEncParams, limits } from '@szafa/protocol';
import { type Master, MOST_EPOCHS } from './bag.ts';
import { type Bytes, equal, toBase64Url, utf8 } from './bytes.ts';
import { deriveKey, type Engine, labels } from './engine.ts';
import { NameError, type Stage, TamperedError, UnsupportedError } from './errors.ts';
import { bytesOf, isDigest, isWhole, parseObject } from './json.ts';
import { areVolumeSizes, type Layout, layoutWith, type VolumeSizes } from './layout.ts';
import { type AttributesChange, type Metadata, metadataText, parseMetadata } from './metadata.ts';
import { seal, unsealOrThrow } from './seal.ts';
import { VERSION } from './volume.ts';

/** The `enc_params` of a file, which the server returns in X-Enc-Params. @public */
export interface EncParams {
  szafa: number;
  /** base64url of the header's JSON text. */
  header: string;
  /** base64url of HMAC-SHA256 over that exact text. */
  mac: string;
}

/** The JSON text of a header. */
interface HeaderJson {
  file_id: string;
  epoch: number;
  volume_size: number;
  /** Absent if equal to `volume_size`. */
  late_volume_size?: number;
  volume_count: number;
  total_sha256: string;
  file_key: string;
  metadata: string;
}

/** Id and key of one file. @public */
export interface FileSecrets {
  fileId: Bytes;
  fileKey: Bytes;
}

export interface OpenedHeader extends FileSecrets {
  layout: Layout;
  /** Lower-case hex. */
  totalSha256: string;
  epoch: number;
  metadata: Metadata;
}

/** An opened header without the key of the volumes. */
export type DescribedFile = Omit<OpenedHeader, 'fileKey'>;

/** A well-formed header, before any key was tried. @public */
export interface ParsedHeader extends VolumeSizes {
  text: Bytes;
  mac: Bytes;
  fileId: Bytes;
  /** Epoch of the master key that opens the header. */
  epoch: number;
  count: number;
  totalSha256: string;
  sealedFileKey: Bytes;
  sealedMetadata: Bytes;
}

/** Draws the id and key of a new file. @public */
export const newSecrets = (engine: Engine): FileSecrets => ({
  fileId: engine.random(16),
  fileKey: engine.random(32),
});

/** Derives the keys of a header from the master key. The file key would not do: shares give it away, and it must open only volumes. */
async function headerKeys(
  engine: Engine,
  master: Bytes,
  fileId: Bytes,
): Promise<{ mac: Bytes; seal: Bytes }> {
  const derived = await deriveKey(engine, master, labels.header, fileId, 64);
  return { mac: derived.subarray(0, 32), seal: derived.subarray(32) };
}

export interface HeaderParts extends FileSecrets {
  layout: Layout;
  totalSha256: string;
  master: Master;
  metadata: Metadata;
}

/**
 * Seals the header of a file.
 * @throws NameError if the name is too long @public
 */
export async function sealHeader(engine: Engine, parts: HeaderParts): Promise<EncParams> {
  const { fileId, fileKey, layout, totalSha256, master, metadata } = parts;
  const keys = await headerKeys(engine, master.key, fileId);
  const json: HeaderJson = {
    file_id: toBase64Url(fileId),
    epoch: master.epoch,
    volume_size: layout.volumeSize,
    ...(layout.lateVolumeSize !== layout.volumeSize && { late_volume_size: layout.lateVolumeSize }),
    volume_count: layout.count,
    total_sha256: totalSha256,
    ...(await sealedParts(engine, keys, fileKey, metadataText(metadata))),
  };
  return paramsOf(engine, keys.mac, json);
}

async function sealedParts(
  engine: Engine,
  keys: { seal: Bytes },
  fileKey: Bytes,
  metadata: Bytes,
): Promise<Pick<HeaderJson, 'file_key' | 'metadata'>> {
  return {
    file_key: toBase64Url(await seal(engine, keys.seal, labels.fileKey, fileKey)),
    metadata: toBase64Url(await seal(engine, keys.seal, labels.metadata, metadata)),
  };
}

async function paramsOf(engine: Engine, macKey: Bytes, json: object): Promise<EncParams> {
  const text = utf8(JSON.stringify(json));
  const params: EncParams = {
    szafa: VERSION,
    header: toBase64Url(text),
    mac: toBase64Url(await engine.hmac(macKey, text)),
  };
  if (encodeEncParams(params).length > limits.encParamsBase64Bytes) {
    throw new NameError('the file name is too long');
  }
  return params;
}

/**
 * Checks everything that needs no key.
 * @throws TamperedError at stage `params` or `header`; UnsupportedError for files of other clients and versions @public
 */
export function parseHeader(params: Record<string, unknown>): ParsedHeader {
  if (!('szafa' in params))
    throw new UnsupportedError('params', 'the file was made by another kind of client');
  if (params['szafa'] !== VERSION) {
    const version = JSON.stringify(params['szafa'])?.slice(0, 20);
    throw new UnsupportedError('version', `format version ${version} is unknown to this client`);
  }
  const text = bytesOf(params['header'], 'params', 'the header');
  const mac = bytesOf(params['mac'], 'params', 'the MAC', 32);
  const json = parseObject(text, 'header', 'the header') as Partial<HeaderJson>;
  if (!isWhole(json.epoch, 1, MOST_EPOCHS)) throw new TamperedError('header', 'the epoch is out of range');
  const { volume_size: volumeSize, volume_count: count, total_sha256: total } = json;
  const { late_volume_size: lateVolumeSize = volumeSize } = json;
  const sizes = { volumeSize: volumeSize!, lateVolumeSize: lateVolumeSize! };
  if (!areVolumeSizes(sizes)) throw new TamperedError('header', 'the volume size is out of range');
  if (!isWhole(count, 1, limits.volumesPerFile)) {
    throw new TamperedError('header', 'the number of volumes is out of range');
  }
  if (!isDigest(total)) throw new TamperedError('header', 'total_sha256 is not a digest');
  return {
    text,
    mac,
    fileId: bytesOf(json.file_id, 'header', 'file_id', 16),
    epoch: json.epoch,
    ...sizes,
    count,
    totalSha256: total,
    sealedFileKey: bytesOf(json.file_key, 'header', 'file_key'),
    sealedMetadata: bytesOf(json.metadata, 'header', 'metadata'),
  };
}

/** Returns the file id in a header, in base64url, unverified; undefined for other clients' files. */
export function fileIdIn(encParams: string): string | undefined {
  try {
    return toBase64Url(parseHeader(decodeEncParams(encParams)).fileId);
  } catch {
    return undefined;
  }
}

/**
 * Verifies and opens a header. The engine holds the file key.
 * @throws TamperedError at stage `mac`, `file-key` or `metadata` @public
 */
export async function openHeader(engine: Engine, parsed: ParsedHeader, master: Bytes): Promise<OpenedHeader> {
  const { text: _, ...opened } = await openClear(engine, parsed, master);
  return { ...opened, fileKey: await engine.hold(opened.fileKey) };
}

/**
 * Verifies a header and opens everything but the file key. Opening that costs as much as the rest, and only readers of volumes need it.
 */
export async function describeFile(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<DescribedFile> {
  const keys = await verifiedKeys(engine, parsed, master);
  const { text: _, ...described } = await openMetadata(engine, parsed, keys.seal);
  return described;
}

/** Opens a header with the file key and the text of the metadata in the clear. */
async function openClear(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<OpenedHeader & { text: Bytes }> {
  const keys = await verifiedKeys(engine, parsed, master);
  const fault: [Stage, string] = ['file-key', 'the file key does not open'];
  const fileKey = await unsealOrThrow(engine, keys.seal, labels.fileKey, parsed.sealedFileKey, fault);
  if (fileKey.length !== 32) throw new TamperedError(...fault);
  return { ...(await openMetadata(engine, parsed, keys.seal)), fileKey };
}

/** Verifies the MAC of a header. */
async function verifiedKeys(engine: Engine, parsed: ParsedHeader, master: Bytes): Promise<{ seal: Bytes }> {
  const keys = await headerKeys(engine, master, parsed.fileId);
  if (equal(await engine.hmac(keys.mac, parsed.text), parsed.mac)) return keys;
  throw new TamperedError('mac', 'the MAC of the header is wrong');
}

async function openMetadata(
  engine: Engine,
  parsed: ParsedHeader,
  key: Bytes,
): Promise<DescribedFile & { text: Bytes }> {
  const { fileId, count, totalSha256, epoch } = parsed;
  const fault: [Stage, string] = ['metadata', 'the metadata does not open'];
  const text = await unsealOrThrow(engine, key, labels.metadata, parsed.sealedMetadata, fault);
  const metadata = parseMetadata(text);
  const layout = layoutWith(parsed, metadata.size, metadata.padded);
  if (layout.count !== count) {
    throw new TamperedError('metadata', 'size, volume size and number of volumes do not match');
  }
  return { fileId, layout, totalSha256, epoch, metadata, text };
}

/** Opens a header with the file key in the clear, in order to share it. @public */
export async function openHeaderToShare(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<OpenedHeader> {
  const { text: _, ...opened } = await openClear(engine, parsed, master);
  return opened;
}

/** @public */
export interface ResealedHeader {
  encParams: EncParams;
  /** The header before the reseal. */
  before: OpenedHeader;
  /** The metadata in the new header; `rev` is one higher. */
  metadata: Metadata;
}

/** Fields that may change when a header is resealed. */
export type MetadataChange = Partial<Pick<Metadata, 'name' | 'gen' | 'thumbnail' | 'shared'>> &
  AttributesChange;

/**
 * Seals a header again, with changed metadata or under another master key. Unknown fields in header and metadata stay.
 * @param master the key that opens the header
 * @param next the key to seal it under
 * @throws TamperedError like `openHeader`; NameError if the new name is too long @public
 */
export async function resealHeader(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
  next: Master,
  change: (metadata: Metadata) => MetadataChange = () => ({}),
): Promise<ResealedHeader> {
  const { text: known, ...before } = await openClear(engine, parsed, master);
  const keys = await headerKeys(engine, next.key, before.fileId);
  const metadata = {
    ...parseObject(known, 'metadata', 'the metadata'),
    ...change(before.metadata),
    rev: before.metadata.rev + 1,
  };
  const sealed = metadataText(metadata as unknown as Metadata);
  const json = {
    ...parseObject(parsed.text, 'header', 'the header'),
    epoch: next.epoch,
    ...(await sealedParts(engine, keys, before.fileKey, sealed)),
  };
  before.fileKey.fill(0);
  return { encParams: await paramsOf(engine, keys.mac, json), before, metadata: parseMetadata(sealed) };
}
