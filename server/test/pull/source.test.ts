import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuleError } from '@szafa/protocol';
import fc from 'fast-check';
import { anyText } from '../../../tests/harness/any-text.ts';
import { checkPullAddress } from '../../src/transfers/pull/pull.ts';

const real = (base: string, token = 't') => checkPullAddress(base, token).of('id').real(7).href;

test('the address of a volume', () => {
  assert.equal(real('http://10.0.0.1:8000'), 'http://10.0.0.1:8000/pull/id/7?token=t');
  assert.equal(real('http://10.0.0.1:8000/'), 'http://10.0.0.1:8000/pull/id/7?token=t');
  assert.equal(real('HTTPS://Example.org/a/b//'), 'https://example.org/a/b/pull/id/7?token=t');
  assert.equal(real('http://[::1]:80'), 'http://[::1]/pull/id/7?token=t');
  assert.equal(real('http://2130706433'), 'http://127.0.0.1/pull/id/7?token=t');
  assert.equal(real('http://0x7f.1'), 'http://127.0.0.1/pull/id/7?token=t');
  assert.equal(real('http://h', "a&b=c#d?e%41+'"), 'http://h/pull/id/7?token=a%26b%3Dc%23d%3Fe%2541%2B%27');
});

test('the tool sees plain HTTP and the same volume', () => {
  const addresses = checkPullAddress('https://example.org:8443/x', 't').of('id');
  assert.equal(addresses.listed(7), 'http://example.org:8443/x/pull/id/7?token=t');
  assert.equal(addresses.volumeOf(addresses.listed(7)), 7);
  for (const other of [
    'http://example.org:8443/x/pull/id/07?token=t',
    'http://example.org:8443/x/pull/id/7?token=T',
    'http://example.org:8443/x/pull/id/7?token=t&x',
    'http://example.org:8443/x/pull/other/7?token=t',
    'http://example.org/x/pull/id/7?token=t',
    'https://example.org:8443/x/pull/id/7?token=t',
    '/x/pull/id/7?token=t',
    '',
  ]) {
    assert.equal(addresses.volumeOf(other), undefined, other);
  }
});

test('what is not an address of a server is refused', () => {
  for (const base of [
    '',
    'ftp://h',
    'file:///etc/passwd',
    'h:80',
    '//h',
    'http:h',
    'http://',
    'http://u@h',
    'http://u:p@h',
    'http://@h',
    'http://h/?q',
    'http://h/#f',
    'http://h\\@x',
    'http://h:99999',
    'http://h/\n  out=../../x',
    'http://h/\tx',
    'http://h /x',
    'http://h/\u0000',
    'http://h/\u0085',
    'http://h/\u2028',
    'http://h/\ud800',
    `http://h/${'x'.repeat(2048)}`,
  ]) {
    assert.throws(() => checkPullAddress(base, 't'), RuleError, JSON.stringify(base));
  }
});

test('a token that could change the list is refused', () => {
  for (const token of ['', 't\n  out=../../x', 't\r', '\u0000', '\ud800', 'x'.repeat(2049)]) {
    assert.throws(() => checkPullAddress('http://h', token), RuleError, JSON.stringify(token));
  }
});

test('any other token is one, and arrives as it is', () => {
  for (const token of [
    't x',
    ' ',
    't\t',
    '\u007f',
    '\u0085',
    '\u2028',
    '+',
    '%20',
    '🔑',
    'a&token=b',
    "'()*!~",
  ]) {
    const address = checkPullAddress('http://h', token).of('id').real(1);
    assert.equal(address.searchParams.get('token'), token);
    assert.equal(decodeURIComponent(address.search.slice('?token='.length)), token);
  }
});

test('whatever is accepted stays one line of harmless characters', () => {
  fc.assert(
    fc.property(anyText(40), anyText(40), (path, token) => {
      let addresses: ReturnType<ReturnType<typeof checkPullAddress>['of']>;
      try {
        addresses = checkPullAddress(`http://h/${path}`, token).of('id');
      } catch (error) {
        assert.ok(error instanceof RuleError);
        return;
      }
      assert.match(addresses.listed(1), /^http:\/\/h\/[!-~]*\/?pull\/id\/1\?token=[A-Za-z0-9._~%-]+$/);
      assert.equal(addresses.real(1).searchParams.get('token'), token);
      assert.equal(addresses.real(1).hostname, 'h');
    }),
    { numRuns: 300 },
  );
});
