import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { displayName } from '@szafa/client';
import { parseCount, parseRate, parseSeconds, parseSize } from '../src/lib/print/quantities.ts';
import {
  formatBytes,
  formatDuration,
  formatTime,
  oneLine,
  padEnd,
  shorten,
  width,
} from '../src/lib/print/text.ts';

suite('text', () => {
  test('oneLine is what the SDK does with names, for every character', () => {
    for (let code = 0; code <= 0x10ffff; code++) {
      const char = String.fromCodePoint(code);
      if (oneLine(char) !== displayName(char)) assert.fail(`U+${code.toString(16)}`);
    }
    assert.equal(oneLine('a\u001b[2J\nb\r\u0000'), 'a\ufffd[2J\ufffdb\ufffd\ufffd');
  });

  test('width counts columns', () => {
    assert.equal(width('abc'), 3);
    assert.equal(width('日本'), 4);
    assert.equal(width('e\u0301'), 1);
    assert.equal(width('🎬'), 2);
    assert.equal(width(padEnd('日', 5)), 5);
  });

  test('shorten keeps beginning and end, and never exceeds', () => {
    assert.equal(shorten('short', 10), 'short');
    assert.equal(shorten('a long name.mkv', 9), 'a lo….mkv');
    for (const text of ['日本語のとても長い名前です.mkv', 'x'.repeat(300), '🎬'.repeat(50)]) {
      for (let most = 2; most < 40; most++) assert.ok(width(shorten(text, most)) <= most, `${text} ${most}`);
    }
  });

  test('sizes, times and durations for people', () => {
    assert.deepEqual([0, 1023, 1024, 1536, 10_485_760, 1024 ** 4].map(formatBytes), [
      '0 B',
      '1023 B',
      '1.00 KiB',
      '1.50 KiB',
      '10.0 MiB',
      '1.00 TiB',
    ]);
    assert.equal(formatBytes(1024 ** 2 - 1), '1.00 MiB');
    assert.deepEqual([0.4, 59, 61, 3600, 90_000, 1e7, Number.POSITIVE_INFINITY].map(formatDuration), [
      '0 s',
      '59 s',
      '1 min 01 s',
      '1 h 00 min',
      '25 h 00 min',
      '116 days',
      '-',
    ]);
    assert.match(formatTime('2026-01-02T03:04:05Z'), /^2026-01-0\d \d\d:\d\d$/);
    assert.equal(formatTime('\u001b[31mnever').includes('\u001b'), false);
  });

  test('sizes, rates, counts and times as they are typed', () => {
    for (const text of ['8M', '8m', '8MB', '8MiB', '8 MiB', '8388608', '8192K']) {
      assert.equal(parseSize('volume-size', text), 8 * 1024 * 1024, text);
    }
    assert.equal(parseSize('x', '1.5G'), 1.5 * 1024 ** 3);
    assert.equal(parseRate('bwlimit', '2M/s'), 2 * 1024 * 1024);
    assert.equal(parseSeconds('retry', '2m'), 120);
    assert.equal(parseSeconds('retry', '0'), 0);
    assert.equal(parseCount('transfers', '64', 64), 64);
    for (const wrong of ['', '-1', '0', 'M', '8X', '1e9', '8MM', '0.0001', '99999999T', 'NaN']) {
      assert.throws(() => parseSize('volume-size', wrong), { exit: 2, message: /--volume-size/ }, wrong);
    }
    for (const wrong of ['0', '65', '1.5', '', 'x'])
      assert.throws(() => parseCount('t', wrong, 64), { exit: 2 });
    for (const wrong of ['', 'x', '-1', '1d']) assert.throws(() => parseSeconds('retry', wrong), { exit: 2 });
  });
});
