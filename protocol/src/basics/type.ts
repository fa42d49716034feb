import type TypeBox from 'typebox';

type Keywords = Record<string, unknown>;

const optional = new WeakSet<object>();
const type =
  (name: string) =>
  (options: Keywords = {}): Keywords => ({ type: name, ...options });

/**
 * The schema builders of TypeBox that this package needs, with TypeBox's types. Reimplemented because the package has 373 modules,
 * which every process would have to load.
 */
export const Type = {
  String: type('string'),
  Integer: type('integer'),
  Number: type('number'),
  Boolean: type('boolean'),
  Null: type('null'),
  Literal: (value: unknown, options: Keywords = {}) => ({ type: typeof value, const: value, ...options }),
  Union: (anyOf: Keywords[], options: Keywords = {}) => ({ anyOf, ...options }),
  Array: (items: Keywords, options: Keywords = {}) => ({ type: 'array', items, ...options }),
  Object: (properties: Record<string, Keywords>, options: Keywords = {}) => {
    const required = Object.keys(properties).filter((name) => !optional.has(properties[name]!));
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...options };
  },
  /** Returns the schema unchanged, with the type that the caller names. */
  Unsafe: (schema: Keywords) => schema,
  Optional: (schema: Keywords) => {
    const copy = { ...schema };
    optional.add(copy);
    return copy;
  },
} as unknown as Pick<
  typeof TypeBox,
  | 'Array'
  | 'Boolean'
  | 'Integer'
  | 'Literal'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unsafe'
>;
