import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import {
  checkComplete,
  checkStreamedInit,
  contentDigest,
  isStreamedInit,
  parseContentDigest,
  RuleError,
} from '@szafa/protocol';

const hex = () => randomBytes(32).toString('hex');
const base64 = (sha256: string) => Buffer.from(sha256, 'hex').toString('base64');

test('what a client writes as Content-Digest is what the service reads, whatever stands beside it', () => {
  for (let round = 0; round < 200; round++) {
    const sha256 = hex();
    const own = contentDigest(sha256);
    assert.equal(own, `sha-256=:${base64(sha256)}:`);
    const sha512 = `sha-512=:${createHash('sha512').update(sha256).digest('base64')}:`;
    const other = `x${round}.*-_=:${randomBytes(round % 70).toString('base64')}:`;
    const blank = ['', ' ', '\t', '  \t '][round % 4]!;
    const parts = [[own], [own, sha512], [sha512, own], [other, sha512, own]][round % 4]!;
    assert.equal(parseContentDigest(parts.join(`${blank},${blank}`)), sha256);
  }
});

test('no change of one character leaves a Content-Digest that says something else and is taken', () => {
  const sha256 = hex();
  const right = contentDigest(sha256);
  for (let at = 0; at < right.length; at++) {
    for (const with_ of ['', ' ', ',', ':', '=', ';', 'A', '-', '_', '\n', 'é']) {
      const wrong = right.slice(0, at) + with_ + right.slice(at + 1);
      if (wrong === right) continue;
      let said: string | undefined;
      try {
        said = parseContentDigest(wrong);
      } catch (error) {
        assert.ok(error instanceof RuleError);
        continue;
      }
      // Then it is another digest, whole and in the one way to write it.
      assert.equal(contentDigest(said), wrong);
    }
  }
});

test('a Content-Digest without a SHA-256, with two, or malformed is refused', () => {
  const right = contentDigest(hex());
  for (const wrong of [
    undefined,
    '',
    ' ',
    ',',
    `${right},`,
    `,${right}`,
    `${right}, ${right}`,
    `${right} ${right}`,
    `${right};a=b`,
    'sha-256',
    'sha-256=',
    'sha-256=::',
    'sha-256=?1',
    right.replace('sha-256', 'SHA-256'),
    right.replace('sha-256', 'sha256'),
    right.replace('=:', '= :'),
    right.replace('=:', ':'),
    `sha-256=:${randomBytes(31).toString('base64')}:`,
    `sha-256=:${randomBytes(33).toString('base64')}:`,
    `sha-256=:${randomBytes(32).toString('base64url')}-:`,
    `sha-256=:${randomBytes(32).toString('hex')}:`,
    `sha-512=:${randomBytes(64).toString('base64')}:`,
    `${right}, nonsense`,
  ]) {
    assert.throws(() => parseContentDigest(wrong), RuleError, String(wrong));
  }
  // A header full of blanks is read in no time.
  const since = performance.now();
  assert.throws(() => parseContentDigest(' '.repeat(16_000)), RuleError);
  assert.throws(() => parseContentDigest(`${' \t'.repeat(8000)}x`), RuleError);
  assert.ok(performance.now() - since < 1000);
});

test('an init is streamed by "streamed": true alone', () => {
  assert.ok(isStreamedInit({ streamed: true }));
  for (const body of [
    null,
    undefined,
    1,
    'x',
    [],
    {},
    { streamed: 1 },
    { streamed: 'true' },
    { streamed: {} },
  ]) {
    assert.ok(!isStreamedInit(body));
  }
});

test('a streamed init has sizes and no digests, or nothing', () => {
  const unsized = checkStreamedInit({ streamed: true, dir_id: 7 }, 100);
  assert.deepEqual(
    [unsized.streamed, unsized.volumes, unsized.storedSize, unsized.dirId],
    ['unsized', [], 0, 7],
  );
  const chunks = [
    { size: 5, idx: 2 },
    { size: 100, idx: 1 },
  ];
  const sized = checkStreamedInit({ streamed: true, chunk_count: 2, chunks }, 100);
  assert.equal(sized.streamed, 'sized');
  assert.equal(sized.storedSize, 105);
  assert.deepEqual(sized.volumes, [
    { idx: 1, size: 100, sha256: '' },
    { idx: 2, size: 5, sha256: '' },
  ]);
  for (const wrong of [
    { chunk_count: 2 },
    { chunks },
    { chunk_count: 1, chunks },
    { chunk_count: 2, chunks: [{ size: 1 }, { size: 101 }] },
    { chunk_count: 2, chunks: [{ size: 1, idx: 3 }, { size: 1 }] },
  ]) {
    assert.throws(() => checkStreamedInit({ streamed: true, ...wrong }, 100), RuleError);
  }
});

test('complete says what the file is, with enc_params as they were sent', () => {
  const text =
    '{"file_name":" a/b ","enc_params":{"n": 1.0},"file_size":3,"chunk_count":2,"total_sha256":"AB"}';
  assert.deepEqual(checkComplete({ body: JSON.parse(text), text }), {
    fileName: 'ab',
    fileSize: 3,
    totalSha256: 'ab',
    encParams: '{"n": 1.0}',
    chunkCount: 2,
  });
});
