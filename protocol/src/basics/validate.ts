/** Validates the schemas of this package. Small enough for the first load of the web app. */
import type { TSchema } from 'typebox';
import { isSum } from './schemas.ts';

interface Schema {
  type?: string;
  const?: unknown;
  anyOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  pattern?: string;
  minimum?: number;
}

/** Returns the path of the first value that does not match ('' for the value itself), or undefined if all match. */
type Check = (value: unknown) => string | undefined;

const checks = new WeakMap<object, Check>();

/**
 * Returns the path of the first value that does not match the schema, such as `files/3/size`, or undefined if everything matches.
 * Unknown members are allowed, because a newer server may add some. Integers are counts and sizes, so a negative one never matches, and
 * an unsafe one only if it is a sum.
 */
export const findMismatch = (schema: TSchema, value: unknown) => checkOf(schema as Schema)(value);

function checkOf(schema: Schema): Check {
  const known = checks.get(schema);
  if (known) return known;
  const check = compile(schema);
  checks.set(schema, check);
  return check;
}

const when =
  (fits: (value: unknown) => boolean): Check =>
  (value) =>
    fits(value) ? undefined : '';

function compile(schema: Schema): Check {
  const { type, anyOf, pattern, minimum = 0 } = schema;
  if (anyOf) {
    const parts = anyOf.map(checkOf);
    return when((value) => parts.some((part) => part(value) === undefined));
  }
  if ('const' in schema) return when((value) => value === schema.const);
  if (type === 'object') return objectCheck(schema);
  if (type === 'array') return arrayCheck(checkOf(schema.items!));
  if (type === 'null') return when((value) => value === null);
  if (type === 'integer') {
    const isInteger = isSum(schema) ? Number.isInteger : Number.isSafeInteger;
    return when((value) => isInteger(value) && (value as number) >= minimum);
  }
  if (pattern === undefined) return when((value) => typeof value === type);
  const regex = new RegExp(pattern);
  return when((value) => typeof value === 'string' && regex.test(value));
}

function arrayCheck(item: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return '';
    for (let at = 0; at < value.length; at++) {
      const wrong = item(value[at]);
      if (wrong !== undefined) return joined(at, wrong);
    }
    return undefined;
  };
}

function objectCheck({ properties = {}, required = [] }: Schema): Check {
  const members = Object.entries(properties).map(
    ([key, schema]) => [key, checkOf(schema), !required.includes(key)] as const,
  );
  return (value) => {
    if (typeof value !== 'object' || value === null) return '';
    for (const [key, check, isOptional] of members) {
      const member = (value as Record<string, unknown>)[key];
      if (isOptional && member === undefined) continue;
      const wrong = check(member);
      if (wrong !== undefined) return joined(key, wrong);
    }
    return undefined;
  };
}

const joined = (key: string | number, path: string) => (path === '' ? `${key}` : `${key}/${path}`);
