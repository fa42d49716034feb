/** Vectors of links: what they look like, and what reads and writes them. */
import { SzafaError, TamperedError, UnsupportedError } from '../../client/src/errors.ts';
import {
  type Bytes,
  type Engine,
  fromBase64Url,
  linkAccess,
  linkKeyText,
  openLink,
  parseLinkHeader,
  parseLinkKey,
  type ShareContent,
  type SharedFile,
  sealLink,
  toBase64Url,
} from '../src/index.ts';
import { layoutWith } from '../src/layout.ts';

export interface LinkFileJson {
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

export interface LinkJson {
  files: LinkFileJson[];
  note?: string;
}

export interface LinkVector {
  name: string;
  about: string;
  /** Behind the # of the link. */
  fragment: string;
  passphrase?: string;
  /** Absent where the text has this file many times: it would be too long here, and a reader's test makes it. */
  header?: string;
  many?: { file: LinkFileJson; times: number };
  /** What a writer draws, in this order, for the same header; hex. */
  random?: string[];
  expect: { access: string; content: LinkJson } | { code: string; stage?: string };
}

/** An engine that draws these. */
export const own = (engine: Engine, random: Engine['random']): Engine => ({ ...engine, random });

export function jsonOfFile(file: SharedFile): LinkFileJson {
  const { fileId, fileKey, layout, totalSha256, name, mtime, type, thumbnail, link } = file;
  return {
    file_id: toBase64Url(fileId),
    file_key: toBase64Url(fileKey),
    name,
    size: layout.size,
    ...(layout.padded !== layout.size && { padded: layout.padded }),
    volume_size: layout.volumeSize,
    ...(layout.lateVolumeSize !== layout.volumeSize && { late_volume_size: layout.lateVolumeSize }),
    volume_count: layout.count,
    total_sha256: totalSha256,
    ...(mtime !== undefined && { mtime }),
    ...(type !== undefined && { type }),
    ...(thumbnail !== undefined && { thumbnail }),
    ...(link !== undefined && { link }),
  };
}

export function fileOfJson(file: LinkFileJson): SharedFile {
  return {
    fileId: fromBase64Url(file.file_id),
    fileKey: fromBase64Url(file.file_key),
    name: file.name,
    layout: layoutWith(
      { volumeSize: file.volume_size, lateVolumeSize: file.late_volume_size ?? file.volume_size },
      file.size,
      file.padded,
    ),
    totalSha256: file.total_sha256,
    ...(file.mtime !== undefined && { mtime: file.mtime }),
    ...(file.type !== undefined && { type: file.type }),
    ...(file.thumbnail !== undefined && { thumbnail: file.thumbnail }),
    ...(file.link !== undefined && { link: file.link }),
  };
}

const jsonOf = ({ files, note }: ShareContent): LinkJson => ({
  files: files.map(jsonOfFile),
  ...(note !== undefined && { note }),
});

/** With keys in the clear, which are compared. */
const clear = (engine: Engine): Engine => ({ ...engine, hold: (key) => key });

async function headerOf(engine: Engine, { header, many, random = [] }: LinkVector): Promise<Bytes> {
  if (!many) return fromBase64Url(header!);
  const drawn = random.map((hex) => Uint8Array.fromHex(hex) as Bytes);
  const files = Array<SharedFile>(many.times).fill(fileOfJson(many.file));
  return (
    await sealLink(
      own(engine, () => drawn.shift()!),
      { files },
    )
  ).header;
}

export async function runLink(engine: Engine, vector: LinkVector): Promise<LinkVector['expect']> {
  const { passphrase } = vector;
  try {
    const key = parseLinkKey(vector.fragment);
    if (!key) return { code: 'fragment' };
    const parsed = await parseLinkHeader(engine, await headerOf(engine, vector), key);
    const content = jsonOf(await openLink(clear(engine), parsed, key, passphrase));
    if (vector.many?.times === content.files.length) content.files.length = 1;
    return { access: toBase64Url(await linkAccess(engine, key)), content };
  } catch (error) {
    if (error instanceof TamperedError || error instanceof UnsupportedError) {
      return { code: error.code, stage: error.stage };
    }
    if (error instanceof SzafaError) return { code: error.code };
    throw error;
  }
}

/** The header and the fragment that the client makes of the same things. */
export async function runLinkWriter(
  engine: Engine,
  { random = [], passphrase, expect }: LinkVector,
): Promise<{ fragment: string; header: string }> {
  if (!('content' in expect)) throw new TypeError('a writer has no fault');
  const drawn = random.map((hex) => Uint8Array.fromHex(hex) as Bytes);
  const { files, note } = expect.content;
  const content: ShareContent = {
    files: files.map(fileOfJson),
    ...(note !== undefined && { note }),
  };
  const { header, key } = await sealLink(
    own(engine, () => drawn.shift()!),
    content,
    passphrase,
  );
  return { fragment: linkKeyText(key), header: toBase64Url(header) };
}
