import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFile, decodeInit, encodeInit, type InitBody, limits, RuleError } from '../src/index.ts';

const MAX = 1000;
const body = (chunks = 1, file_name = 'x'): InitBody => ({
  file_name,
  file_size: 5,
  total_sha256: '0'.repeat(64),
  chunk_count: chunks,
  chunks: Array.from({ length: chunks }, () => ({ size: 5, sha256: '0'.repeat(64) })),
  enc_params: {},
});
const check = (id: string, init: InitBody) => checkFile(id, { body: init, text: JSON.stringify(init) }, MAX);

test('an id of 22 to 64 letters, digits, - and _ and one volume; all rules of init hold', () => {
  for (const id of ['a'.repeat(22), '-_0Z'.repeat(16)]) assert.equal(check(id, body()).storedSize, 5);
  for (const id of [
    '',
    'a'.repeat(21),
    'a'.repeat(65),
    `${'a'.repeat(22)}/`,
    `${'a'.repeat(22)}\n`,
    'ż'.repeat(22),
  ])
    assert.throws(() => check(id, body()), RuleError, id);
  assert.throws(() => check('a'.repeat(22), body(2)), RuleError);
  assert.throws(() => check('a'.repeat(22), { ...body(), chunks: [] }), RuleError);
  const large = { ...body(), chunks: [{ size: MAX + 1, sha256: '0'.repeat(64) }] };
  assert.throws(() => check('a'.repeat(22), large), RuleError);
});

test('what is encoded is decoded, up to the limit of the header; nothing else is taken', () => {
  const init = body(1, 'żółw 🗄');
  const header = encodeInit(init)!;
  assert.match(header, /^[\x20-\x7e]+$/);
  assert.deepEqual(decodeInit(header), { body: init, text: JSON.stringify(init) });
  const room = (limits.initBase64Bytes / 4) * 3 - JSON.stringify(body(1, '')).length;
  assert.equal(encodeInit(body(1, 'n'.repeat(room)))?.length, limits.initBase64Bytes);
  assert.equal(encodeInit(body(1, 'n'.repeat(room + 1))), undefined);
  const long = Buffer.from(JSON.stringify(body(1, 'n'.repeat(room + 1)))).toString('base64');
  for (const text of [undefined, '', '*', 'e3', long, Buffer.from([0x22, 0xff, 0x22]).toString('base64')])
    assert.throws(() => decodeInit(text), RuleError, text?.slice(0, 20));
});

test('the numbers of the specification', () => {
  assert.partialDeepStrictEqual(limits, {
    jsonBodyBytes: 1_048_576,
    volumesPerFile: 10_000,
    fileNameChars: 255,
    dirNameChars: 64,
    usernameChars: { min: 3, max: 32 },
    passwordChars: { min: 6, max: 128 },
    encParamsBase64Bytes: 12 * 1024,
    initBase64Bytes: 12 * 1024,
    pullSeconds: 3600,
    pullDownloads: 8,
    pullConnections: 4,
    listPage: 1000,
    keysChars: 32_768,
  });
});
