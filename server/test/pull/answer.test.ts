import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { judge } from '../../src/pull/answer.ts';

const SIZE = 1000;
const asked = { first: 100, last: 199 };

const answer = (statusCode: number, headers: Record<string, string>) =>
  ({ statusCode, headers }) as unknown as IncomingMessage;

test('a whole volume has the size of its spec, or tells none', () => {
  assert.deepEqual(
    judge(
      answer(200, { 'content-length': '1000', etag: '"x"', link: '<y>', 'set-cookie': 'z' }),
      undefined,
      SIZE,
    ),
    {
      status: 200,
      headers: { 'content-length': SIZE, etag: '"x"' },
      length: SIZE,
    },
  );
  assert.deepEqual(judge(answer(200, {}), undefined, SIZE), { status: 200, headers: {}, length: SIZE });
  for (const length of ['999', '1001', '0', '9007199254740993']) {
    assert.equal(judge(answer(200, { 'content-length': length }), undefined, SIZE), 'unfit', length);
  }
});

test('a part is the part that was asked for', () => {
  const good = {
    status: 206,
    headers: { 'content-range': 'bytes 100-199/1000', 'content-length': 100 },
    length: 100,
  };
  assert.deepEqual(judge(answer(206, { 'content-range': 'bytes 100-199/1000' }), asked, SIZE), good);
  assert.deepEqual(
    judge(answer(206, { 'content-range': 'bytes 100-199/*', 'content-length': '100' }), asked, SIZE),
    good,
  );
  assert.notEqual(judge(answer(206, { 'content-range': 'bytes 100-150/1000' }), asked, SIZE), 'unfit');
  for (const range of [
    '101-199/1000',
    '0-99/1000',
    '99-199/1000',
    '100-200/1000',
    '100-99/1000',
    '100-199/1001',
    '100-199/100',
    '*/1000',
    '',
  ]) {
    assert.equal(judge(answer(206, { 'content-range': `bytes ${range}` }), asked, SIZE), 'unfit', range);
  }
  assert.equal(
    judge(answer(206, { 'content-range': 'bytes 100-199/1000', 'content-length': '101' }), asked, SIZE),
    'unfit',
  );
  assert.equal(judge(answer(206, { 'content-range': 'bytes 100-199/1000' }), undefined, SIZE), 'unfit');
  assert.equal(judge(answer(206, { 'content-type': 'multipart/byteranges' }), asked, SIZE), 'unfit');
});
