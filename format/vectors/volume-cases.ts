import { createCipheriv, createHash, hkdfSync } from 'node:crypto';
import type { Change, VolumeSpot, VolumeVector } from './kinds.ts';

const SEGMENT = 262_144;
const HEAD = 56;
const TAG = 16;
const STRIDE = SEGMENT + TAG;
/** Volumes up to this size stand in the vectors; of the others only the digest does. */
const SHORT = 400;

const sha256 = (data: Uint8Array | string) => createHash('sha256').update(data).digest();

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** A volume by docs/format.md, made with Node's own primitives and nothing of the client. */
export function sealVolume(
  fileKey: Uint8Array,
  fileId: Uint8Array,
  salt: Uint8Array,
  idx: number,
  isLast: boolean,
  plain: Uint8Array,
): Buffer {
  const info = Buffer.concat([Buffer.from('szafa/v1/volume'), fileId, u32(idx)]);
  const derived = Buffer.from(hkdfSync('sha256', fileKey, salt, info, 64));
  const parts = [salt, derived.subarray(32)];
  const count = Math.max(1, Math.ceil(plain.length / SEGMENT));
  for (let j = 0; j < count; j++) {
    const last = j < count - 1 ? 0 : isLast ? 1 : 2;
    const nonce = Buffer.concat([u32(j), Buffer.alloc(7), Uint8Array.of(last)]);
    const cipher = createCipheriv('aes-256-gcm', derived.subarray(0, 32), nonce);
    cipher.setAAD(Buffer.concat([Uint8Array.of(1), fileId, u32(idx)]));
    parts.push(cipher.update(plain.subarray(j * SEGMENT, (j + 1) * SEGMENT)), cipher.final());
    parts.push(cipher.getAuthTag());
  }
  return Buffer.concat(parts);
}

interface Case {
  name: string;
  about: string;
  length: number;
  idx?: number;
  isLast?: boolean;
  changes?: Change[];
  read?: Partial<VolumeSpot>;
  expect?: VolumeVector['expect'];
}

const good = (name: string, about: string, length: number, more: Partial<Case> = {}): Case => ({
  ...{ name, about, length, ...more },
});
const bad = (
  expect: VolumeVector['expect'],
  name: string,
  about: string,
  length: number,
  fault: Pick<Case, 'changes' | 'read' | 'isLast'>,
): Case => ({ name, about, length, ...fault, expect });

const THREE = 2 * SEGMENT + 1000;
const sealedSize = (length: number) => HEAD + length + TAG * Math.max(1, Math.ceil(length / SEGMENT));
const END = sealedSize(THREE);

const goodCases: Case[] = [
  good('empty', 'the one volume of an empty file', 0),
  good('one-byte', 'one byte', 1),
  good('short', 'one short segment, the last of the file', 100),
  good('short-followed', 'one short segment, and more volumes follow', 100, { isLast: false }),
  good('far', 'volume 10,000', 100, { idx: 10_000 }),
  good('segment-less-one', 'a segment but for a byte', SEGMENT - 1),
  good('segment', 'exactly one segment', SEGMENT),
  good('segment-and-one', 'a segment and a byte', SEGMENT + 1),
  good('two-segments', 'exactly two segments', 2 * SEGMENT, { isLast: false }),
  good('three-segments', 'the last of three segments is shorter', THREE),
];

const badCases: Case[] = [
  ...(
    [
      ['salt', 0, 'commitment'],
      ['commitment', 24, 'commitment'],
      ['commitment-end', 55, 'commitment'],
      ['first-segment', HEAD, 'tag'],
      ['first-tag', HEAD + STRIDE - 1, 'tag'],
      ['second-segment', HEAD + STRIDE, 'tag'],
      ['last-segment', HEAD + 2 * STRIDE, 'tag'],
      ['last-tag', END - 1, 'tag'],
    ] as const
  ).map(([name, flip, expect]) =>
    bad(expect, `flip-${name}`, `a bit, ${name}`, THREE, { changes: [{ flip }] }),
  ),
  bad('length', 'cut-byte', 'the last byte is missing', THREE, { changes: [{ cut: END - 1 }] }),
  bad('length', 'cut-segment', 'the last segment is missing, and the reader knows the length', THREE, {
    changes: [{ cut: HEAD + 2 * STRIDE }],
  }),
  bad('tag', 'cut-segment-length', 'the last segment is missing, and the length is given to fit', THREE, {
    changes: [{ cut: HEAD + 2 * STRIDE }],
    read: { length: 2 * SEGMENT },
  }),
  bad('length', 'cut-head', 'only salt and commitment', THREE, { changes: [{ cut: HEAD }] }),
  bad('length', 'cut-all', 'nothing at all', 100, { changes: [{ cut: 0 }] }),
  bad('length', 'longer', 'a byte more', THREE, { changes: [{ add: 1 }] }),
  bad('tag', 'longer-length', 'zeros behind it, and a length that is given to fit', 100, {
    changes: [{ add: 10 }],
    read: { length: 110 },
  }),
  bad('length', 'empty-segment', 'an empty segment behind a whole one', SEGMENT, { changes: [{ add: TAG }] }),
  bad('tag', 'segments-swapped', 'the first two segments change places', THREE, {
    changes: [{ swap: [HEAD, HEAD + STRIDE, STRIDE] }],
  }),
  bad('tag', 'segment-repeated', 'the first segment again as the second', THREE, {
    changes: [{ copy: [HEAD, HEAD + STRIDE, STRIDE] }],
  }),
  bad('tag', 'tags-swapped', 'the tags of the first two segments change places', THREE, {
    changes: [{ swap: [HEAD + SEGMENT, HEAD + STRIDE + SEGMENT, TAG] }],
  }),
  bad('tag', 'not-the-end', 'written as the last volume, and the reader knows of more', 100, {
    read: { is_last: false },
  }),
  bad('tag', 'not-the-end-long', 'the same with three segments', THREE, { read: { is_last: false } }),
  bad('tag', 'end', 'written with more to follow, and read as the last', 100, {
    isLast: false,
    read: { is_last: true },
  }),
  bad('commitment', 'other-number', 'volume 1 as volume 2', 100, { read: { idx: 2 } }),
  bad('commitment', 'other-file', 'a volume of another file', 100, { read: { file_id: '00'.repeat(16) } }),
];

export const volumes: VolumeVector[] = [...goodCases, ...badCases].map(
  ({ name, about, length, idx = 1, isLast = true, changes, read, expect = 'opens' }) => {
    const fixed = (label: string, bytes: number) => sha256(`${name} ${label}`).subarray(0, bytes);
    const [fileKey, fileId, salt] = [fixed('file key', 32), fixed('file id', 16), fixed('salt', 24)];
    const plain = Uint8Array.from({ length }, (_, k) => k % 251);
    const volume = sealVolume(fileKey, fileId, salt, idx, isLast, plain);
    return {
      name,
      about,
      file_key: fileKey.toString('hex'),
      salt: salt.toString('hex'),
      written: { file_id: fileId.toString('hex'), idx, is_last: isLast, length },
      sha256: sha256(volume).toString('hex'),
      ...(volume.length <= SHORT && { sealed: volume.toString('base64url') }),
      ...(changes && { changes }),
      ...(read && { read }),
      expect,
    };
  },
);
