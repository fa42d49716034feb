import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RuleError } from '@szafa/protocol';
import { networkOf, parseCidrs, plainAddress } from '../src/platform/http/addresses.ts';

test('an address has one spelling', () => {
  for (const [given, plain] of [
    ['10.0.0.1', '10.0.0.1'],
    ['::ffff:10.0.0.1', '10.0.0.1'],
    ['::FFFF:0a00:0001', '10.0.0.1'],
    ['[::1]', '::1'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['FE80::1%eth0', 'fe80::1'],
    ['2001:DB8::0:1', '2001:db8::1'],
    ['example.org', null],
    ['010.0.0.1', null],
    ['', null],
  ] as const) {
    assert.equal(plainAddress(given), plain, given);
  }
});

test('networks and single addresses', () => {
  const list = parseCidrs('10.0.0.0/8, 192.168.1.7 2001:db8::/32,::ffff:172.16.0.0/108');
  for (const inside of ['10.255.0.1', '::ffff:10.1.2.3', '192.168.1.7', '2001:db8:1::', '172.31.255.255']) {
    assert.ok(list.contains(inside), inside);
  }
  for (const outside of [
    '11.0.0.1',
    '192.168.1.8',
    '2001:db9::1',
    '172.32.0.0',
    '::1',
    '::ffff:b00:1',
    'x',
  ]) {
    assert.ok(!list.contains(outside), outside);
  }
});

test('everything, and nothing', () => {
  const all = parseCidrs('0.0.0.0/0,::/0');
  assert.ok(all.contains('8.8.8.8') && all.contains('::1'));
  const v4 = parseCidrs('0.0.0.0/0');
  assert.ok(v4.contains('::ffff:8.8.8.8') && !v4.contains('::1'));
  assert.ok(!parseCidrs(' ').contains('127.0.0.1'));
});

test('a wrong entry is named', () => {
  for (const entry of [
    '10.0.0.0/33',
    '::/129',
    '10.0.0',
    'localhost',
    '10.0.0.0/',
    '10.0.0.0/-1',
    '/8',
    'a/b/c',
    '::ffff:10.0.0.0/64',
    'fe80::1%eth0/64',
  ]) {
    assert.throws(
      () => parseCidrs(`127.0.0.1,${entry}`),
      (error) => error instanceof RuleError && error.message.includes(`"${entry}"`),
      entry,
    );
  }
});

test('the network of an address is what one customer gets', () => {
  for (const [address, network] of Object.entries({
    '192.0.2.1': '192.0.2.1',
    '::ffff:192.0.2.1': '192.0.2.1',
    '2001:db8:1:2:3:4:5:6': '2001:db8:1:2::/64',
    '2001:db8:1:2::6': '2001:db8:1:2::/64',
    '2001:db8:1:3::6': '2001:db8:1:3::/64',
    '::1': '0:0:0:0::/64',
    'fe80::1%eth0': 'fe80:0:0:0::/64',
  }))
    assert.equal(networkOf(address), network, address);
});
