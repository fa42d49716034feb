import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { anyText } from '../../tests/harness/any-text.ts';
import {
  filesHeadShape,
  JsonScan,
  type JsonShape,
  limits,
  type Route,
  RuleError,
  routes,
  shapeOf,
} from '../src/index.ts';

const NO_LIMIT: JsonShape = { depth: 1e9, containers: 1e9, marks: 1e9 };

/** What the scan counts, of a value. */
function countsOf(value: unknown): JsonShape {
  if (typeof value !== 'object' || value === null) return { depth: 0, containers: 0, marks: 0 };
  const parts = Object.values(value).map(countsOf);
  const sum = (pick: (part: JsonShape) => number) => parts.reduce((total, part) => total + pick(part), 0);
  return {
    depth: 1 + Math.max(0, ...parts.map(({ depth }) => depth)),
    containers: 1 + sum(({ containers }) => containers),
    marks: 1 + Math.max(0, parts.length - 1) + sum(({ marks }) => marks),
  };
}

function scanned(bytes: Uint8Array, cuts: number[], most = NO_LIMIT): JsonShape {
  const scan = new JsonScan(most);
  let from = 0;
  for (const cut of [...cuts.map((part) => part % (bytes.length + 1)).sort((a, b) => a - b), bytes.length]) {
    scan.read(bytes.subarray(from, cut));
    from = cut;
  }
  return scan.counts;
}

const hard = fc.oneof(
  fc.constantFrom('[', '{', '"', '\\', '\\"', '"]', ',,', '\\\\', '\\u0022[', '}{'),
  anyText(10),
);
const value = fc.jsonValue({ maxDepth: 5 });
const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
  tree: fc.oneof(
    { maxDepth: 4 },
    hard,
    fc.integer(),
    value,
    fc.array(tie('tree'), { maxLength: 4 }),
    fc.dictionary(hard, tie('tree'), { maxKeys: 4 }),
  ),
}));
const cuts = fc.array(fc.nat(), { maxLength: 6 });
const indent = fc.constantFrom(undefined, 1, '\t');

test('the scan counts what is in the JSON, wherever the text is cut', () => {
  fc.assert(
    fc.property(tree, indent, cuts, (any, gap, at) => {
      const text = JSON.stringify(any, null, gap);
      assert.deepEqual(scanned(Buffer.from(text), at), countsOf(any));
    }),
    { numRuns: 500 },
  );
});

test('the scan counts what JSON.parse finds', () => {
  // Without escapes in keys: V8 14.6 takes such a key for another one, if it has seen that one in the same place before.
  const object = fc.dictionary(fc.constantFrom('[', '{', ',', 'a'), fc.oneof(hard, fc.array(hard)));
  fc.assert(
    fc.property(fc.array(object), (any) => {
      const text = JSON.stringify(any);
      assert.deepEqual(scanned(Buffer.from(text), []), countsOf(JSON.parse(text)));
    }),
  );
});

test('bytes of any kind are counted without an error, and the same in one piece or many', () => {
  const bytes = fc.uint8Array({ maxLength: 200 });
  const marks = fc
    .string({ unit: fc.constantFrom('"', '\\', '[', ']', '{', '}', ',', 'a'), maxLength: 60 })
    .map((text) => Buffer.from(text));
  fc.assert(
    fc.property(fc.oneof(bytes, marks), cuts, (any, at) =>
      assert.deepEqual(scanned(any, at), scanned(any, [])),
    ),
    { numRuns: 500 },
  );
});

test('what is over a limit is refused, what is at the limit is not', () => {
  fc.assert(
    fc.property(tree, cuts, (any, at) => {
      const bytes = Buffer.from(JSON.stringify(any));
      const counts = countsOf(any);
      scanned(bytes, at, counts);
      for (const what of ['depth', 'containers', 'marks'] as const) {
        if (counts[what] === 0) continue;
        assert.throws(() => scanned(bytes, at, { ...NO_LIMIT, [what]: counts[what] - 1 }), RuleError);
      }
    }),
  );
});

/** What matters here of a schema. */
interface Schema {
  type?: string;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  items?: Schema;
  maxItems?: number;
  additionalProperties?: unknown;
}

/** The longest enc_params, in the forms that have the most of something. */
const ENC_PARAMS_BYTES = (limits.encParamsBase64Bytes / 4) * 3;
const filled = (text: (times: number) => string) => {
  let times = 1;
  while (text(times + 1).length <= ENC_PARAMS_BYTES) times++;
  return JSON.parse(text(times)) as unknown;
};
const MOST_ENC_PARAMS = [
  filled((times) => `{"":${'['.repeat(times)}${']'.repeat(times)}}`),
  filled((times) => `{"":[${'[],'.repeat(times)}0]}`),
  filled((times) => `{"":[${'0,'.repeat(times)}0]}`),
];

/** A value that obeys the schema, with every optional key and as many items as there may be. */
function largest(schema: Schema, encParams: unknown): unknown {
  const { type, anyOf, properties = {}, items, maxItems } = schema;
  if (anyOf) return largest(anyOf.find(({ type: of }) => of === 'object') ?? anyOf[0]!, encParams);
  if (type === 'array') return Array.from({ length: maxItems! }, () => largest(items!, encParams));
  if (type !== 'object') return 'a"]{,\\';
  if (schema.additionalProperties === true) return encParams;
  return Object.fromEntries(Object.entries(properties).map(([key, part]) => [key, largest(part, encParams)]));
}

test('the largest legal body of every route passes, with keys that nobody knows', () => {
  const bodies = Object.entries<Route>(routes).flatMap(([name, { body }]) =>
    body ? [[name, body] as const] : [],
  );
  assert.ok(bodies.length > 20);
  for (const [name, body] of bodies) {
    for (const encParams of MOST_ENC_PARAMS) {
      const unknown = Array.from({ length: limits.unknownJson.values - 10 }, (_, at) => at);
      let deep: unknown = 0;
      for (let level = 1; level < limits.unknownJson.depth; level++) deep = { deep };
      for (const more of [{}, { unknown }, { deep }]) {
        const text = JSON.stringify({ ...(largest(body as Schema, encParams) as object), ...more });
        assert.doesNotThrow(() => scanned(Buffer.from(text), [], shapeOf(body)), `${name}`);
      }
    }
  }
});

test('hostile bodies are refused on every route, at their beginning', () => {
  const MIB = 1_048_576;
  const shapes = Object.values<Route>(routes).flatMap(({ body }) => (body ? [shapeOf(body)] : []));
  for (const shape of [...shapes, filesHeadShape]) {
    for (const piece of ['[', '{"a":', '{},', '0,', '"",', '[],', '"a":0,']) {
      const bytes = Buffer.from(`{"files":[${piece.repeat(MIB / piece.length)}`);
      assert.throws(() => scanned(bytes, [], shape), RuleError, piece);
      // So many would be parsed before the refusal; the longest legal body has 10,000 volumes.
      assert.ok(
        shape.marks < 100_000 && shape.containers < 20_000 && shape.depth < 5000,
        JSON.stringify(shape),
      );
    }
  }
});
