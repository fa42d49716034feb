import { decodeEncParams, encodeEncParams, limits } from '@szafa/protocol';
import { type Master, MOST_EPOCHS } from './bag.ts';
import { type Bytes, equal, toBase64Url, utf8 } from './bytes.ts';
import { type Engine, labelBytes, labels } from './engine.ts';
import { NameError, TamperedError, UnsupportedError } from './errors.ts';
import { bytesOf, isWhole, parseObject, shownValue } from './json.ts';
import { areVolumeSizes, type Layout, layoutWith, type VolumeSizes } from './layout.ts';
import { type AttributesChange, checkMetadata, type Metadata, metadataText } from './metadata.ts';
import { seal, unseal } from './seal.ts';
import { VERSION } from './volume.ts';

/** What travels as enc_params, and comes back in X-Enc-Params. @public */
export interface EncParams {
  szafa: number;
  /** base64url of the header's JSON text. */
  header: string;
  /** base64url of HMAC-SHA256 over that text, so that nothing is ever serialised again. */
  mac: string;
}

/** The JSON text inside. */
interface HeaderJson {
  file_id: string;
  epoch: number;
  volume_size: number;
  /** Where it is another one. */
  late_volume_size?: number;
  volume_count: number;
  total_sha256: string;
  file_key: string;
  metadata: string;
}

/** The secrets of one file, opened or new. @public */
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

/** What a header tells, without the key of the volumes. */
export type DescribedFile = Omit<OpenedHeader, 'fileKey'>;

/** A header that parsed and whose numbers are sane, before any key was tried. @public */
export interface ParsedHeader extends VolumeSizes {
  text: Bytes;
  mac: Bytes;
  fileId: Bytes;
  /** Of the master key that opens it. */
  epoch: number;
  count: number;
  totalSha256: string;
  sealedFileKey: Bytes;
  sealedMetadata: Bytes;
}

export function newSecrets(engine: Engine): FileSecrets {
  return { fileId: engine.random(16), fileKey: engine.random(32) };
}

/**
 * Of everything that the owner alone may read or say about a file. The file key is no part of it: that one opens volumes only, and so
 * can be given away.
 */
async function headerKeys(
  engine: Engine,
  master: Bytes,
  fileId: Bytes,
): Promise<{ mac: Bytes; seal: Bytes }> {
  const derived = await engine.hkdf(master, fileId, labelBytes(labels.header), 64);
  return { mac: derived.subarray(0, 32), seal: derived.subarray(32) };
}

export interface HeaderParts extends FileSecrets {
  layout: Layout;
  totalSha256: string;
  master: Master;
  metadata: Metadata;
}

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
    throw new NameError('the file name is too long to be stored');
  }
  return params;
}

/** Everything that can be checked without a key. @public */
export function parseHeader(params: Record<string, unknown>): ParsedHeader {
  if (!('szafa' in params))
    throw new UnsupportedError('params', 'the file was made by another kind of client');
  if (params['szafa'] !== VERSION) {
    throw new UnsupportedError(
      'version',
      `format version ${shownValue(params['szafa'])} is unknown to this client`,
    );
  }
  const text = bytesOf(params['header'], 'params', 'the header');
  const mac = bytesOf(params['mac'], 'params', 'the MAC', 32);
  const json = parseObject(text, 'header', 'the header') as Partial<HeaderJson>;
  if (!isWhole(json.epoch, 1, MOST_EPOCHS)) throw new TamperedError('header', 'the epoch is out of range');
  const { volume_size: volumeSize, volume_count: count, total_sha256: total } = json;
  const { late_volume_size: lateVolumeSize = volumeSize } = json;
  const sizes = { volumeSize: volumeSize!, lateVolumeSize: lateVolumeSize! };
  if (!areVolumeSizes(sizes)) {
    throw new TamperedError('header', 'the volume size is out of range');
  }
  if (!Number.isInteger(count) || count! < 1 || count! > limits.volumesPerFile) {
    throw new TamperedError('header', 'the number of volumes is out of range');
  }
  if (typeof total !== 'string' || !/^[0-9a-f]{64}$/.test(total)) {
    throw new TamperedError('header', 'total_sha256 is not a digest');
  }
  return {
    text,
    mac,
    fileId: bytesOf(json.file_id, 'header', 'file_id', 16),
    epoch: json.epoch,
    ...sizes,
    count: count!,
    totalSha256: total,
    sealedFileKey: bytesOf(json.file_key, 'header', 'file_key'),
    sealedMetadata: bytesOf(json.metadata, 'header', 'metadata'),
  };
}

/** The file id that a header names, in base64url, without a look at anything else; undefined where it is none of ours. */
export function fileIdIn(encParams: string): string | undefined {
  try {
    const { fileId } = parseHeader(decodeEncParams(encParams));
    return toBase64Url(fileId);
  } catch {
    return undefined; // it opens for nobody, or belongs to another client
  }
}

/** MAC, file key, metadata, and that they agree with each other. @public */
export async function openHeader(engine: Engine, parsed: ParsedHeader, master: Bytes): Promise<OpenedHeader> {
  const { text: _, ...opened } = await openClear(engine, parsed, master);
  return { ...opened, fileKey: await engine.hold(opened.fileKey) };
}

/** The same without the file key, for whoever reads no volume: its seal is under the MAC, and costs as much as the rest. */
export async function describeFile(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<DescribedFile> {
  const keys = await verifiedKeys(engine, parsed, master);
  const { text: _, ...described } = await openMetadata(engine, parsed, keys.seal);
  return described;
}

/** The same with the file key, and the text of the metadata, in the clear. */
async function openClear(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<OpenedHeader & { text: Bytes }> {
  const keys = await verifiedKeys(engine, parsed, master);
  const opened = await unseal(engine, keys.seal, labels.fileKey, parsed.sealedFileKey);
  if (!('plain' in opened) || opened.plain.length !== 32) {
    throw new TamperedError('file-key', 'the file key does not open');
  }
  return { ...(await openMetadata(engine, parsed, keys.seal)), fileKey: opened.plain };
}

/** Keys under which the header is its owner's. */
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
  const sealed = await unseal(engine, key, labels.metadata, parsed.sealedMetadata);
  if (!('plain' in sealed)) throw new TamperedError('metadata', 'the metadata does not open');
  const metadata = checkMetadata(sealed.plain);
  const layout = layoutWith(parsed, metadata.size, metadata.padded);
  if (layout.count !== count) {
    throw new TamperedError('metadata', 'size, volume size and number of volumes do not match');
  }
  return { fileId, layout, totalSha256, epoch, metadata, text: sealed.plain };
}

/** The same with the file key in the clear, for whoever gives it to others. @public */
export async function openToShare(
  engine: Engine,
  parsed: ParsedHeader,
  master: Bytes,
): Promise<OpenedHeader> {
  const { text: _, ...opened } = await openClear(engine, parsed, master);
  return opened;
}

/** A header that was sealed anew, and what it says. @public */
export interface ResealedHeader {
  encParams: EncParams;
  /** As it was before. */
  before: OpenedHeader;
  /** As it is now: `rev` is one more. */
  metadata: Metadata;
}

/** What may be another one when a header is sealed again. */
export type MetadataChange = Partial<Pick<Metadata, 'name' | 'gen' | 'thumbnail' | 'shared'>> &
  AttributesChange;

/**
 * The same header with another name, or under another master key. What this client does not know, in the header and in the metadata,
 * stays as it is. @public
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
  return { encParams: await paramsOf(engine, keys.mac, json), before, metadata: checkMetadata(sealed) };
}
