import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../tests/harness/any-text.ts';
import { decodeEncParams, encodeEncParams, RuleError } from '../src/index.ts';

const params = fc.dictionary(anyText(10), fc.jsonValue({ maxDepth: 4 }), {
  maxKeys: 6,
});

test('what is encoded comes back, and the base64 is plain ASCII of the JSON in UTF-8', () => {
  fc.assert(
    fc.property(params, (value) => {
      const json = JSON.stringify(value);
      const base64 = encodeEncParams(value);
      assert.match(base64, /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/);
      assert.equal(Buffer.from(base64, 'base64').toString('utf8'), json);
      assert.equal(JSON.stringify(decodeEncParams(base64)), JSON.stringify(JSON.parse(json)));
    }),
  );
});

test('a key named __proto__ travels like any other', () => {
  const value = JSON.parse('{"__proto__":{"x":1},"constructor":2}') as object;
  const back = decodeEncParams(encodeEncParams(value));
  assert.deepEqual(Object.keys(back).sort(), ['__proto__', 'constructor']);
});

test('any text at all is decoded to an object or refused by rule', () => {
  const base64 = fc.oneof(
    fc.string(),
    fc.base64String(),
    fc.json().map((text) => Buffer.from(text).toString('base64')),
  );
  fc.assert(
    fc.property(base64, (text) => {
      try {
        const value = decodeEncParams(text);
        assert.ok(typeof value === 'object' && value !== null && !Array.isArray(value));
      } catch (error) {
        assert.ok(error instanceof RuleError, String(error));
      }
    }),
  );
});

test('invalid UTF-8, no JSON, and JSON that is no object are refused', () => {
  const encoded = (bytes: Uint8Array | string) => Buffer.from(bytes).toString('base64');
  const notUtf8 = Uint8Array.of(0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d);
  for (const text of [
    encoded(notUtf8),
    encoded('{'),
    encoded('null'),
    encoded('[]'),
    encoded('"x"'),
    '',
    '***',
  ]) {
    assert.throws(() => decodeEncParams(text), RuleError, text);
  }
});
