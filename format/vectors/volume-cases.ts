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

const THREE = 2 * SEGMENT + 1000;
const sealedSize = (length: number) => HEAD + length + TAG * Math.max(1, Math.ceil(length / SEGMENT));
const END = sealedSize(THREE);

const good: Case[] = [
  { name: 'empty', about: 'the one volume of an empty file', length: 0 },
  { name: 'one-byte', about: 'one byte', length: 1 },
  { name: 'short', about: 'one short segment, the last of the file', length: 100 },
  { name: 'short-followed', about: 'one short segment, and more volumes follow', length: 100, isLast: false },
  { name: 'far', about: 'volume 10,000', length: 100, idx: 10_000 },
  { name: 'segment-less-one', about: 'a segment but for a byte', length: SEGMENT - 1 },
  { name: 'segment', about: 'exactly one segment', length: SEGMENT },
  { name: 'segment-and-one', about: 'a segment and a byte', length: SEGMENT + 1 },
  { name: 'two-segments', about: 'exactly two segments', length: 2 * SEGMENT, isLast: false },
  { name: 'three-segments', about: 'the last of three segments is shorter', length: THREE },
];

const faulty: Case[] = [
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
  ).map(
    ([name, flip, expect]): Case => ({
      name: `flip-${name}`,
      about: `a bit, ${name}`,
      length: THREE,
      changes: [{ flip }],
      expect,
    }),
  ),
  {
    name: 'cut-byte',
    about: 'the last byte is missing',
    length: THREE,
    changes: [{ cut: END - 1 }],
    expect: 'length',
  },
  {
    name: 'cut-segment',
    about: 'the last segment is missing, and the reader knows the length',
    length: THREE,
    changes: [{ cut: HEAD + 2 * STRIDE }],
    expect: 'length',
  },
  {
    name: 'cut-segment-length',
    about: 'the last segment is missing, and the length is given to fit',
    length: THREE,
    changes: [{ cut: HEAD + 2 * STRIDE }],
    read: { length: 2 * SEGMENT },
    expect: 'tag',
  },
  {
    name: 'cut-head',
    about: 'only salt and commitment',
    length: THREE,
    changes: [{ cut: HEAD }],
    expect: 'length',
  },
  { name: 'cut-all', about: 'nothing at all', length: 100, changes: [{ cut: 0 }], expect: 'length' },
  { name: 'longer', about: 'a byte more', length: THREE, changes: [{ add: 1 }], expect: 'length' },
  {
    name: 'longer-length',
    about: 'zeros behind it, and a length that is given to fit',
    length: 100,
    changes: [{ add: 10 }],
    read: { length: 110 },
    expect: 'tag',
  },
  {
    name: 'empty-segment',
    about: 'an empty segment behind a whole one',
    length: SEGMENT,
    changes: [{ add: TAG }],
    expect: 'length',
  },
  {
    name: 'segments-swapped',
    about: 'the first two segments change places',
    length: THREE,
    changes: [{ swap: [HEAD, HEAD + STRIDE, STRIDE] }],
    expect: 'tag',
  },
  {
    name: 'segment-repeated',
    about: 'the first segment again as the second',
    length: THREE,
    changes: [{ copy: [HEAD, HEAD + STRIDE, STRIDE] }],
    expect: 'tag',
  },
  {
    name: 'tags-swapped',
    about: 'the tags of the first two segments change places',
    length: THREE,
    changes: [{ swap: [HEAD + SEGMENT, HEAD + STRIDE + SEGMENT, TAG] }],
    expect: 'tag',
  },
  {
    name: 'not-the-end',
    about: 'written as the last volume, and the reader knows of more',
    length: 100,
    read: { is_last: false },
    expect: 'tag',
  },
  {
    name: 'not-the-end-long',
    about: 'the same with three segments',
    length: THREE,
    read: { is_last: false },
    expect: 'tag',
  },
  {
    name: 'end',
    about: 'written with more to follow, and read as the last',
    length: 100,
    isLast: false,
    read: { is_last: true },
    expect: 'tag',
  },
  {
    name: 'other-number',
    about: 'volume 1 as volume 2',
    length: 100,
    read: { idx: 2 },
    expect: 'commitment',
  },
  {
    name: 'other-file',
    about: 'a volume of another file',
    length: 100,
    read: { file_id: '00'.repeat(16) },
    expect: 'commitment',
  },
];

export const volumes: VolumeVector[] = [...good, ...faulty].map(
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
