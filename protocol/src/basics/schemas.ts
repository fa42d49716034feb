/** Schemas, and functions that build schemas, for all folders. */
import type { TObjectOptions, TProperties, TSchema } from 'typebox';
import { limits } from './limits.ts';
import { Type } from './type.ts';

/** An object with a name of its own in the OpenAPI document. */
export const Named = <Properties extends TProperties>(
  $id: string,
  properties: Properties,
  options: TObjectOptions = {},
) => Type.Object(properties, { $id, ...options });
export const Text = (description: string) => Type.String({ description });
export const Count = (description: string) => Type.Integer({ description });
const sums = new WeakSet<object>();
/** A sum of sizes. Callers declare sizes of up to 2^53 bytes, so that a sum may be larger than a safe integer, and is then inexact. */
export const Sum = (description: string) => {
  const schema = Type.Integer({ description });
  sums.add(schema);
  return schema;
};
export const isSum = (schema: object) => sums.has(schema);
/** A number of bytes declared by the caller. */
export const Size = (description: string) =>
  Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description });
export const Nullable = <Schema extends TSchema>(schema: Schema, description?: string) =>
  Type.Union([schema, Type.Null()], description === undefined ? {} : { description });
const inUtc = (description: string) => `${description && `${description}; `}ISO 8601, UTC`;
export const Time = (description = '') => Text(inUtc(description));
export const TimeOrNull = (description: string) => Nullable(Type.String(), inUtc(description));
export const Sha256 = (description: string) => Type.String({ pattern: '^[0-9A-Fa-f]{64}$', description });
export const FileIds = (maxItems: number, description = 'ids of files') =>
  Type.Array(Type.String(), { minItems: 1, maxItems, description });

export const ok = Type.Literal(true);
export const Ok = Type.Object({ ok });
export const ErrorBody = Named('Error', { error: Type.String() });
/** Error responses whose body has no field besides `error`. */
export const errors = <Status extends number>(...statuses: Status[]) =>
  Object.fromEntries(statuses.map((status) => [status, ErrorBody])) as Record<Status, typeof ErrorBody>;
/** Body of a 401 or 403 from a token or ownership check. */
export const DetailBody = Named('Detail', { detail: Type.String() });
export const DetailOrError = Type.Union([DetailBody, ErrorBody]);

/** Responses of raw bytes, with support for Range and If-None-Match. */
export const bytesOf = (description: string) => ({
  200: description,
  206: 'the range asked for',
  304: 'the ETag still matches',
  ...errors(404, 416),
});

/** Query parameters of a paged list. `what` describes the limit, `cursor` is the pattern of a cursor. */
export const pageOf = (what: string, cursor: string) => ({
  limit: Type.Optional(
    Type.String({ pattern: '^[1-9][0-9]{0,5}$', description: `${what}, at most ${limits.listPage}` }),
  ),
  cursor: Type.Optional(Type.String({ pattern: cursor, description: 'next_cursor of the previous page' })),
});
