import { answersOf, type Route, routes } from '@szafa/protocol';
import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';

/** Collects the named schemas of the route table. Each is registered once and used by reference. */
export function namedSchemas(): TSchema[] {
  const found = new Map<string, TSchema>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    const { $id } = value as { $id?: string };
    if ($id !== undefined) found.set($id, value as TSchema);
    for (const part of Object.values(value)) visit(part);
  };
  visit(routes);
  return [...found.values()].map((schema) => ({ ...(refer(schema, false) as TSchema) }));
}

/** Copies a schema, replacing every named part by a reference. */
function refer(value: unknown, atTop = true): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => refer(part));
  const { $id } = value as { $id?: string };
  if (atTop && $id !== undefined) return { $ref: `${$id}#` };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, refer(part)]));
}

const ERROR = { $ref: 'Error#' };
const UNAUTHORIZED = { $ref: 'Detail#' };

/** Builds the schema for Fastify and the OpenAPI document, where `name` is the operation id. */
export function schemaOf(name: string, route: Route): FastifySchema {
  const response: Record<number, unknown> = {};
  const isOpen = route.access === 'open';
  for (const [status, schema] of Object.entries(answersOf(route))) {
    response[Number(status)] =
      typeof schema === 'string'
        ? { description: schema }
        : described(Number(status), refer(schema) as object);
  }
  if (!isOpen || route.body) response[503] = described(503, ERROR);
  if (route.body || route.rawBody) response[408] = described(408, ERROR);
  if (route.body) response[413] = described(413, ERROR);
  // A path that is not UTF-8.
  if (route.path.includes('{')) response[400] ??= described(400, ERROR);
  if (isOpen && !route.body) response[400] = { description: 'not valid HTTP', ...ERROR };
  if (!isOpen) response[401] = { description: 'no valid token', ...UNAUTHORIZED };
  const schema: Record<string, unknown> = {
    operationId: name,
    summary: route.summary,
    tags: [route.tag],
    response,
    security: isOpen ? [] : [{ bearer: [] }],
  };
  if (route.body) schema['body'] = refer(route.body);
  if (route.query) schema['querystring'] = refer(route.query);
  if (route.headers) schema['headers'] = refer(route.headers);
  if (route.rawBody) {
    schema['consumes'] = ['application/octet-stream'];
    // No validation: the receiver checks the bytes.
    schema['body'] = { description: route.rawBody === true ? 'raw bytes of the volume' : route.rawBody };
  }
  return schema as FastifySchema;
}

/** Descriptions of the status codes. */
const MEANING: Record<number, string> = {
  200: 'done',
  400: 'the request is not valid; the message says why',
  401: 'unknown username or wrong password; or the password is right and a code is needed',
  403: 'not allowed, not for this token, or not yours',
  404: 'not found',
  408: 'the body, or the request, took too long',
  409: 'conflicts with what is there, or failed on the disk',
  410: 'no longer available; the answer says why',
  411: 'the length of the body is missing',
  412: 'it has changed since it was read',
  413: 'the body is too large',
  416: 'the range is outside the volume',
  428: 'neither If-Match nor If-None-Match: * was sent',
  429: 'too many at once, or too often; wait, then try again',
  500: 'the download tool could not be started',
  503: 'a store does not answer, or fails, or the server is read-only; try again later',
  507: 'not enough space, on the disk or in the quota',
};

const described = (status: number, schema: object) => ({ description: MEANING[status], ...schema });

/** Converts `{name}` of the protocol to `:name` of Fastify. */
export const urlOf = (route: Route) => route.path.replace(/\{(\w+)\}/g, ':$1');
