/** The routes about the server itself: its features, health, metrics and API documentation. */
import { features, PASSKEYS } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { shareReadiness } from './operator/readiness.ts';
import type { Document, docsPage } from './platform/http/docs.ts';
import { CONTENT_TYPE } from './platform/metrics/gathering.ts';
import type { Services } from './services.ts';
import { VERSION } from './version.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function serverHandlers({ config, metadata, volumes, nodeMetrics }: Services) {
  let serviceId: string | undefined;
  let document: Document | undefined;
  const openapi = async () => {
    document ??= await (await import('./platform/http/openapi.ts')).openapiDocument();
    return document;
  };
  let docs: ReturnType<typeof docsPage> | undefined;
  const requireReady = shareReadiness(() => Promise.all([metadata.ping(), volumes.ping()]));
  return {
    service: async () => {
      serviceId ??= (await metadata.store.get()).serviceId;
      const { origin, registration } = config;
      const offered = features.filter(
        (feature) => config.shares || (feature !== 'shares' && feature !== 'requests'),
      );
      const all = origin === undefined ? offered : [...offered, PASSKEYS];
      const where = origin === undefined ? {} : { origin };
      return { service_id: serviceId, version: VERSION, features: all, registration, ...where };
    },
    healthz: async () => ({ ok: true }),
    readyz: async () => {
      await requireReady();
      return { ok: true };
    },
    metrics: async (_request, reply) => reply.type(CONTENT_TYPE).send(await nodeMetrics()),
    openapi,
    docs: async (_request, reply) => {
      docs ??= (await import('./platform/http/docs.ts')).docsPage(await openapi());
      const { html, headers } = docs;
      return reply.type('text/html; charset=utf-8').headers(headers).send(html);
    },
  } satisfies Record<string, Handler>;
}
