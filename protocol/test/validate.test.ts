import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Sum } from '../src/basics/schemas.ts';
import { Type } from '../src/basics/type.ts';
import { findMismatch, type Route, routes } from '../src/index.ts';

const Answer = Type.Object({
  ok: Type.Literal(true),
  name: Type.String(),
  id: Type.Optional(Type.String({ pattern: '^[0-9a-f]+$' })),
  size: Type.Integer(),
  part: Type.Optional(Type.Number()),
  ended: Type.Union([Type.String(), Type.Null()]),
  list: Type.Array(Type.Object({ id: Type.String() })),
});
const right = { ok: true, name: 'a', size: 1, ended: null, list: [{ id: 'x' }] };

test('an answer that has the shape of its schema passes, also with more than it names', () => {
  assert.equal(findMismatch(Answer, right), undefined);
  assert.equal(
    findMismatch(Answer, { ...right, part: 0.5, ended: 'expired', list: [], more: {} }),
    undefined,
  );
  assert.equal(findMismatch(Answer, { ...right, part: 2 }), undefined, 'a whole number is a number');
});

test('the first wrong part is named', () => {
  for (const [answer, fault] of [
    [null, ''],
    [[], 'ok'],
    [{ ...right, ok: false }, 'ok'],
    [{ ...right, name: undefined }, 'name'],
    [{ ...right, size: 1.5 }, 'size'],
    [{ ...right, size: -1 }, 'size'],
    [{ ...right, size: 1e300 }, 'size'],
    [{ ...right, id: '../x' }, 'id'],
    [{ ...right, size: '1' }, 'size'],
    [{ ...right, ended: 5 }, 'ended'],
    [{ ...right, list: {} }, 'list'],
    [{ ...right, list: [{ id: 'x' }, {}] }, 'list/1/id'],
    [{ ...right, list: [{ id: 'x' }, null] }, 'list/1'],
  ] as const) {
    assert.equal(findMismatch(Answer, answer), fault);
  }
});

test('a sum may be larger than a safe integer, since each of its sizes may be as large as one', () => {
  const schema = Type.Object({ size: Sum('of all') });
  for (const size of [0, 2 ** 54]) assert.equal(findMismatch(schema, { size }), undefined);
  for (const size of [-1, 0.5, Number.POSITIVE_INFINITY, '1']) {
    assert.equal(findMismatch(schema, { size }), 'size');
  }
});

test('inherited members are no members', () => {
  const schema = Type.Object({ toString: Type.String() });
  assert.equal(findMismatch(schema, {}), 'toString');
});

test('every schema of an answer uses only keywords that are checked, or that describe', () => {
  const known = new Set(
    'type const anyOf required properties items $id description examples pattern minimum maximum minItems maxItems minLength maxLength format additionalProperties'.split(
      ' ',
    ),
  );
  const visit = (schema: Record<string, unknown>, where: string) => {
    for (const key of Object.keys(schema)) assert.ok(known.has(key), `${where}: ${key}`);
    const parts = [
      ...Object.values((schema['properties'] ?? {}) as object),
      ...((schema['anyOf'] ?? []) as object[]),
      ...(schema['items'] ? [schema['items'] as object] : []),
    ];
    for (const part of parts) visit(part as Record<string, unknown>, where);
  };
  for (const [name, { responses }] of Object.entries<Route>(routes)) {
    for (const answer of Object.values(responses)) {
      if (typeof answer !== 'string') visit(answer as unknown as Record<string, unknown>, name);
    }
  }
});
