import type { TSchema } from 'typebox';

/** The keywords that the schemas of answers use; descriptions, patterns and limits are for the server's documentation. */
interface Schema {
  type?: string;
  const?: unknown;
  anyOf?: Schema[];
  required?: string[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

const typeOf = (value: unknown) =>
  value === null
    ? 'null'
    : Array.isArray(value)
      ? 'array'
      : Number.isInteger(value)
        ? 'integer'
        : typeof value;

/**
 * Checks the shape of an answer: types, constants, required members and list items. Members that the schema does not name
 * are allowed, so that a newer server can say more.
 *
 * @returns the path of the first wrong part with what was expected, as `shares[2].files: integer`; undefined if all is right
 */
export function findMismatch(schema: TSchema, value: unknown): string | undefined {
  return mismatchAt('', schema as Schema, value)?.replace(/^\./, '');
}

function mismatchAt(path: string, schema: Schema, value: unknown): string | undefined {
  const { type, anyOf, properties = {}, required = [], items } = schema;
  if (anyOf) {
    const faults = anyOf.map((each) => mismatchAt(path, each, value));
    return faults.includes(undefined) ? undefined : faults.at(-1);
  }
  if ('const' in schema) return value === schema.const ? undefined : `${path}: ${String(schema.const)}`;
  const actual = typeOf(value);
  if (type && type !== actual && !(type === 'number' && actual === 'integer')) return `${path}: ${type}`;
  if (actual === 'array' && items) {
    for (const [at, item] of (value as unknown[]).entries()) {
      const fault = mismatchAt(`${path}[${at}]`, items, item);
      if (fault) return fault;
    }
  }
  if (actual !== 'object') return undefined;
  for (const [name, member] of Object.entries(properties)) {
    const part = (value as Record<string, unknown>)[name];
    if (part === undefined && !required.includes(name)) continue;
    const fault = mismatchAt(`${path}.${name}`, member, part);
    if (fault) return fault;
  }
  return undefined;
}
