/** Small files of real kinds. */
import { deflateSync } from 'node:zlib';

function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
  }
  return (crc ^ 0xffffffff) >>> 0;
}

function pngPart(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}

/** A picture of evening hills, in pure arithmetic. */
export function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const lines = Buffer.alloc(height * (1 + width * 3));
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const ridge = (k: number) =>
        height * (0.45 + 0.15 * k) +
        Math.sin((x / width) * 6 + k * 2) * height * 0.07 +
        Math.sin(x / 23 + k) * 3;
      const hill = [2, 1, 0].find((k) => y > ridge(k));
      const sky = y / height;
      const colour =
        hill === undefined
          ? [246 - sky * 40, 214 - sky * 60, 190 - sky * 20]
          : [70 - hill * 18, 120 - hill * 26, 108 - hill * 20];
      lines.set(colour.map(Math.round), y * (1 + width * 3) + 1 + x * 3);
    }
  }
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    pngPart('IHDR', header),
    pngPart('IDAT', deflateSync(lines)),
    pngPart('IEND', Buffer.alloc(0)),
  ]);
}

/** Silence of this many bytes, 16 bit mono at 44.1 kHz. */
export function wav(bytes: number): Buffer {
  const whole = Buffer.alloc(bytes);
  whole.write('RIFF', 0);
  whole.writeUInt32LE(bytes - 8, 4);
  whole.write('WAVEfmt ', 8);
  whole.writeUInt32LE(16, 16);
  whole.writeUInt16LE(1, 20);
  whole.writeUInt16LE(1, 22);
  whole.writeUInt32LE(44100, 24);
  whole.writeUInt32LE(88200, 28);
  whole.writeUInt16LE(2, 32);
  whole.writeUInt16LE(16, 34);
  whole.write('data', 36);
  whole.writeUInt32LE(bytes - 44, 40);
  return whole;
}

/** One page with one line, above a large square in magenta. */
export function pdf(line: string): Buffer {
  const content = `BT /F1 24 Tf 72 700 Td (${line}) Tj ET 1 0 1 rg 72 250 400 400 re f`;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ];
  let text = '%PDF-1.4\n';
  const offsets = objects.map((object, i) => {
    const at = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return at;
  });
  const start = text.length;
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('');
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}`;
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text, 'latin1');
}

function ebml(id: number, ...parts: Uint8Array[]): Buffer {
  const body = Buffer.concat(parts);
  const size = Buffer.alloc(8);
  size.writeBigUInt64BE(BigInt(body.length) | (1n << 56n));
  const name = id.toString(16);
  return Buffer.concat([Buffer.from(name.padStart(name.length + (name.length % 2), '0'), 'hex'), size, body]);
}

function number(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
}

/** A film of VP8 key frames, each shown for ten seconds, with an index at its beginning and `gap` empty bytes after each. */
export function webm(frames: Uint8Array[], width: number, height: number, gap: number): Buffer {
  const STEP_MS = 10_000;
  const header = ebml(
    0x1a45dfa3,
    ebml(0x4286, number(1)),
    ebml(0x42f7, number(1)),
    ebml(0x42f2, number(4)),
    ebml(0x42f3, number(8)),
    ebml(0x4282, Buffer.from('webm')),
    ebml(0x4287, number(4)),
    ebml(0x4285, number(2)),
  );
  const info = ebml(
    0x1549a966,
    ebml(0x2ad7b1, number(1_000_000)),
    ebml(0x4489, float(frames.length * STEP_MS)),
    ebml(0x4d80, Buffer.from('test')),
    ebml(0x5741, Buffer.from('test')),
  );
  const picture = ebml(0xe0, ebml(0xb0, number(width)), ebml(0xba, number(height)));
  const track = [ebml(0xd7, number(1)), ebml(0x73c5, number(1)), ebml(0x83, number(1))];
  const tracks = ebml(0x1654ae6b, ebml(0xae, ...track, ebml(0x86, Buffer.from('V_VP8')), picture));
  const clusters = frames.map((frame, at) => {
    // Ten times a second the same: a browser reads on until it has some seconds in advance.
    const blocks = Array.from({ length: 100 }, (_, tenth) => {
      const head = Buffer.from([0x81, 0, 0, 0x80]); // track 1, time after the cluster's own, a key frame
      head.writeInt16BE(tenth * 100, 1);
      return ebml(0xa3, head, frame);
    });
    return Buffer.concat([
      ebml(0x1f43b675, ebml(0xe7, number(at * STEP_MS)), ...blocks),
      ebml(0xec, Buffer.alloc(gap)),
    ]);
  });
  const cuesAt = (offset: number) => {
    let position = offset;
    const points = clusters.map((cluster, at) => {
      const place = ebml(0xb7, ebml(0xf7, number(1)), ebml(0xf1, number(position)));
      position += cluster.length;
      return ebml(0xbb, ebml(0xb3, number(at * STEP_MS)), place);
    });
    return ebml(0x1c53bb6b, ...points);
  };
  // All numbers have the same length, so the index is as long with any offset.
  const cues = cuesAt(info.length + tracks.length + cuesAt(0).length);
  return Buffer.concat([header, ebml(0x18538067, info, tracks, cues, ...clusters)]);
}
