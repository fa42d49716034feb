import { type Route, routes } from '@szafa/protocol';
import type { FastifySchema } from 'fastify';
import type { TSchema } from 'typebox';

/** Schemas with a name, found in the route table; each is registered once and referred to. */
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

/** The same schema with every named part replaced by a reference. */
function refer(value: unknown, atTop = true): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((part) => refer(part));
  const { $id } = value as { $id?: string };
  if (atTop && $id !== undefined) return { $ref: `${$id}#` };
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, refer(part)]));
}

const UNAUTHORIZED = { $ref: 'Detail#' };

/** What Fastify validates and serialises by, and what the OpenAPI document shows; `name` is what generators call it. */
export function schemaOf(name: string, route: Route): FastifySchema {
  const response: Record<number, unknown> = {};
  for (const [status, schema] of Object.entries(route.responses)) {
    response[Number(status)] =
      typeof schema === 'string' ? { description: schema } : described(Number(status), schema);
  }
  if (!route.open || route.body)
    response[503] = { description: 'a store does not answer, or fails', $ref: 'Error#' };
  if (route.body) response[413] = { description: 'the body is too large', $ref: 'Error#' };
  if (route.open && !route.body) response[400] = { description: 'not HTTP as it should be', $ref: 'Error#' };
  if (!route.open) response[401] = { description: 'no valid token', ...UNAUTHORIZED };
  const schema: Record<string, unknown> = {
    operationId: name,
    summary: route.summary,
    tags: [route.tag],
    response,
    security: route.open ? [] : [{ bearer: [] }],
  };
  if (route.body) schema['body'] = refer(route.body);
  if (route.query) schema['querystring'] = refer(route.query);
  if (route.rawBody) {
    schema['consumes'] = ['application/octet-stream'];
    // Accepts anything: the receiver checks the bytes.
    schema['body'] = { description: 'raw bytes of the volume' };
  }
  return schema as FastifySchema;
}

function described(status: number, schema: TSchema): unknown {
  return { description: status < 300 ? 'done' : 'refused', ...(refer(schema) as object) };
}

/** `{name}` in the protocol, `:name` in Fastify. */
export const urlOf = (route: Route) => route.path.replace(/\{(\w+)\}/g, ':$1');
