import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import Value from 'typebox/value';
import { checkInit, InitBody, limits, type NewTransfer, RuleError, targetDir } from '../src/index.ts';

const MAX = 5 * 1024 ** 3;
const digest = fc
  .tuple(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.boolean())
  .map(([bytes, capitals]) => (capitals ? bytes.toHex().toUpperCase() : bytes.toHex()));

/** What the service does with a body: the schema first, then the rules. */
function accept(body: unknown): NewTransfer | undefined {
  if (!Value.Check(InitBody, body)) return undefined;
  try {
    return checkInit({ body, text: JSON.stringify(body) }, MAX);
  } catch (error) {
    assert.ok(error instanceof RuleError, String(error));
    return undefined;
  }
}

const goodBody = fc
  .array(fc.record({ size: fc.nat({ max: 2 ** 31 - 1 }), sha256: digest }), { minLength: 1, maxLength: 30 })
  .chain((chunks) =>
    fc.record({
      file_name: fc.string({ unit: fc.constantFrom(...'abcxyz'), minLength: 1, maxLength: 20 }),
      file_size: fc.maxSafeNat(),
      total_sha256: digest,
      chunk_count: fc.constant(chunks.length),
      chunks: fc.constant(chunks),
      enc_params: fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }),
      dir_id: fc.option(fc.nat({ max: 1000 })),
    }),
  );

test('a good body is kept as it was sent: order, sizes, digests in lower case', () => {
  fc.assert(
    fc.property(goodBody, (body) => {
      const kept = accept(body);
      assert.ok(kept);
      assert.deepEqual(
        kept.volumes,
        body.chunks.map((chunk, at) => ({
          idx: at + 1,
          size: chunk.size,
          sha256: chunk.sha256.toLowerCase(),
        })),
      );
      assert.equal(
        kept.storedSize,
        body.chunks.reduce((sum, chunk) => sum + chunk.size, 0),
      );
      assert.equal(kept.fileSize, body.file_size);
      assert.equal(kept.totalSha256, body.total_sha256.toLowerCase());
      assert.equal(kept.dirId, body.dir_id ?? 0);
      assert.equal(kept.encParams, JSON.stringify(body.enc_params));
    }),
  );
});

test('numbered entries mean the same in any order', () => {
  fc.assert(
    fc.property(goodBody, fc.infiniteStream(fc.nat()), (body, random) => {
      const numbered = body.chunks.map((chunk, at) => ({
        ...chunk,
        idx: at + 1,
        order: random.next().value,
      }));
      const shuffled = numbered.sort((a, b) => a.order - b.order).map(({ order: _, ...chunk }) => chunk);
      assert.deepEqual(accept({ ...body, chunks: shuffled }), accept(body));
    }),
  );
});

test('numbers that are not exactly 1..chunk_count are refused', () => {
  fc.assert(
    fc.property(goodBody, fc.nat(), fc.integer({ min: -5, max: 40 }), (body, at, idx) => {
      const spot = at % body.chunks.length;
      const chunks = body.chunks.map((chunk, place) => ({ ...chunk, idx: place === spot ? idx : place + 1 }));
      assert.equal(accept({ ...body, chunks }) !== undefined, idx === spot + 1);
    }),
  );
});

test('a chunk_count that is not the number of entries is refused', () => {
  fc.assert(
    fc.property(goodBody, fc.integer({ min: -2, max: limits.volumesPerFile + 1 }), (body, count) => {
      assert.equal(accept({ ...body, chunk_count: count }) !== undefined, count === body.chunks.length);
    }),
  );
});

test('one key missing, or of another type, is refused', () => {
  const other = fc.oneof(
    fc.constant(null),
    fc.boolean(),
    fc.double({ noInteger: true }),
    fc.constant([]),
    fc.constant('x'),
  );
  const required = ['file_name', 'file_size', 'total_sha256', 'chunk_count', 'chunks', 'enc_params'] as const;
  fc.assert(
    fc.property(goodBody, fc.constantFrom(...required), other, (body, key, value) => {
      const { [key]: _, ...rest } = body;
      assert.equal(accept(rest), undefined);
      if (key === 'file_name' && value === 'x') return;
      assert.equal(accept({ ...body, [key]: value }), undefined);
    }),
  );
});

