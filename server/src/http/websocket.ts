/** What of RFC 6455 a server needs to be sent much and to say little. */
import { createHash } from 'node:crypto';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export const acceptOf = (key: string) =>
  createHash('sha1')
    .update(key + GUID)
    .digest('base64');

export const OPCODES = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;
const CONTROL = 8;
const MOST_CONTROL_BYTES = 125;
const MOST_HEAD_BYTES = 14;

/** The client does not keep to the protocol. */
export class BadFrame extends Error {
  override name = 'BadFrame';
}

export interface Frame {
  opcode: number;
  /** The last of its message. */
  final: boolean;
  length: number;
  /** Four bytes. */
  mask: Buffer;
}

/** Reads the heads of frames, which come in pieces of any length. */
export class FrameHeads {
  readonly #head = Buffer.alloc(MOST_HEAD_BYTES);
  #length = 0;

  /** Takes what belongs to a head from the beginning of these bytes. */
  read(bytes: Buffer): { used: number; frame: Frame | undefined } {
    for (let used = 0; used < bytes.length; ) {
      this.#head[this.#length++] = bytes[used++]!;
      const frame = this.#frame();
      if (!frame) continue;
      this.#length = 0;
      return { used, frame };
    }
    return { used: bytes.length, frame: undefined };
  }

  #frame(): Frame | undefined {
    if (this.#length < 2) return undefined;
    const [first, second] = this.#head as unknown as [number, number];
    const short = second & 0x7f;
    const sizeBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
    if ((second & 0x80) === 0) throw new BadFrame('a frame without a mask');
    if ((first & 0x70) !== 0) throw new BadFrame('a frame of an extension nobody asked for');
    if (this.#length < 2 + sizeBytes + 4) return undefined;
    const length =
      sizeBytes === 0
        ? short
        : sizeBytes === 2
          ? this.#head.readUInt16BE(2)
          : Number(this.#head.readBigUInt64BE(2));
    const opcode = first & 0x0f;
    const final = (first & 0x80) !== 0;
    if (opcode >= CONTROL && (length > MOST_CONTROL_BYTES || !final))
      throw new BadFrame('a long control frame');
    return { opcode, final, length, mask: Buffer.from(this.#head.subarray(2 + sizeBytes, 6 + sizeBytes)) };
  }
}

/** Copies bytes of a frame, the first of which is its byte number `position`, and takes the mask off. */
export function unmask(from: Uint8Array, to: Uint8Array, mask: Uint8Array, position: number): void {
  to.set(from);
  const { length } = from;
  const turn = (start: number, end: number) => {
    for (let at = start; at < end; at++) to[at] = to[at]! ^ mask[(position + at) % 4]!;
  };
  const start = -to.byteOffset & 3;
  if (length < start + 4) {
    turn(0, length);
    return;
  }
  // Four bytes at once, from the first that lies as the machine wants it: one by one would take longer than their SHA-256.
  const words = new Int32Array(to.buffer, to.byteOffset + start, (length - start) >> 2);
  const four = Int32Array.of(0);
  for (let i = 0; i < 4; i++) new Uint8Array(four.buffer)[i] = mask[(position + start + i) % 4]!;
  const word = four[0]!;
  turn(0, start);
  for (let i = 0; i < words.length; i++) words[i]! ^= word;
  turn(start + 4 * words.length, length);
}

/** A frame as a server sends it: whole and without a mask. */
export function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length > 0xffff) throw new RangeError('a frame that long is not needed here');
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff]);
  return Buffer.concat([head, payload]);
}
