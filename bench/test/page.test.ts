import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { bareRows, judgePage } from '../src/page.ts';
import type { PageResult, PageTrip } from '../src/results.ts';

const trip = (mbps: number): PageTrip => ({ mbps, browserCpuPerGb: 9, serverCpuPerGb: 2 });

/** A page of 100 MB/s beside bare ones. */
const resultOf = (...bare: { fetch: number; socket: number }[]): PageResult => ({
  bytes: 2 ** 30,
  rounds: bare.map(({ fetch, socket }) => ({
    commandMbps: 120,
    page: trip(100),
    bare: { fetch: trip(fetch), socket: trip(socket) },
    keyMs: { median: 10, worst: 20 },
    tabBytes: { half: 3e8, whole: 3e8 },
  })),
});

suite('the web app beside a bare page', () => {
  const judged = (result: PageResult) =>
    judgePage([result]).find(({ text }) => text.endsWith('0.9 of a bare page'));

  test('must be near the faster one of both ways', () => {
    assert.deepEqual(judged(resultOf({ fetch: 80, socket: 110 })), {
      text: 'the web app, 1 GiB up: at least 0.9 of a bare page',
      verdict: 'pass',
      detail: '1.25 (fetch), 0.91 (socket)',
    });
    assert.equal(judged(resultOf({ fetch: 80, socket: 112 }))?.verdict, 'FAIL');
    assert.equal(judged(resultOf({ fetch: 112, socket: 80 }))?.verdict, 'FAIL');
  });

  test('is judged by the median of the rounds, and not at all without one', () => {
    const [near, far] = [
      { fetch: 100, socket: 100 },
      { fetch: 200, socket: 200 },
    ];
    assert.equal(judged(resultOf(near, far, near))?.verdict, 'pass');
    assert.equal(judged(resultOf(far, near, far))?.verdict, 'FAIL');
    assert.equal(judged(resultOf())?.verdict, 'not measured');
    assert.equal(judged({ bytes: 1, rounds: [{ failure: 'no page' }] })?.verdict, 'FAIL');
  });

  test('is shown with what browser and server cost', () => {
    assert.deepEqual(bareRows(resultOf({ fetch: 80, socket: 125 })), [
      ['the web app', '', '100', '9.00', '2.00'],
      ['a bare page, fetch', '1.25', '80', '9.00', '2.00'],
      ['a bare page, socket', '0.80', '125', '9.00', '2.00'],
    ]);
  });
});
