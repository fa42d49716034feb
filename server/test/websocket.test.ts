import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { acceptOf, BadFrame, type Frame, FrameHeads, frameOf, unmask } from '../src/fastlane/websocket.ts';

test('the answer to a key is that of RFC 6455', () => {
  assert.equal(acceptOf('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

const bytes = (maxLength: number) => fc.uint8Array({ maxLength });
const maskBytes = fc.uint8Array({ minLength: 4, maxLength: 4 });

test('a mask is taken off as if byte by byte, wherever the bytes lie and the frame stands', () => {
  fc.assert(
    fc.property(
      bytes(200),
      maskBytes,
      fc.nat(1000),
      fc.nat(7),
      fc.nat(7),
      (from, mask, position, left, right) => {
        const source = new Uint8Array(left + from.length);
        source.set(from, left);
        const target = new Uint8Array(right + from.length + 9).fill(0x5a);
        unmask(source.subarray(left), target.subarray(right), mask, position);
        const expected = new Uint8Array(target.length).fill(0x5a);
        for (const [at, byte] of from.entries()) expected[right + at] = byte ^ mask[(position + at) % 4]!;
        assert.deepEqual(target, expected);
      },
    ),
  );
});

/** A frame as a client may send it. */
const sent = fc
  .record({
    opcode: fc.constantFrom(0, 1, 2),
    final: fc.boolean(),
    mask: maskBytes,
    length: fc.oneof(
      fc.nat(125),
      fc.integer({ min: 126, max: 65_535 }),
      fc.integer({ min: 65_536, max: 2 ** 45 }),
    ),
  })
  .map(({ opcode, final, mask, length }) => {
    const size = Buffer.alloc(length < 126 ? 0 : length < 65_536 ? 2 : 8);
    if (size.length === 2) size.writeUInt16BE(length);
    if (size.length === 8) size.writeBigUInt64BE(BigInt(length));
    const short = size.length === 0 ? length : size.length === 2 ? 126 : 127;
    const head = Buffer.concat([Buffer.from([(final ? 0x80 : 0) | opcode, 0x80 | short]), size, mask]);
    return { head, frame: { opcode, final, length, mask: Buffer.from(mask) } satisfies Frame };
  });

test('heads of frames are read from pieces of any length, and nothing after them is taken', () => {
  fc.assert(
    fc.property(
      fc.array(sent, { minLength: 1, maxLength: 5 }),
      fc.integer({ min: 1, max: 40 }),
      (all, size) => {
        const stream = Buffer.concat(all.map(({ head }) => head));
        const heads = new FrameHeads();
        const found: Frame[] = [];
        for (let at = 0; at < stream.length; ) {
          const { used, frame } = heads.read(stream.subarray(at, at + size));
          assert.ok(used > 0);
          at += used;
          if (frame) found.push(frame);
        }
        assert.deepEqual(
          found,
          all.map(({ frame }) => frame),
        );
      },
    ),
  );
});

test('a frame that no client may send is refused', () => {
  for (const hex of ['8100', 'c180', 'a180', '9180', '89fe0100aaaaaaaa', '0980aaaaaaaa']) {
    assert.throws(() => new FrameHeads().read(Buffer.from(hex, 'hex')), BadFrame, hex);
  }
});

test('frames of a server say their length in the shortest way', () => {
  for (const [length, head] of [
    [0, '8100'],
    [125, '817d'],
    [126, '817e007e'],
    [65_535, '817effff'],
  ] as const) {
    const frame = frameOf(1, Buffer.alloc(length));
    assert.equal(frame.subarray(0, frame.length - length).toString('hex'), head);
  }
});
