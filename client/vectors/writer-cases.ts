import { createCipheriv, createHash, createHmac, hkdfSync } from 'node:crypto';
import type { WriterVector } from './vectors.ts';
import { sealVolume } from './volume-cases.ts';

/**
 * What a writer must come to, made from docs/format.md with Node's own primitives and nothing of the client: here
 * two implementations agree, or one of them is wrong.
 */
const hkdf = (key: Uint8Array, info: Uint8Array, length: number) =>
  Buffer.from(hkdfSync('sha256', key, new Uint8Array(0), info, length));
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest();
const hmac = (key: Uint8Array, data: Uint8Array) => createHmac('sha256', key).update(data).digest();

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

export function sealName(master: Uint8Array, bound: Uint8Array, plain: Uint8Array): string {
  const keys = hkdf(master, Buffer.from('szafa/v1/file-name'), 64);
  const iv = hmac(keys.subarray(0, 32), Buffer.concat([bound, plain])).subarray(0, 16);
  const cipher = createCipheriv('aes-256-ctr', keys.subarray(32), iv);
  return Buffer.concat([iv, cipher.update(plain), cipher.final()]).toString('base64url');
}

export const boundTo = (total: Uint8Array, size: number, count: number) =>
  Buffer.concat([total, u64(size), u32(count)]);

/** The first characters that fit in 174 bytes, as the name is cut. */
function cutName(name: string): Buffer {
  const all = Buffer.from(name);
  if (all.length <= 174) return Buffer.concat([Uint8Array.of(0), all]);
  let kept = '';
  for (const char of name) {
    if (Buffer.byteLength(kept + char) > 174) break;
    kept += char;
  }
  return Buffer.concat([Uint8Array.of(1), Buffer.from(kept)]);
}

function writer(name: string, length: number, fileName: string): WriterVector {
  const fixed = (label: string, bytes: number) => sha256(Buffer.from(`${name} ${label}`)).subarray(0, bytes);
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
  const header = `{"file_id":"${fileId.toString('base64url')}","any":"text"}`;
  return {
    name,
    file_key: fileKey.toString('hex'),
    file_id: fileId.toString('hex'),
    master: master.toString('hex'),
    file_name: fileName,
    plain: plain.toString('base64url'),
    volume_size: volumeSize,
    salts: salts.map((salt) => salt.toString('hex')),
    header,
    expect: {
      volumes: volumes.map((volume) => volume.toString('base64url')),
      total_sha256: total.toString('hex'),
      file_size: size,
      chunk_count: count,
      file_name: sealName(master, boundTo(total, size, count), cutName(fileName)),
      mac: hmac(hkdf(fileKey, Buffer.from('szafa/v1/mac'), 32), Buffer.from(header)).toString('base64url'),
    },
  };
}

export const writers: WriterVector[] = [
  writer('empty', 0, 'nothing'),
  writer('one-volume', 64, 'żółw/ß.bin'),
  writer('three-volumes', 150, 'raport.txt'),
  writer('long-name', 65, 'ż'.repeat(100)),
];
