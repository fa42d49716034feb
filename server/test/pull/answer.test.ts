import assert from 'node:assert/strict';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { test } from 'node:test';
import {
  checkResponse,
  parseRange,
  requireLength,
  WrongLengthError,
} from '../../src/transfers/pull/answer.ts';

const SIZE = 1000;
const asked = { first: 100, last: 199 };

const answer = (statusCode: number, headers: Record<string, string>) =>
  ({ statusCode, headers }) as unknown as IncomingMessage;

test('a whole volume has the size of its spec, or tells none', () => {
  assert.deepEqual(
    checkResponse(
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
  assert.deepEqual(checkResponse(answer(200, {}), undefined, SIZE), {
    status: 200,
    headers: {},
    length: SIZE,
  });
  for (const length of ['999', '1001', '0', '9007199254740993']) {
    assert.equal(
      checkResponse(answer(200, { 'content-length': length }), undefined, SIZE),
      undefined,
      length,
    );
  }
});

test('a part is the part that was asked for', () => {
  const good = {
    status: 206,
    headers: { 'content-range': 'bytes 100-199/1000', 'content-length': 100 },
    length: 100,
  };
  assert.deepEqual(checkResponse(answer(206, { 'content-range': 'bytes 100-199/1000' }), asked, SIZE), good);
  assert.deepEqual(
    checkResponse(answer(206, { 'content-range': 'bytes 100-199/*', 'content-length': '100' }), asked, SIZE),
    good,
  );
  assert.notEqual(
    checkResponse(answer(206, { 'content-range': 'bytes 100-150/1000' }), asked, SIZE),
    undefined,
  );
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
    assert.equal(
      checkResponse(answer(206, { 'content-range': `bytes ${range}` }), asked, SIZE),
      undefined,
      range,
    );
  }
  assert.equal(
    checkResponse(
      answer(206, { 'content-range': 'bytes 100-199/1000', 'content-length': '101' }),
      asked,
      SIZE,
    ),
    undefined,
  );
  assert.equal(
    checkResponse(answer(206, { 'content-range': 'bytes 100-199/1000' }), undefined, SIZE),
    undefined,
  );
  assert.equal(
    checkResponse(answer(206, { 'content-type': 'multipart/byteranges' }), asked, SIZE),
    undefined,
  );
});

test('a range of the tool ends with the volume', () => {
  assert.deepEqual(parseRange('bytes=100-', SIZE), { first: 100, last: 999 });
  assert.deepEqual(parseRange('bytes=100-5000', SIZE), { first: 100, last: 999 });
  assert.deepEqual(parseRange('bytes=999-999', SIZE), { first: 999, last: 999 });
  for (const other of ['bytes=1000-', 'bytes=5-4', 'bytes=-5', 'bytes=0-1,3-4', '']) {
    assert.equal(parseRange(other, SIZE), null, other);
  }
});

test('exactly so many bytes pass: not one more, not one fewer', async () => {
  const pass = async (...chunks: number[]) => {
    let passed = 0;
    await pipeline(
      Readable.from(chunks.map((bytes) => Buffer.alloc(bytes))),
      requireLength(10),
      async (source: AsyncIterable<Buffer>) => {
        for await (const { length } of source) passed += length;
      },
    );
    return passed;
  };
  for (const chunks of [[10], [9, 1], [1, 9]]) assert.equal(await pass(...chunks), 10);
  for (const chunks of [[11], [10, 1], [9, 2], [9], []])
    await assert.rejects(pass(...chunks), WrongLengthError);
});
