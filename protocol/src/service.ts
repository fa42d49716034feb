/** Routes about the server itself. */
import type { Static } from 'typebox';
import { routeTable } from './basics/route.ts';
import { errors, Named, Ok, Text } from './basics/schemas.ts';
import { Type } from './basics/type.ts';

export const ServiceInfo = Named('ServiceInfo', {
  service_id: Type.String({
    pattern: '^[0-9a-f]{32}$',
    description: '32 random hex digits that never change',
  }),
  version: Text('version of the server'),
  features: Type.Array(Type.String(), { description: 'what it offers besides the specified interface' }),
  registration: Text('open, closed, or invite (with an invitation)'),
  origin: Type.Optional(Text('the address where passkeys work, if the server knows it')),
});
export type ServiceInfo = Static<typeof ServiceInfo>;

export const serviceRoutes = routeTable('Service', 'open', {
  service: {
    at: 'GET /api/service',
    summary: 'The id and the features of this server',
    responses: { 200: ServiceInfo, ...errors(503) },
  },
  healthz: {
    at: 'GET /healthz',
    summary: 'Whether the process is up',
    responses: { 200: Ok },
  },
  readyz: {
    at: 'GET /readyz',
    summary: 'Whether both stores answer',
    responses: { 200: Ok, ...errors(503) },
  },
  metrics: {
    at: 'GET /metrics',
    summary: "The node's metrics for Prometheus; needs the system token",
    access: 'system',
    responses: { 200: 'text in the Prometheus format', ...errors(503) },
  },
  openapi: {
    at: 'GET /openapi.json',
    summary: 'This API as an OpenAPI document',
    responses: { 200: 'the OpenAPI document' },
  },
  docs: {
    at: 'GET /docs',
    summary: 'This API as a page to read',
    responses: { 200: 'an HTML page' },
  },
});
