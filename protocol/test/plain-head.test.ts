import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { readHead, writeHead } from '../src/index.ts';

const FIRST = 'HTTP/1.1 200 OK';
const NAME = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const name = fc.string({ unit: fc.constantFrom(...NAME), minLength: 1, maxLength: 20 });
const value = fc.string({ unit: 'grapheme-ascii', maxLength: 40 });
const headers = fc.uniqueArray(fc.tuple(name, value), {
  selector: ([key]) => key.toLowerCase(),
  maxLength: 12,
});
const textOf = (lines: [string, string][]) =>
  FIRST + lines.map(([key, content]) => `\r\n${key}: ${content}`).join('');

test('a head in its plainest form is what its lines say', () => {
  fc.assert(
    fc.property(headers, (lines) => {
      const head = readHead(textOf(lines));
      assert.equal(head?.first, FIRST);
      assert.deepEqual(
        [...head.headers],
        lines.map(([key, content]) => [key.toLowerCase(), content.trim()]),
      );
    }),
  );
});

test('one character that does not belong among the headers and nothing is read', () => {
  const bad = fc.constantFrom('\n', '\r', '\0', '\v', '\x7f', '\x80', '\xa0', 'ż', '\u2028', '\r\n');
  fc.assert(
    fc.property(headers, fc.nat(), bad, (lines, place, odd) => {
      const text = textOf([...lines, ['last-of-all', 'x']]);
      const at = FIRST.length + 2 + (place % (text.length - FIRST.length - 1));
      // An end of line before a line is an empty one, in a name it leaves a line without a colon; in a value it may
      // begin another header.
      const begun = odd === '\r\n' && /: .*$/.test(text.slice(FIRST.length, at).split('\r\n').at(-1)!);
      if (!begun) assert.equal(readHead(text.slice(0, at) + odd + text.slice(at)), undefined);
    }),
  );
});

test('whatever is read of any text is all of it, and no name is there twice', () => {
  const piece = fc.constantFrom('\r\n', '\r', '\n', ':', ' ', '\t', 'a', 'A', 'b', '0', 'ż');
  fc.assert(
    fc.property(fc.string({ unit: piece, maxLength: 60 }), (text) => {
      const head = readHead(text);
      if (!head) return;
      const [first, ...lines] = text.split('\r\n');
      assert.equal(head.first, first);
      const read = lines.map((line) => line.split(':')[0]!.toLowerCase());
      assert.deepEqual([...head.headers.keys()], read);
      assert.equal(new Set(read).size, read.length);
    }),
    { numRuns: 2000 },
  );
});

test('a length is one in plain decimals, and only where nothing else says how long the body is', () => {
  const lengthOf = (...lines: string[]) => readHead([FIRST, ...lines].join('\r\n'))?.length;
  assert.equal(lengthOf('Content-Length: 0'), 0);
  assert.equal(lengthOf('content-length:123456789012345 '), 123_456_789_012_345);
  for (const odd of ['', '-1', '+1', '0x10', '1e3', '1 2', '5, 5', '1234567890123456'])
    assert.equal(lengthOf(`Content-Length: ${odd}`), undefined, odd);
  assert.equal(lengthOf(), undefined);
  assert.equal(lengthOf('Content-Length: 5', 'Transfer-Encoding: chunked'), undefined);
  assert.equal(readHead(`${FIRST}\r\nContent-Length: 5\r\nContent-Length: 5`), undefined);
  assert.equal(readHead(`${FIRST}\r\nContent-Length : 5`), undefined);
  assert.equal(readHead(`${FIRST}\r\nX: a\r\n continued`), undefined);
  assert.equal(readHead(`${FIRST}\r\n`), undefined);
});

test('what is written is read, and ends with an empty line', () => {
  const text = writeHead(FIRST, { 'Content-Length': '12', Connection: 'close' });
  assert.equal(text, `${FIRST}\r\nContent-Length: 12\r\nConnection: close\r\n\r\n`);
  assert.equal(readHead(text.slice(0, -4))?.length, 12);
});
