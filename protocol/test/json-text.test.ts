import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../tests/harness/any-text.ts';
import { memberText, RuleError } from '../src/index.ts';

const blanks = fc.string({ unit: fc.constantFrom(' ', '\n', '\r', '\t'), maxLength: 2 });

/** A text in JSON, each letter as it is or escaped, in either case of the hex digits. */
function quoted(text: string, choices: fc.Stream<number>): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  const letters = units.map((unit) => {
    const plain = JSON.stringify(String.fromCharCode(unit)).slice(1, -1);
    const hex = unit.toString(16).padStart(4, '0');
    return [plain, `\\u${hex}`, `\\u${hex.toUpperCase()}`][choices.next().value! % 3]!;
  });
  return `"${letters.join('')}"`;
}

/** JSON as people and programs write it: blanks anywhere, odd numbers, escapes, keys that stand twice. */
const { value: anyValue } = fc.letrec<{ value: string; leaf: string; list: string; object: string }>(
  (tie) => ({
    value: fc.oneof({ maxDepth: 4 }, tie('leaf'), tie('list'), tie('object')),
    leaf: fc.oneof(
      fc.constantFrom('true', 'false', 'null', '9007199254740993', '1e400', '-0.0', '1.50E+2', '""', '"}"'),
      fc.constantFrom('"\\""', '"\\\\"', '"\\\\\\"]"', '"{,:["', '"\\u0022}"'),
      anyText(10).map((text) => JSON.stringify(text)),
    ),
    list: fc
      .tuple(blanks, fc.array(tie('value'), { maxLength: 3 }))
      .map(([gap, items]) => `[${gap}${items.join(`${gap},`)}]`),
    object: fc
      .tuple(
        blanks,
        fc.array(fc.tuple(fc.constantFrom('a', 'enc_params', '}', '"'), tie('value')), { maxLength: 3 }),
      )
      .map(
        ([gap, members]) =>
          `{${gap}${members.map(([key, value]) => `${JSON.stringify(key)}${gap}:${value}`).join(`,${gap}`)}}`,
      ),
  }),
);
const members = fc.array(
  fc.tuple(fc.constantFrom('a', 'enc_params', '', 'enc', '"'), anyValue, blanks, blanks),
  {
    maxLength: 6,
  },
);

test('a member is the text that was sent, the last of its name, and says what JSON.parse says', () => {
  fc.assert(
    fc.property(members, blanks, fc.infiniteStream(fc.nat()), (parts, gap, choices) => {
      const body = parts.map(
        ([key, value, before, after]) => `${before}${quoted(key, choices)}${after}:${before}${value}${after}`,
      );
      const json = `${gap}{${body.join(',') || gap}}${gap}`;
      const parsed = JSON.parse(json) as Record<string, unknown>;
      const last = parts.findLast(([key]) => key === 'enc_params');
      const text = memberText(json, 'enc_params');
      assert.equal(text, last?.[1]);
      assert.deepEqual(text === undefined ? undefined : JSON.parse(text), parsed['enc_params']);
    }),
    { numRuns: 500 },
  );
});

test('whatever JSON.parse takes is read, and a member found is its own', () => {
  const pieces = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '\\',
    '\\"',
    ' ',
    '1',
    '-',
    'null',
    '"k"',
    '"k":',
    '\u2028',
    'ż',
  ];
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...pieces), maxLength: 12 }), (text) => {
      for (const json of [text, `{"k":${text}}`, `{"k":1,${text}}`]) {
        let parsed: unknown;
        try {
          parsed = JSON.parse(json);
        } catch {
          // Not JSON: it may be refused, but it ends.
          try {
            memberText(json, 'k');
          } catch (error) {
            assert.ok(error instanceof RuleError || error instanceof SyntaxError, String(error));
          }
          continue;
        }
        const found = memberText(json, 'k');
        const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
        const value = isObject ? (parsed as Record<string, unknown>)['k'] : undefined;
        assert.deepEqual(found === undefined ? undefined : JSON.parse(found), value, json);
      }
    }),
    { numRuns: 3000 },
  );
});

test('names of the prototype are names like any other', () => {
  assert.equal(memberText('{"a": 1}', '__proto__'), undefined);
  assert.equal(memberText('{"a": 1}', 'constructor'), undefined);
  assert.equal(memberText('{"__proto__": [ 1 ]}', '__proto__'), '[ 1 ]');
});
