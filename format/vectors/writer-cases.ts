import { createCipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';
import type { WriterVector } from './kinds.ts';
import { sealVolume } from './volume-cases.ts';

/**
 * What a writer must come to, made from docs/format.md with Node's own primitives and nothing of the client: here
 * two implementations agree, or one of them is wrong.
 */
export const hkdf = (key: Uint8Array, salt: Uint8Array, info: string, length: number) =>
  Buffer.from(hkdfSync('sha256', key, salt, info, length));
export const EMPTY = new Uint8Array(0);
export const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest();
export const hmac = (key: Uint8Array, data: Uint8Array) => createHmac('sha256', key).update(data).digest();
export const b64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url');
export const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** The sealing of small things, with the r that it draws. */
export function seal(key: Uint8Array, label: string, plain: Uint8Array, r: Uint8Array): Buffer {
  const derived = hkdf(key, r, label, 64);
  const cipher = createCipheriv('aes-256-gcm', derived.subarray(0, 32), Buffer.alloc(12));
  const sealed = [cipher.update(plain), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat([r, derived.subarray(32), ...sealed]);
}

export function sealName(
  kind: 'file' | 'dir',
  master: Uint8Array,
  bound: Uint8Array,
  plain: Uint8Array,
): string {
  const keys = hkdf(master, EMPTY, `szafa/v1/${kind}-name`, 64);
  const iv = hmac(keys.subarray(0, 32), Buffer.concat([bound, plain])).subarray(0, 16);
  const cipher = createCipheriv('aes-256-ctr', keys.subarray(32), iv);
  return Buffer.concat([iv, cipher.update(plain), cipher.final()]).toString('base64url');
}

export const boundTo = (total: Uint8Array, size: number, count: number) =>
  Buffer.concat([total, u64(size), u32(count)]);

/** Zeros up to a multiple of 32, but not beyond `most`. */
function padded(name: Uint8Array, most: number): Buffer {
  const length = Math.min(most, Math.max(32, Math.ceil(name.length / 32) * 32));
  return Buffer.concat([name, Buffer.alloc(length - name.length)]);
}

export const dirName = (master: Uint8Array, name: string) =>
  sealName('dir', master, EMPTY, padded(Buffer.from(name), 32));

export interface InList {
  rev: number;
  gen: number;
  added: number;
}

/** Flag, rev, gen, added, and the first characters that fit in 160 bytes. */
export function namePlain(name: string, { rev, gen, added }: InList): Buffer {
  let kept = '';
  for (const char of name) {
    if (Buffer.byteLength(kept + char) > 160) break;
    kept += char;
  }
  const time = u64(added).subarray(2);
  const flag = Uint8Array.of(kept === name ? 0 : 1);
  return Buffer.concat([flag, u32(rev), u32(gen), time, padded(Buffer.from(kept), 160)]);
}

export const fixedFor = (name: string) => (label: string, bytes: number) =>
  sha256(Buffer.from(`${name} ${label}`)).subarray(0, bytes);

function writer(
  name: string,
  length: number,
  fileName: string,
  more: { epoch?: number; rev?: number } = {},
): WriterVector {
  const fixed = fixedFor(name);
  const { epoch = 1, rev = 1 } = more;
  const [fileKey, fileId, master] = [fixed('file key', 32), fixed('file id', 16), fixed('master', 32)];
  const plain = Buffer.from(Array.from({ length }, (_, i) => (i * 11 + 5) & 255));
  const volumeSize = 64;
  const count = Math.max(1, Math.ceil(length / volumeSize));
  const salts = Array.from({ length: count }, (_, at) => fixed(`salt ${at + 1}`, 24));
  const volumes = salts.map((salt, at) =>
    sealVolume(fileKey, fileId, salt, at + 1, at + 1 === count, plain.subarray(at * 64, at * 64 + 64)),
  );
  const total = sha256(Buffer.concat(volumes.map(sha256)));
  const size = length + 72 * count;
  const metadata = { name: fileName, size: length, rev, gen: 3, added: 1_767_225_600_000 };
  const random = (which: string) => [
    fixed(`r of the ${which}file key`, 24),
    fixed(`r of the ${which}metadata`, 24),
  ];
  /** What the record says, under this master key. */
  const described = (under: Buffer, at: number, sealed: InList, [ofKey, ofMetadata]: Buffer[]) => {
    const keys = hkdf(under, fileId, 'szafa/v1/header', 64);
    const text = Buffer.from(JSON.stringify(sealed));
    const blanks = Buffer.alloc(Math.ceil(text.length / 256) * 256 - text.length, ' ');
    const header = JSON.stringify({
      file_id: b64(fileId),
      epoch: at,
      volume_size: volumeSize,
      volume_count: count,
      total_sha256: hex(total),
      file_key: b64(seal(keys.subarray(32), 'szafa/v1/file-key', fileKey, ofKey!)),
      metadata: b64(seal(keys.subarray(32), 'szafa/v1/metadata', Buffer.concat([text, blanks]), ofMetadata!)),
    });
    return {
      file_name: sealName('file', under, boundTo(total, size, count), namePlain(fileName, sealed)),
      enc_params: {
        szafa: 1,
        header: b64(Buffer.from(header)),
        mac: b64(hmac(keys.subarray(0, 32), Buffer.from(header))),
      },
    };
  };
  const next = { master: fixed('next master', 32), epoch: epoch + 1, random: random('next ') };
  return {
    name,
    file_key: hex(fileKey),
    file_id: hex(fileId),
    master: hex(master),
    epoch,
    metadata,
    plain: b64(plain),
    volume_size: volumeSize,
    salts: salts.map(hex),
    random: random('').map(hex),
    next: { master: hex(next.master), epoch: next.epoch, random: next.random.map(hex) },
    expect: {
      volumes: volumes.map(b64),
      total_sha256: hex(total),
      file_size: size,
      chunk_count: count,
      ...described(master, epoch, metadata, random('')),
      resealed: described(next.master, next.epoch, { ...metadata, rev: rev + 1 }, next.random),
    },
  };
}

export const writers: WriterVector[] = [
  writer('empty', 0, 'nothing'),
  writer('one-volume', 64, 'żółw/ß.bin'),
  writer('three-volumes', 150, 'raport.txt', { epoch: 2, rev: 7 }),
  writer('long-name', 65, 'ż'.repeat(100)),
];
