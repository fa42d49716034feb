/** The content of a share, which opens its files' volumes and nothing else, and the owner's record of a share. */
import { limits } from '@szafa/protocol';
import type { Master } from '../bag.ts';
import { type Bytes, concat, isZero, padText, readU32, toBase64Url, u32, utf8 } from '../bytes.ts';
import { type Engine, labels } from '../engine.ts';
import { TamperedError } from '../errors.ts';
import type { FileSecrets } from '../header.ts';
import { bytesOf, isDigest, isObject, isWhole, parseObject } from '../json.ts';
import { areVolumeSizes, type Layout, layoutWith } from '../layout.ts';
import { SEAL_OVERHEAD, seal, unsealOrThrow } from '../seal.ts';

/** A file of a share. @public */
export interface SharedFile extends FileSecrets {
  /** Path relative to the shared folder, separated by `/`. A trailing `/` marks an empty folder. Sanitise it before use. */
  name: string;
  layout: Layout;
  /** Lower-case hex. */
  totalSha256: string;
  /** Last modification, in milliseconds since 1970. */
  mtime?: number;
  /** Media type. */
  type?: string;
  /** SHA-256 of the sealed thumbnail, in hex. */
  thumbnail?: string;
  /** Target of a symbolic link; empty if the target is outside the share, to keep it private. */
  link?: string;
}

/** The sealed content of a share. @public */
export interface ShareContent {
  /** In the same order as the server's list. */
  files: SharedFile[];
  /** The owner's message. */
  note?: string;
}

/** Headers must fit into enc_params, so no path can be longer. */
const NAME_BYTES = 8192;
const { MIN_SAFE_INTEGER: LEAST, MAX_SAFE_INTEGER: MOST } = Number;

interface FileJson {
  file_id: string;
  file_key: string;
  name: string;
  size: number;
  padded?: number;
  volume_size: number;
  late_volume_size?: number;
  volume_count: number;
  total_sha256: string;
  mtime?: number;
  type?: string;
  thumbnail?: string;
  link?: string;
}

function jsonOf(file: SharedFile): FileJson {
  const { layout, mtime, type, thumbnail, link } = file;
  return {
    file_id: toBase64Url(file.fileId),
    file_key: toBase64Url(file.fileKey),
    name: file.name,
    size: layout.size,
    ...(layout.padded !== layout.size && { padded: layout.padded }),
    volume_size: layout.volumeSize,
    ...(layout.lateVolumeSize !== layout.volumeSize && { late_volume_size: layout.lateVolumeSize }),
    volume_count: layout.count,
    total_sha256: file.totalSha256,
    ...(mtime !== undefined && { mtime }),
    ...(type !== undefined && { type }),
    ...(thumbnail !== undefined && { thumbnail }),
    ...(link !== undefined && { link }),
  };
}

const paddedText = (json: object): Bytes => padText(utf8(JSON.stringify(json)));

export const contentText = ({ files, note }: ShareContent): Bytes =>
  paddedText({ files: files.map(jsonOf), ...(note !== undefined && { note }) });

/** Returns the text of one file, for a delivery. */
export const fileText = (file: SharedFile): Bytes => paddedText(jsonOf(file));

export const parseFile = (text: Uint8Array): SharedFile => fileOf(parseObject(text, 'share', 'the file'));

const malformed = (what: string) => new TamperedError('share', `${what} in the share is malformed`);

function fileOf(json: unknown): SharedFile {
  if (!isObject(json)) throw malformed('a file');
  const { name, size, padded = size, volume_size: volumeSize, volume_count: count } = json;
  const { late_volume_size: lateVolumeSize = volumeSize, total_sha256: totalSha256 } = json;
  const { mtime, type, thumbnail, link } = json;
  if (typeof name !== 'string' || name === '' || name.includes('\0') || utf8(name).length > NAME_BYTES)
    throw malformed('a name');
  if (!isWhole(size, 0, MOST) || !isWhole(padded, size, MOST)) throw malformed('a size');
  const sizes = { volumeSize: volumeSize as number, lateVolumeSize: lateVolumeSize as number };
  if (!areVolumeSizes(sizes)) throw malformed('a volume size');
  if (!isWhole(count, 1, limits.volumesPerFile)) throw malformed('a number of volumes');
  if (!isDigest(totalSha256)) throw malformed('total_sha256');
  if (mtime !== undefined && !isWhole(mtime, LEAST, MOST)) throw malformed('mtime');
  if (type !== undefined && typeof type !== 'string') throw malformed('type');
  if (thumbnail !== undefined && !isDigest(thumbnail)) throw malformed('thumbnail');
  if (link !== undefined && (typeof link !== 'string' || size > 0)) throw malformed('link');
  const layout = layoutWith(sizes, size, padded);
  if (layout.count !== count) throw malformed('a number of volumes');
  const fileKey = bytesOf(json['file_key'], 'share', 'file_key', 32);
  // Engines refuse a key of zeros.
  if (isZero(fileKey)) throw malformed('file_key');
  return {
    fileId: bytesOf(json['file_id'], 'share', 'file_id', 16),
    fileKey,
    name,
    layout,
    totalSha256,
    ...(mtime !== undefined && { mtime }),
    ...(type !== undefined && { type }),
    ...(thumbnail !== undefined && { thumbnail }),
    ...(link !== undefined && { link }),
  };
}

/**
 * Parses the content of a share. Drops unknown fields.
 * @throws TamperedError at stage `share`
 */
export function parseContent(text: Uint8Array): ShareContent {
  const { files, note } = parseObject(text, 'share', 'the share');
  if (!Array.isArray(files) || files.length === 0 || files.length > limits.shareFiles)
    throw malformed('files');
  if (note !== undefined && typeof note !== 'string') throw malformed('note');
  return { files: files.map(fileOf), ...(note !== undefined && { note }) };
}

const EPOCH = 4;

/** Includes the id, so that the server cannot present the record of one share as that of another. */
const recordLabel = (id: string) => `${labels.ownShare}/${id}`;
const foreignRecord = "the server's record of this share is not yours";

/**
 * Seals the owner's record of a share or request. The server stores it so that all devices can show the link again.
 * @returns u32(epoch) ‖ seal @public
 */
export async function sealShareRecord(
  engine: Engine,
  master: Master,
  id: string,
  record: object,
): Promise<Bytes> {
  return concat(u32(master.epoch), await seal(engine, master.key, recordLabel(id), paddedText(record)));
}

/**
 * Returns the epoch of the master key that opens a record.
 * @throws TamperedError at stage `share` if it is too short @public
 */
export function epochOfShareRecord(sealed: Bytes): number {
  if (sealed.length < EPOCH + SEAL_OVERHEAD) throw new TamperedError('share', foreignRecord);
  return readU32(sealed, 0);
}

/**
 * Opens the owner's record of a share. Does not check its fields.
 * @throws TamperedError at stage `share` if it was sealed by another account or for another share @public
 */
export async function openShareRecord(
  engine: Engine,
  master: Bytes,
  id: string,
  sealed: Bytes,
): Promise<Record<string, unknown>> {
  const fault: ['share', string] = ['share', foreignRecord];
  const text = await unsealOrThrow(engine, master, recordLabel(id), sealed.slice(EPOCH), fault);
  return parseObject(text, 'share', "the server's record of the share");
}
