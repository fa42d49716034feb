import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../tests/harness/any-text.ts';
import {
  checkPassword,
  cleanDirName,
  cleanFileName,
  cleanUsername,
  isReservedUsername,
  limits,
  RuleError,
  strip,
} from '../src/index.ts';

/** Texts with everything in them that a rule names: blanks, separators, controls, lone surrogates, emoji. */
const awkward = fc.oneof(
  anyText(400),
  fc.string({
    unit: fc.constantFrom(
      ' ',
      '\t',
      '/',
      '\\',
      '\0',
      'a',
      'ż',
      '🗄',
      '\ud800',
      '.',
      '\u0085',
      '\u001c',
      '\ufeff',
    ),
    maxLength: 400,
  }),
);
const length = (text: string): number => Array.from(text).length;

/** The cleaned text, or undefined where the rule refuses; anything else thrown is a fault. */
function attempt(clean: (text: string) => string, text: string): string | undefined {
  try {
    return clean(text);
  } catch (error) {
    assert.ok(error instanceof RuleError, String(error));
    assert.notEqual(error.message, '');
    return undefined;
  }
}

test('a cleaned file name obeys every rule and is left alone by a second cleaning', () => {
  fc.assert(
    fc.property(awkward, (raw) => {
      const name = attempt(cleanFileName, raw);
      if (name === undefined) return;
      assert.ok(length(name) >= 1 && length(name) <= limits.fileNameChars);
      assert.doesNotMatch(name, /[/\\\p{Cc}]/u);
      assert.equal(name, strip(name));
      assert.ok(name.isWellFormed());
      assert.equal(cleanFileName(name), name);
    }),
  );
});

test('a file name is refused only when nothing of it is left', () => {
  fc.assert(
    fc.property(awkward, (raw) => {
      const left = strip(raw.replace(/[/\\\p{Cc}]/gu, ''));
      assert.equal(attempt(cleanFileName, raw) === undefined, left === '');
    }),
  );
});

test('whitespace around a text is what Unicode calls so and U+001C to U+001F; nothing else is stripped', () => {
  const ranges = [
    [0x09, 0x0d],
    [0x1c, 0x20],
    [0x85, 0x85],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
  ] as const;
  const isBlank = (code: number) => ranges.some(([first, last]) => code >= first && code <= last);
  for (let code = 0; code <= 0xffff; code++) {
    const unit = String.fromCharCode(code);
    assert.equal(strip(`${unit}a${unit}b${unit}`), isBlank(code) ? `a${unit}b` : `${unit}a${unit}b${unit}`);
  }
  assert.equal(strip('\u001c \u0085'), '');
});

test('a million blanks take no longer than they are', () => {
  const began = performance.now();
  const text = `a${' '.repeat(1_000_000)}a`;
  assert.equal(strip(text), text);
  assert.throws(() => cleanUsername(text), RuleError);
  assert.throws(() => cleanDirName(text), RuleError);
  assert.ok(performance.now() - began < 2000);
});

test('a directory name is judged by its four rules only; NUL is refused because no database holds it', () => {
  for (const name of ['a\tb', 'a\u0001b', 'a\u0085b', 'a\nb', '\u007f', '\ufeff', '.', '..', 'a\u2028b'])
    assert.equal(cleanDirName(name), name);
  for (const name of ['a\0b', '\0', 'a/b', 'a\\b', '', ' \u001c\u0085', 'x'.repeat(65), 'x'.repeat(70_000)])
    assert.throws(() => cleanDirName(name), RuleError, JSON.stringify(name));
});

test('an ordinary file name stays as it is', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[\p{L}\p{N}._-]{1,80}$/u), (name) => {
      assert.equal(cleanFileName(name), name);
    }),
  );
});

test('a cleaned directory name obeys every rule and is left alone by a second cleaning', () => {
  fc.assert(
    fc.property(awkward, (raw) => {
      const name = attempt(cleanDirName, raw);
      if (name === undefined) return;
      assert.ok(length(name) >= 1 && length(name) <= limits.dirNameChars);
      assert.doesNotMatch(name, /[/\\]/);
      assert.equal(name, strip(name));
      assert.ok(name.isWellFormed());
      assert.equal(cleanDirName(name), name);
    }),
  );
});

test('directory names are counted in characters, after the blanks around them are gone', () => {
  const name = (unit: string, count: number) => ` ${unit.repeat(count)}\t`;
  for (const unit of ['d', 'ż', '🗄']) {
    assert.equal(cleanDirName(name(unit, limits.dirNameChars)), unit.repeat(limits.dirNameChars));
    assert.throws(() => cleanDirName(name(unit, limits.dirNameChars + 1)), RuleError);
  }
});

test('a username is taken exactly when it is 3 to 32 ASCII letters, digits, underscores between blanks', () => {
  const nearly = fc.string({ unit: fc.constantFrom('a', 'Z', '0', '_', ' ', '-', 'é', '\n'), maxLength: 40 });
  fc.assert(
    fc.property(nearly, (raw) => {
      const valid = /^[A-Za-z0-9_]{3,32}$/.test(raw.trim()) && !/\n/.test(raw.trim());
      assert.equal(attempt(cleanUsername, raw), valid ? raw.trim() : undefined);
    }),
  );
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_]{3,32}$/), (name) => {
      assert.equal(cleanUsername(`  ${name}\n`), name);
    }),
  );
});

test('admin is reserved in every letter case, and nothing else is', () => {
  fc.assert(fc.property(fc.mixedCase(fc.constant('admin')), (name) => assert.ok(isReservedUsername(name))));
  fc.assert(
    fc.property(fc.stringMatching(/^[A-Za-z0-9_]{3,32}$/), (name) => {
      assert.equal(isReservedUsername(name), name.toLowerCase() === 'admin');
    }),
  );
});

test('a password is counted in characters and never changed', () => {
  fc.assert(
    fc.property(anyText(140), (password) => {
      const { min, max } = limits.passwordChars;
      const fits = length(password) >= min && length(password) <= max;
      assert.equal(attempt(checkPassword, password), fits ? password : undefined);
    }),
  );
});
