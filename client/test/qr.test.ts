import assert from 'node:assert/strict';
import { test } from 'node:test';
import decodeQR from 'qr/decode.js';
import { qr } from '../src/accounts/qr.ts';

const QUIET = 4;
/** Pixels for each module, as a camera would see them. */
const SCALE = 4;

const textOf = (length: number) =>
  Array.from({ length }, (_, at) => String.fromCharCode(97 + ((at * 7 + length) % 26))).join('');

function pictureOf(modules: boolean[][]) {
  const side = (modules.length + 2 * QUIET) * SCALE;
  const data = new Uint8Array(side * side * 4).fill(255);
  modules.forEach((row, y) => {
    row.forEach((dark, x) => {
      if (!dark) return;
      for (let at = 0; at < SCALE * SCALE; at++) {
        const line = (y + QUIET) * SCALE + Math.floor(at / SCALE);
        data.fill(
          0,
          (line * side + (x + QUIET) * SCALE + (at % SCALE)) * 4,
          (line * side + (x + QUIET) * SCALE + (at % SCALE)) * 4 + 3,
        );
      }
    });
  });
  return { width: side, height: side, data };
}

test('QR codes are as small as level M allows, and are read back', () => {
  for (const [length, size] of [
    [1, 21],
    [14, 21],
    [15, 25],
    [60, 33],
    [110, 45],
    [213, 57],
    [214, 61],
    [500, 85],
    [2331, 177],
  ] as const) {
    const modules = qr(textOf(length));
    assert.equal(modules.length, size);
    assert.equal(decodeQR(pictureOf(modules)), textOf(length));
  }
  assert.equal(decodeQR(pictureOf(qr('zażółć 🗝'))), 'zażółć 🗝');
  assert.throws(() => qr(textOf(2332)), RangeError);
});
