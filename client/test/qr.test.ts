import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { qr } from '../src/accounts/qr.ts';

const textOf = (length: number) =>
  Array.from({ length }, (_, at) => String.fromCharCode(97 + ((at * 7 + length) % 26))).join('');

function digestOf(modules: boolean[][]): string {
  const rows = modules.map((row) => `${row.map((dark) => (dark ? '1' : '0')).join('')}\n`);
  return createHash('sha256').update(rows.join('')).digest('hex').slice(0, 16);
}

test('QR codes are those that another program makes, module by module', () => {
  // Made by qrcode 1.5.4 with errorCorrectionLevel M in byte mode, and read back by jsqr 1.4.
  for (const [length, size, digest] of [
    [1, 21, 'bfe47e73571eff5a'],
    [14, 21, 'f71e38af8b760700'],
    [15, 25, '958406ad1eb84409'],
    [60, 33, 'a710eeddbb29edc6'],
    [110, 45, 'a6aae9492485e05d'],
    [152, 49, 'a25b7c205479bdb5'],
    [213, 57, 'a23032ec69a5ce8a'],
    [214, 61, 'ee3ce4a7b6709aa9'],
    [500, 85, '48bf52398d311b87'],
    [2331, 177, 'a219f9884f3ff37c'],
  ] as const) {
    const modules = qr(textOf(length));
    assert.equal(modules.length, size);
    assert.equal(digestOf(modules), digest, `${length} bytes`);
  }
  assert.equal(digestOf(qr('zażółć 🗝')), '44b713cd1d9cb4ec');
  assert.throws(() => qr(textOf(2332)), RangeError);
});
