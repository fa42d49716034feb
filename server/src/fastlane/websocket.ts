/** The part of RFC 6455 needed by a server that receives much and sends little. */
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

/** The client violates the protocol. */
export class BadFrame extends Error {
  override name = 'BadFrame';
}

export interface Frame {
  opcode: number;
  /** The last frame of its message. */
  final: boolean;
  length: number;
  /** Four bytes. */
  mask: Buffer;
}

/** Parses frame heads from pieces of any length. */
export class FrameHeads {
  readonly #head = Buffer.alloc(MOST_HEAD_BYTES);
  #length = 0;

  /** Consumes the bytes of a head from the beginning of `bytes`. */
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
    if ((first & 0x70) !== 0) throw new BadFrame('a frame of an unknown extension');
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

const STAGE_BYTES = 64 * 1024;
const memory = new WebAssembly.Memory({ initial: 1 });
const stage = new Uint8Array(memory.buffer);
/**
 * XORs the first bytes of the stage with a word, sixteen at a time; in JavaScript this would take as long as their SHA-256.
 *
 *     (import "" "" (memory 1))
 *     (func (export "turn") (param $end i32) (param $word i32) (local $at i32)
 *       (loop
 *         (v128.store (local.get $at) (v128.xor (v128.load (local.get $at)) (i32x4.splat (local.get $word))))
 *         (br_if 0 (i32.lt_u (local.tee $at (i32.add (local.get $at) (i32.const 16))) (local.get $end)))))
 */
const CODE = `0061736d 01000000
  01 06 01 60 02 7f 7f 00
  02 06 01 00 00 02 00 01
  03 02 01 00
  07 08 01 04 7475726e 00 00
  0a 27 01 25 01 01 7f
    03 40 20 02 20 02 fd 00 00 00 20 01 fd 11 fd 51 fd 0b 00 00 20 02 41 10 6a 22 02 20 00 49 0d 00 0b 0b`;
const compiled = new WebAssembly.Module(Buffer.from(CODE.replace(/\s/g, ''), 'hex'));
const { turn } = new WebAssembly.Instance(compiled, { '': { '': memory } }).exports as {
  turn: (end: number, word: number) => void;
};

/** Copies bytes of a frame and removes the mask; `position` is the offset of the first byte in the frame. */
export function unmask(from: Uint8Array, to: Uint8Array, mask: Uint8Array, position: number): void {
  const word = Buffer.from([0, 1, 2, 3].map((at) => mask[(position + at) % 4]!)).readInt32LE();
  for (let at = 0; at < from.length; at += STAGE_BYTES) {
    const piece = from.subarray(at, at + STAGE_BYTES);
    stage.set(piece);
    turn(piece.length, word);
    to.set(stage.subarray(0, piece.length), at);
  }
}

/** A frame as a server sends it: unfragmented and without a mask. */
export function frameOf(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  if (length > 0xffff) throw new RangeError('a frame that long is not needed here');
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, length])
      : Buffer.from([0x80 | opcode, 126, length >> 8, length & 0xff]);
  return Buffer.concat([head, payload]);
}