test('any JSON at all is taken or refused, and never breaks the check', () => {
  fc.assert(fc.property(fc.jsonValue(), (body) => void accept(body)));
  // Bodies that pass the schema's first look: a good one with any value in any place.
  const keys = [
    'file_name',
    'file_size',
    'total_sha256',
    'chunk_count',
    'chunks',
    'enc_params',
    'dir_id',
  ] as const;
  fc.assert(
    fc.property(goodBody, fc.constantFrom(...keys), fc.jsonValue(), (body, key, value) => {
      accept({ ...body, [key]: value });
    }),
  );
});

/** A good body in which enc_params stand as this text. */
const withParams = (text: string) =>
  `{"file_name": "x", "file_size": 0, "total_sha256": "${'0'.repeat(64)}", "chunk_count": 1,
    "chunks": [{"size": 0, "sha256": "${'0'.repeat(64)}"}], "enc_params": ${text} }`;

test('enc_params are kept as the text that was sent', () => {
  for (const params of [
    '{"n": 9007199254740993, "huge":1e400, "small" : -0.0, "e": 1.50E+2}',
    '{"twice": 1, "twice": 2}',
    '{ "\\u0061\\/\\ud800\\u0000": "\\"}{" }',
    '{\n\t"2": [ ], "1": {}}',
    '{}',
  ]) {
    const text = withParams(params);
    const sent = { body: JSON.parse(text) as InitBody, text };
    assert.equal(checkInit(sent, MAX).encParams, params);
  }
});

test('the limit of enc_params counts the text that was sent, however deep it is', () => {
  const check = (params: string) => {
    const text = withParams(params);
    return checkInit({ body: JSON.parse(text) as InitBody, text }, MAX).encParams.length;
  };
  const most = (limits.encParamsBase64Bytes / 4) * 3;
  const padded = (length: number) => `{${' '.repeat(length - 2)}}`;
  assert.equal(check(padded(most)), most);
  assert.throws(() => check(padded(most + 1)), RuleError);
  assert.equal(check(`{"a":${'['.repeat(4000)}${']'.repeat(4000)}}`), 8006);
  assert.throws(() => check(`{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`), RuleError);
});

test("a directory of any integer is taken, and one that none can have is nobody's", () => {
  const dirOf = (dir_id: number | null | undefined) => targetDir(dir_id === undefined ? {} : { dir_id });
  for (const root of [0, -0, null, undefined]) assert.ok(Object.is(dirOf(root), 0));
  for (const dirId of [1, 42, Number.MAX_SAFE_INTEGER, -1, -7]) assert.equal(dirOf(dirId), dirId);
  for (const huge of [2 ** 53, -(2 ** 53), 1e308, Number.POSITIVE_INFINITY]) assert.equal(dirOf(huge), -1);
});

test('a volume over the limit, and a sum that is no safe integer, are refused', () => {
  const chunk = (size: number) => ({ size, sha256: '0'.repeat(64) });
  const body = (chunks: { size: number; sha256: string }[]) => ({
    file_name: 'x',
    file_size: 0,
    total_sha256: '0'.repeat(64),
    chunk_count: chunks.length,
    chunks,
    enc_params: {},
  });
  assert.ok(accept(body([chunk(MAX)])));
  assert.equal(accept(body([chunk(MAX + 1)])), undefined);
  const half = Math.ceil(Number.MAX_SAFE_INTEGER / 2);
  const large = body([chunk(half), chunk(half + 1)]);
  const sent = { body: large, text: JSON.stringify(large) };
  assert.throws(() => checkInit(sent, Number.MAX_SAFE_INTEGER), RuleError);
});
