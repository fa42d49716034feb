/** What a share gives away of each file, whichever way it is sealed: what opens the volumes, and no more. */
import { limits } from '@szafa/protocol';
import { type Bytes, toBase64Url, utf8, withBlanks } from './bytes.ts';
import { TamperedError } from './errors.ts';
import type { FileSecrets } from './header.ts';
import { bytesOf, isObject, isWhole, parseObject } from './json.ts';
import { areVolumeSizes, type Layout, layoutWith } from './layout.ts';

/** A file of a share. @public */
export interface SharedFile extends FileSecrets {
  /** Relative to what was shared; `/` parts a path, and one that ends with it is an empty folder. Clean it before use. */
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
  /** Target of a symbolic link; empty where that leads out of what is shared, and is nobody's business. */
  link?: string;
}

/** What is under the seal of a share. @public */
export interface ShareContent {
  /** In the order in which the service has them. */
  files: SharedFile[];
  /** What the owner says about it. */
  note?: string;
}

/** No path of an owner is longer, whose header has to fit into enc_params. */
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

/** With blanks behind it. */
const paddedText = (json: object): Bytes => withBlanks(utf8(JSON.stringify(json)));

export function contentText({ files, note }: ShareContent): Bytes {
  return paddedText({ files: files.map(jsonOf), ...(note !== undefined && { note }) });
}

/** Of one file, as a visitor gives it. */
export const fileText = (file: SharedFile): Bytes => paddedText(jsonOf(file));

export const parseFile = (text: Uint8Array): SharedFile => fileOf(parseObject(text, 'share', 'the file'));

const malformed = (what: string) => new TamperedError('share', `${what} in the share is malformed`);
const isDigest = (value: unknown): value is string =>
  typeof value === 'string' && /^[0-9a-f]{64}$/.test(value);

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
  // Nobody draws them: no engine seals or opens anything with such a key.
  if (fileKey.every((byte) => byte === 0)) throw malformed('file_key');
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

/** Unknown keys are left to later versions of a client. */
export function parseContent(text: Uint8Array): ShareContent {
  const { files, note } = parseObject(text, 'share', 'the share');
  if (!Array.isArray(files) || files.length === 0 || files.length > limits.shareFiles)
    throw malformed('files');
  if (note !== undefined && typeof note !== 'string') throw malformed('note');
  return { files: files.map(fileOf), ...(note !== undefined && { note }) };
}
