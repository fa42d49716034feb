import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  checkPassword,
  cleanDirName,
  cleanFileName,
  cleanUsername,
  isReservedUsername,
  limits,
  RuleError,
} from '../src/index.ts';

/** Texts with everything in them that a rule names: blanks, separators, controls, lone surrogates, emoji. */
const awkward = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 400 }),
  fc.string({
    unit: fc.constantFrom(' ', '\t', '/', '\\', '\0', 'a', 'ż', '🗄', '\ud800', '.', '\u0085'),
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
      assert.equal(name, name.trim());
      assert.ok(name.isWellFormed());
      assert.equal(cleanFileName(name), name);
    }),
  );
});

test('a file name is refused only when nothing of it is left', () => {
  fc.assert(
    fc.property(awkward, (raw) => {
      const left = raw.replace(/[/\\\p{Cc}]/gu, '').trim();
      assert.equal(attempt(cleanFileName, raw) === undefined, left === '');
    }),
  );
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
      assert.equal(name, name.trim());
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
    fc.property(fc.string({ unit: 'binary', maxLength: 140 }), (password) => {
      const { min, max } = limits.passwordChars;
      const fits = length(password) >= min && length(password) <= max;
      assert.equal(attempt(checkPassword, password), fits ? password : undefined);
    }),
  );
});
