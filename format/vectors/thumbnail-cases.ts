/** Thumbnails, made from docs/format.md with Node's own primitives and nothing of the client. */
import type { ThumbnailVector } from './thumbnail-vectors.ts';
import { fixedFor, hex, hkdf, seal, sha256 } from './writer-cases.ts';

const LABEL = 'szafa/v1/thumb';
const drawn = fixedFor('thumbnails');
const [fileKey, fileId] = [drawn('file key', 32), drawn('file id', 16)];

interface Case extends Pick<ThumbnailVector, 'changes' | 'read' | 'set'> {
  name: string;
  /** Of the picture, and of the plaintext around it. */
  length: number;
  size: number;
  /** What the first four bytes say, where that is something else. */
  says?: number;
  expect?: ThumbnailVector['expect'];
}

function vector({
  name,
  length,
  size,
  says = length,
  set,
  expect = 'opens',
  ...rest
}: Case): ThumbnailVector {
  const plain = Buffer.alloc(size);
  plain.writeUInt32BE(says);
  for (let at = 0; at < length; at++) plain[4 + at] = at % 251;
  if (set !== undefined) plain[set] = 1;
  const r = drawn(`r of ${name}`, 24);
  const sealed = seal(hkdf(fileKey, fileId, LABEL, 32), LABEL, plain, r);
  return {
    ...{ name, file_key: hex(fileKey), file_id: hex(fileId), r: hex(r), length, size },
    ...(says !== length && { says }),
    ...(set !== undefined && { set }),
    ...{ sha256: hex(sha256(sealed)), ...rest, expect },
  };
}

const [K8, K16, K32] = [8192, 16_384, 32_768];
const small = { length: 100, size: K8 };
const refused = { ...small, expect: 'refused' as const };

export const thumbnails: ThumbnailVector[] = [
  { name: 'good-empty', length: 0, size: K8 },
  { name: 'good', ...small },
  { name: 'good-8-full', length: K8 - 4, size: K8 },
  { name: 'good-16', length: K8 - 3, size: K16 },
  { name: 'good-16-full', length: K16 - 4, size: K16 },
  { name: 'good-32', length: K16 - 3, size: K32 },
  { name: 'good-32-full', length: K32 - 4, size: K32 },
  { name: 'random', ...refused, changes: [{ flip: 0 }] },
  { name: 'commitment', ...refused, changes: [{ flip: 24 }] },
  { name: 'first-byte', ...refused, changes: [{ flip: 56 }] },
  { name: 'tag', ...refused, changes: [{ flip: 72 + K8 - 1 }] },
  { name: 'cut', ...refused, changes: [{ cut: 72 + K8 - 1 }] },
  { name: 'longer', ...refused, changes: [{ add: 1 }] },
  { name: 'too-short', ...refused, changes: [{ cut: 71 }] },
  { name: 'empty', ...refused, changes: [{ cut: 0 }] },
  { name: 'other-file-key', ...refused, read: { file_key: hex(drawn('other key', 32)) } },
  { name: 'other-file-id', ...refused, read: { file_id: hex(drawn('other id', 16)) } },
  { name: 'padding-first', ...refused, set: 104 },
  { name: 'padding-last', ...refused, set: K8 - 1 },
  { name: 'says-less', ...refused, says: 99 },
  { name: 'says-too-much', ...refused, says: K8 - 3 },
  { name: 'says-most', ...refused, says: 2 ** 32 - 1 },
  { name: 'size-between', ...refused, size: K8 + 1 },
  { name: 'size-larger', ...refused, size: 2 * K32 },
  { name: 'size-less', ...refused, size: 104 },
].map((one) => vector(one as Case));
