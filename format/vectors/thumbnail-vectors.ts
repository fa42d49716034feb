import type { Bytes, Engine } from '../../client/src/index.ts';
import { utf8 } from '../src/bytes.ts';
import { labels } from '../src/engine.ts';
import { seal } from '../src/index.ts';
import { openThumbnail, sealThumbnail } from '../src/thumbnail.ts';
import type { Change } from './kinds.ts';
import { changed } from './vectors.ts';

/** A thumbnail as a writer seals it, and what a reader makes of it. */
export interface ThumbnailVector {
  name: string;
  /** In hex, as `r`, which the seal draws. */
  file_key: string;
  file_id: string;
  r: string;
  /** Of the picture, whose byte k is k mod 251, and of the plaintext with length and zeros. */
  length: number;
  size: number;
  /** What the four bytes before the picture say, where that is not its length. */
  says?: number;
  /** A byte of the plaintext that is 1. */
  set?: number;
  /** Of what is sealed. */
  sha256: string;
  changes?: Change[];
  /** What the reader has, where it differs. */
  read?: { file_key?: string; file_id?: string };
  expect: 'opens' | 'refused';
}

const secretsOf = ({ file_key, file_id }: Pick<ThumbnailVector, 'file_key' | 'file_id'>) => ({
  fileKey: Uint8Array.fromHex(file_key),
  fileId: Uint8Array.fromHex(file_id),
});

function plainOf({ length, size, says = length, set }: ThumbnailVector): Bytes {
  const plain = new Uint8Array(size);
  new DataView(plain.buffer).setUint32(0, says);
  for (let at = 0; at < length; at++) plain[4 + at] = at % 251;
  if (set !== undefined) plain[set] = 1;
  return plain;
}

/** Seals it, as the client does where nothing is wrong with the plaintext, and opens it. */
export async function runThumbnail(
  engine: Engine,
  vector: ThumbnailVector,
): Promise<Pick<ThumbnailVector, 'sha256' | 'expect'>> {
  const drawing: Engine = { ...engine, random: () => Uint8Array.fromHex(vector.r) };
  const { fileKey, fileId } = secretsOf(vector);
  const plain = plainOf(vector);
  const picture = plain.slice(4, 4 + vector.length);
  const key = await engine.hkdf(fileKey, fileId, utf8(labels.thumb), 32);
  const sealed =
    vector.expect === 'opens'
      ? await sealThumbnail(drawing, { fileKey, fileId }, picture)
      : await seal(drawing, key, labels.thumb, plain);
  const sha256 = (await engine.sha256(sealed)).toHex();
  const given = (vector.changes ?? []).reduce(changed, sealed);
  const opened = await openThumbnail(engine, secretsOf({ ...vector, ...vector.read }), given);
  const isSame = opened?.length === picture.length && opened.every((byte, at) => byte === picture[at]);
  if (opened && !isSame) throw new Error(`${vector.name}: another picture`);
  return { sha256, expect: opened ? 'opens' : 'refused' };
}
