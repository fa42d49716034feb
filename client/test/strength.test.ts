import assert from 'node:assert/strict';
import { test } from 'node:test';
import { weaknessOf } from '../src/accounts/strength.ts';

test('what is short, common, patterned or made of the username is refused; words and random letters are not', async () => {
  const verdicts: [secret: string, weakness: string | undefined][] = [
    ['', 'short'],
    ['1234567', 'short'],
    ['żółwik1', 'short'],
    ['x'.repeat(1025), 'long'],
    ['12345678', 'guessable'],
    ['password1', 'guessable'],
    ['P@ssw0rd!', 'guessable'],
    ['qwertyuiop', 'guessable'],
    ['aaaaaaaaaaaaaaaaaaaa', 'guessable'],
    ['abababababababab', 'guessable'],
    ['ewa2026szafa', 'guessable'],
    ['1990-12-24', 'guessable'],
    ['correct horse battery staple', undefined],
    ['zażółć gęślą jaźń', undefined],
    ['k3J9sLqP2aVx', undefined],
  ];
  for (const [secret, weakness] of verdicts) {
    assert.equal(await weaknessOf(secret, ['ewa']), weakness, secret.slice(0, 40));
  }
});

test('letters composed in either way are judged alike', async () => {
  const text = 'żółwik1';
  assert.equal(await weaknessOf(text.normalize('NFD'), []), 'short');
});
