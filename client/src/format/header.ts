import { encodeEncParams, limits } from '@szafa/protocol';
import { NameError, type Stage, TamperedError, UnsupportedError } from '../errors.ts';
import { type Bytes, equal, fromBase64Url, fromUtf8, toBase64Url, utf8 } from './bytes.ts';
import { EMPTY, type Engine, labels } from './engine.ts';
import { areVolumeSizes, type Layout, layoutWith, type VolumeSizes } from './layout.ts';
import { checkMetadata, type Metadata } from './metadata.ts';
import { type Ring, type RingJson, ringFromJson, ringToJson } from './ring.ts';
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
  volume_size: number;
  /** Where it is another one. */
  late_volume_size?: number;
  volume_count: number;
  total_sha256: string;
  ring: RingJson;
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
  ring: Ring;
  metadata: Metadata;
}

/** A header that parsed and whose numbers are sane, before any key was tried. @public */
export interface ParsedHeader extends VolumeSizes {
  text: Bytes;
  mac: Bytes;
  fileId: Bytes;
  count: number;
  totalSha256: string;
  ring: Ring;
  sealedFileKey: Bytes;
  sealedMetadata: Bytes;
}

export function newSecrets(engine: Engine): FileSecrets {
  return { fileId: engine.random(16), fileKey: engine.random(32) };
}

export async function macOf(engine: Engine, fileKey: Bytes, text: Bytes): Promise<Bytes> {
  return engine.hmac(await engine.hkdf(fileKey, EMPTY, utf8(labels.mac), 32), text);
}

export interface HeaderParts extends FileSecrets {
  layout: Layout;
  totalSha256: string;
  ring: Ring;
  master: Bytes;
  metadata: Metadata;
}

export async function sealHeader(engine: Engine, parts: HeaderParts): Promise<EncParams> {
  const { fileId, fileKey, layout, totalSha256, ring, master, metadata } = parts;
  const json: HeaderJson = {
    file_id: toBase64Url(fileId),
    volume_size: layout.volumeSize,
    ...(layout.lateVolumeSize !== layout.volumeSize && { late_volume_size: layout.lateVolumeSize }),
    volume_count: layout.count,
    total_sha256: totalSha256,
    ring: ringToJson(ring),
    file_key: toBase64Url(await seal(engine, master, labels.fileKey, fileKey)),
    metadata: toBase64Url(await seal(engine, fileKey, labels.metadata, utf8(JSON.stringify(metadata)))),
  };
  const text = utf8(JSON.stringify(json));
  const params: EncParams = {
    szafa: VERSION,
    header: toBase64Url(text),
    mac: toBase64Url(await macOf(engine, fileKey, text)),
  };
  if (encodeEncParams(params).length > limits.encParamsBase64Bytes) {
    throw new NameError('the file name is too long to be stored');
  }
  return params;
}

function bytesOf(value: unknown, stage: Stage, what: string, length?: number): Bytes {
  let bytes: Bytes;
  try {
    bytes = fromBase64Url(value as string);
  } catch (cause) {
    throw new TamperedError(stage, `${what} is not base64url`, { cause });
  }
  if (length !== undefined && bytes.length !== length) {
    throw new TamperedError(stage, `${what} has a wrong length`);
  }
  return bytes;
}

export function parseHeader(params: Record<string, unknown>): ParsedHeader {
  if (!('szafa' in params))
    throw new UnsupportedError('params', 'the file was made by another kind of client');
  if (params['szafa'] !== VERSION) {
    throw new UnsupportedError(
      'version',
      `format version ${String(params['szafa'])} is unknown to this client`,
    );
  }
  const text = bytesOf(params['header'], 'params', 'the header');
  const mac = bytesOf(params['mac'], 'params', 'the MAC', 32);
  let json: Partial<HeaderJson>;
  try {
    json = JSON.parse(fromUtf8(text)) as Partial<HeaderJson>;
  } catch (cause) {
    throw new TamperedError('header', 'the header is not JSON', { cause });
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new TamperedError('header', 'the header is not a JSON object');
  }
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
    ...sizes,
    count: count!,
    totalSha256: total,
    sealedFileKey: bytesOf(json.file_key, 'header', 'file_key'),
    sealedMetadata: bytesOf(json.metadata, 'header', 'metadata'),
    // Last: its limits are a stage of their own, after the shape of everything.
    ring: ringFromJson(json.ring),
  };
}

/** Everything after the ring: file key, MAC, metadata, and that they agree with each other. @public */
export async function openHeader(engine: Engine, parsed: ParsedHeader, master: Bytes): Promise<OpenedHeader> {
  const { fileId, count, totalSha256, ring } = parsed;
  const opened = await unseal(engine, master, labels.fileKey, parsed.sealedFileKey);
  if (!('plain' in opened) || opened.plain.length !== 32) {
    throw new TamperedError('file-key', 'the file key does not open');
  }
  const fileKey = await engine.hold(opened.plain);
  if (!equal(await macOf(engine, fileKey, parsed.text), parsed.mac)) {
    throw new TamperedError('mac', 'the MAC of the header is wrong');
  }
  const sealed = await unseal(engine, fileKey, labels.metadata, parsed.sealedMetadata);
  if (!('plain' in sealed)) throw new TamperedError('metadata', 'the metadata does not open');
  const metadata = checkMetadata(sealed.plain);
  const layout = layoutWith(parsed, metadata.size, metadata.padded);
  if (layout.count !== count) {
    throw new TamperedError('metadata', 'size, volume size and number of volumes do not match');
  }
  return { fileId, fileKey, layout, totalSha256, ring, metadata };
}
