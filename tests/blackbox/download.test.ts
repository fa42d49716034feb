import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import {
  assertError,
  makeFile,
  RawConnection,
  readVolume,
  register,
  sha256,
  type User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();
const SIZE = 1000;
const params = { name: 'żółw 🐢.txt', salt: 'AAECAw==', nested: { n: [1, 2.5, null, true] } };

interface Prepared {
  user: User;
  fileId: string;
  bytes: Buffer;
  etag: string;
}

async function prepare(): Promise<Prepared> {
  const user = await register(service);
  const { fileId, file } = await upload(user, makeFile([SIZE, 0, 70_000], { enc_params: params }));
  const bytes = file.volumes[0] as Buffer;
  return { user, fileId, bytes, etag: `"${sha256(bytes)}"` };
}

let file: Promise<Prepared> | undefined;
/** Reading changes nothing, so all tests read the same file. */
const prepared = (): Promise<Prepared> => {
  file ??= prepare();
  return file;
};

test('a volume comes with its bytes and headers, and no file name', async () => {
  const { user, fileId, bytes, etag } = await prepared();
  const answer = await readVolume(user, fileId, 1);
  assert.equal(answer.status, 200);
  assert.ok(answer.body.equals(bytes));
  assert.equal(answer.headers['content-type'], 'application/octet-stream');
  assert.equal(answer.headers['content-length'], String(SIZE));
  assert.equal(answer.headers['x-chunk-count'], '3');
  assert.equal(answer.headers.etag, etag);
  assert.equal(answer.headers['content-disposition'], undefined);
  assert.equal(answer.headers['content-encoding'], undefined);
  // No browser takes the bytes for something else, and no cache in between keeps them.
  assert.equal(answer.headers['x-content-type-options'], 'nosniff');
  assert.equal(answer.headers['cache-control'], 'private, no-cache');
});

test('X-Enc-Params is base64 of the JSON of enc_params, beyond ASCII too', async () => {
  const { user, fileId } = await prepared();
  const header = String((await readVolume(user, fileId, 1)).headers['x-enc-params']);
  assert.match(header, /^[A-Za-z0-9+/]+={0,2}$/);
  const text = Buffer.from(header, 'base64').toString('utf8');
  assert.equal(text, JSON.stringify(params));
});

test('every volume carries the same parameters and count, an empty one too', async () => {
  const { user, fileId } = await prepared();
  const answers = [
    await readVolume(user, fileId, 1),
    await readVolume(user, fileId, 2),
    await readVolume(user, fileId, 3),
  ];
  assert.deepEqual(
    answers.map((answer) => [answer.status, answer.body.length]),
    [
      [200, SIZE],
      [200, 0],
      [200, 70_000],
    ],
  );
  assert.equal(new Set(answers.map((answer) => answer.headers['x-enc-params'])).size, 1);
  assert.equal(new Set(answers.map((answer) => answer.headers['x-chunk-count'])).size, 1);
  assert.equal(new Set(answers.map((answer) => answer.headers.etag)).size, 3);
  assert.equal(answers[1]?.headers['content-length'], '0');
});

for (const idx of [
  '0',
  '01',
  '-1',
  '1.5',
  'abc',
  '4',
  '10001',
  '99999999999999999999',
  '1e0',
  '%20',
  '..',
  '%2e%2e%2f1',
]) {
  test(`volume ${idx} of 3 is 404 {error}`, async () => {
    const { user, fileId } = await prepared();
    assertError(await user.get(`/api/files/${fileId}/chunk/${idx}`), 404);
  });
}

test('nothing follows the headers of a HEAD, to the last byte of the connection', async () => {
  const { user, fileId } = await prepared();
  const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
  const connection = await RawConnection.open(service.url);
  connection.write(
    `HEAD ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\nConnection: close\r\n\r\n`,
  );
  const { text } = await connection.until(({ closed }) => closed);
  connection.destroy();
  assert.match(text, /^HTTP\/1\.1 200 OK\r\n[^\0]*\r\n\r\n$/);
  assert.equal(text.split('\r\n\r\n').length, 2);
});

test('HEAD answers the headers of GET without a body', async () => {
  const { user, fileId, etag } = await prepared();
  const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
  const [head, get] = [await user.call('HEAD', path), await user.get(path)];
  assert.equal(head.status, 200);
  assert.equal(head.headers.etag, etag);
  for (const name of ['content-type', 'content-length', 'x-enc-params', 'x-chunk-count', 'etag']) {
    assert.equal(head.headers[name], get.headers[name], name);
  }
  // RFC 9110 has ranges for GET only.
  const ranged = await user.call('HEAD', path, { headers: { range: 'bytes=0-1' } });
  assert.equal(ranged.status, 200);
  assert.equal(ranged.headers['content-length'], get.headers['content-length']);
  const missing = await user.call('HEAD', pathOf('readVolume', { file_id: fileId, idx: 4 }));
  assert.equal(missing.status, 404);
  assert.equal((await service.call({ method: 'HEAD', path })).status, 401);
});

for (const [range, start, end] of [
  ['bytes=0-0', 0, 0],
  ['bytes=0-999', 0, 999],
  ['bytes=10-19', 10, 19],
  ['bytes=990-', 990, 999],
  ['bytes=0-', 0, 999],
  ['bytes=999-999', 999, 999],
  ['bytes=500-5000', 500, 999],
  ['bytes=-5', 995, 999],
  ['bytes=-1000', 0, 999],
  ['bytes=-5000', 0, 999],
] as const) {
  test(`Range ${range} is 206 with its bytes`, async () => {
    const { user, fileId, bytes, etag } = await prepared();
    const answer = await readVolume(user, fileId, 1, { range });
    assert.equal(answer.status, 206, answer.excerpt);
    assert.ok(answer.body.equals(bytes.subarray(start, end + 1)));
    assert.equal(answer.headers['content-range'], `bytes ${start}-${end}/${SIZE}`);
    assert.equal(answer.headers['content-length'], String(end - start + 1));
    assert.equal(answer.headers['content-type'], 'application/octet-stream');
    assert.equal(answer.headers.etag, etag);
    assert.equal(answer.headers['x-chunk-count'], '3');
    assert.ok(answer.headers['x-enc-params']);
  });
}

for (const range of ['bytes=1000-', 'bytes=1000-1001', 'bytes=5000-6000', 'bytes=-0']) {
  test(`Range ${range} is 416 with the size`, async () => {
    const { user, fileId } = await prepared();
    const answer = await readVolume(user, fileId, 1, { range });
    assertError(answer, 416);
    assert.equal(answer.headers['content-range'], `bytes */${SIZE}`);
  });
}

test('a Range on an empty volume is 416', async () => {
  const { user, fileId } = await prepared();
  assertError(await readVolume(user, fileId, 2, { range: 'bytes=0-' }), 416);
});

for (const range of [
  'bytes=0-1,3-4',
  'bytes=0-1, -1',
  'bytes=abc',
  'bytes=',
  'bytes=-',
  'bytes=5-2',
  'bytes=1.5-2',
  'bytes=--5',
  'items=0-1',
  'bytes 0-1',
  'nonsense',
]) {
  test(`Range ${range} is ignored`, async () => {
    const { user, fileId, bytes } = await prepared();
    const answer = await readVolume(user, fileId, 1, { range });
    assert.equal(answer.status, 200, answer.excerpt);
    assert.ok(answer.body.equals(bytes));
    assert.equal(answer.headers['content-range'], undefined);
  });
}

test('If-None-Match is 304 when the ETag holds, in a list, weak, or for any', async () => {
  const { user, fileId, etag } = await prepared();
  for (const tag of [etag, `"other", ${etag}`, `W/${etag}`, '*']) {
    const answer = await readVolume(user, fileId, 1, { 'if-none-match': tag });
    assert.equal(answer.status, 304, tag);
    assert.equal(answer.body.length, 0);
    assert.equal(answer.headers.etag, etag);
  }
  const ranged = await readVolume(user, fileId, 1, { 'if-none-match': etag, range: 'bytes=0-1' });
  assert.equal(ranged.status, 304);
});

test('If-None-Match with another ETag is 200', async () => {
  const { user, fileId, etag } = await prepared();
  for (const tag of ['"other"', etag.replaceAll('"', ''), etag.toUpperCase(), '']) {
    assert.equal((await readVolume(user, fileId, 1, { 'if-none-match': tag })).status, 200, tag);
  }
});

test('If-None-Match does not open a file of another user, nor one that is not there', async () => {
  const { fileId, etag } = await prepared();
  const other = await register(service);
  assert.equal((await readVolume(other, fileId, 1, { 'if-none-match': '*' })).status, 403);
  assertError(await readVolume(other, 'nosuchfile0123456789', 1, { 'if-none-match': etag }), 404);
});

test('If-Range takes the range only while the ETag holds', async () => {
  const { user, fileId, bytes, etag } = await prepared();
  const range = 'bytes=10-19';
  const same = await readVolume(user, fileId, 1, { range, 'if-range': etag });
  assert.equal(same.status, 206);
  assert.ok(same.body.equals(bytes.subarray(10, 20)));
  for (const tag of ['"other"', `W/${etag}`, 'Sat, 01 Jan 2000 00:00:00 GMT']) {
    const changed = await readVolume(user, fileId, 1, { range, 'if-range': tag });
    assert.equal(changed.status, 200, tag);
    assert.ok(changed.body.equals(bytes));
  }
});

test('a download that the client breaks off harms nothing', async () => {
  const user = await register(service);
  const { fileId, file } = await upload(user, makeFile([4_000_000]));
  for (let i = 0; i < 5; i++) {
    const stop = new AbortController();
    setTimeout(() => stop.abort(), 3 + i);
    const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
    await user
      .get(path, { signal: stop.signal })
      .catch((error: Error) => assert.equal(error.name, 'AbortError'));
  }
  assert.ok((await readVolume(user, fileId, 1)).body.equals(file.volumes[0] as Buffer));
});
