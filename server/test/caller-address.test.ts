import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import { test } from 'node:test';
import { networkOf, parseCidrs } from '../src/platform/http/addresses.ts';
import { callerAddress } from '../src/platform/http/caller-address.ts';

const request = (peer: string, headers: Record<string, string> = {}, httpVersion = '1.1') =>
  ({
    socket: { remoteAddress: peer },
    headers: { host: '127.0.0.1:8080', ...headers },
    httpVersion,
  }) as unknown as IncomingMessage;
const nobody = parseCidrs('');
const own = (peer: string, headers?: Record<string, string>, version?: string) =>
  callerAddress(request(peer, headers, version), peer, nobody).own;

test('without a sign of a proxy the address is the caller’s own', () => {
  assert.equal(own('127.0.0.1'), '127.0.0.1');
  assert.equal(own('::ffff:127.0.0.1'), '127.0.0.1');
  assert.equal(own('10.1.2.3', { host: 'files.example.org' }), '10.1.2.3');
  for (const host of ['localhost:8080', '[::1]:8080', '127.0.0.1', 'x.localhost', hostname()]) {
    assert.equal(own('127.0.0.1', { host }), '127.0.0.1', host);
  }
});

test('with one it is not, from inside or outside', () => {
  for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'via', 'x-real-ip', 'cf-ray']) {
    for (const peer of ['127.0.0.1', '10.0.0.5', '::1', '203.0.113.9']) {
      assert.equal(own(peer, { [name]: '1' }), undefined, `${name} from ${peer}`);
    }
  }
  assert.equal(own('127.0.0.1', {}, '1.0'), undefined);
  assert.equal(own('127.0.0.1', { host: 'files.example.org' }), undefined);
  assert.equal(own('127.0.0.1', { host: '' }), undefined);
  for (const host of ['evillocalhost', 'localhost.example', 'localhost.evil:8080'])
    assert.equal(own('127.0.0.1', { host }), undefined, host);
});

test('only a proxy of the inside stands for everybody behind it', () => {
  const shared = (peer: string, headers?: Record<string, string>) =>
    callerAddress(request(peer, headers), peer, nobody).shared;
  assert.equal(shared('127.0.0.1'), false);
  assert.equal(shared('10.0.0.5', { via: '1.1 x' }), true);
  // A header that anybody can send must not free them from a limit.
  assert.equal(shared('203.0.113.9', { via: '1.1 x' }), false);
});

test('behind trusted proxies it is the address that they name, unless that one is a proxy itself', () => {
  const trusted = parseCidrs('127.0.0.0/8 10.0.0.0/8');
  const named = (chain: string, ip: string) =>
    callerAddress(request('127.0.0.1', { 'x-forwarded-for': chain, via: '1.1 x' }), ip, trusted).own;
  assert.equal(named('203.0.113.9', '203.0.113.9'), '203.0.113.9');
  assert.equal(named('203.0.113.9, 10.0.0.1', '203.0.113.9'), '203.0.113.9');
  assert.equal(named('127.0.0.1', '127.0.0.1'), '127.0.0.1');
  assert.equal(named('198.51.100.1, 192.168.0.7', '192.168.0.7'), undefined);
  const direct = callerAddress(request('127.0.0.1'), '127.0.0.1', trusted).own;
  assert.equal(direct, '127.0.0.1');
  assert.equal(callerAddress(request('127.0.0.1', {}, '1.0'), '127.0.0.1', trusted).own, undefined);
});

test('an IPv6 address counts by its /64', () => {
  for (const [address, network] of [
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::6', '2001:db8:1:2::/64'],
    ['2001:db8::6', '2001:db8:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['not an address', 'not an address'],
  ] as const) {
    assert.equal(networkOf(address), network);
  }
});
