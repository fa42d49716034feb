/** The routes of requests: those of owners, and those of visitors, who have no account. */
import { headers, type RequestBody, type UploadBody } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import type { Params } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import type { Visit } from './visitors.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function requestHandlers(
  { requests }: Pick<Services, 'requests'>,
  address: (request: FastifyRequest) => CallerAddress,
) {
  const id = (request: FastifyRequest) => (request.params as Params).request_id;
  const visit = (request: FastifyRequest): Visit => {
    const access = request.headers[headers.shareAccess.toLowerCase()];
    const { network, shared } = address(request);
    return { id: id(request), network, shared, access: typeof access === 'string' ? access : undefined };
  };
  return {
    createRequest: async (request) => {
      await requests.create(request.caller, request.body as RequestBody);
      return { ok: true };
    },
    listRequests: async (request) => ({ requests: await requests.list(request.caller) }),
    endRequest: async (request) => {
      await requests.end(request.caller, id(request));
      return { ok: true };
    },
    openRequest: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return requests.open(visit(request));
    },
    beginUpload: async (request) => ({
      transfer_id: await requests.begin(visit(request), request.body as UploadBody),
    }),
  } satisfies Record<string, Handler>;
}
