/** The routes of shares and file requests: for owners, for accounts that receive a share, and for visitors, who have no token. */
import { headers } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DownloadContent, sendContent } from '../files/download.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import { done, type Handlers } from '../platform/http/handlers.ts';
import { volumeNumber } from '../platform/http/params.ts';
import type { AccountRates } from '../platform/rate-limit.ts';
import type { Services } from '../services.ts';
import type { Visit } from './links.ts';

export function sharingHandlers(
  services: Pick<Services, 'shares' | 'requests' | 'rateLimiter' | 'metrics'>,
  address: (request: FastifyRequest) => CallerAddress,
  countOut: (bytes: number) => void,
) {
  const { shares, requests } = services;
  const header = (request: FastifyRequest, name: string) => {
    const value = request.headers[name.toLowerCase()];
    return typeof value === 'string' ? value : undefined;
  };
  const ticketOf = (request: FastifyRequest) => header(request, headers.shareTicket);
  const visit = (request: FastifyRequest, id: string): Visit => {
    const { network, shared } = address(request);
    return { id, network, shared, access: header(request, headers.shareAccess), ticket: ticketOf(request) };
  };
  const send = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { paced, ...content }: DownloadContent & { paced: AccountRates },
  ) => {
    countOut(await sendContent(request, reply, content, paced, services));
    return reply;
  };
  return {
    createShare: done(({ caller, body }) => shares.create(caller, body)),
    listShares: async ({ caller }) => ({ shares: await shares.list(caller) }),
    writeOwn: done(({ caller, params, body }) => shares.writeOwn(caller, params.share_id, body)),
    endShare: done(({ caller, params }) => shares.end(caller, params.share_id)),
    openShare: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return shares.open(visit(request, request.params.share_id));
    },
    takeTicket: async (request) => ({
      ok: true,
      expires_at: await shares.takeTicket(visit(request, request.params.share_id), request.body),
    }),
    readIdentity: ({ caller, params }) => shares.identity(caller, params.username),
    listReceived: async ({ caller }) => ({ shares: await shares.listReceived(caller) }),
    openReceived: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return shares.openReceived(request.caller, request.params.share_id, ticketOf(request));
    },
    takeReceived: async ({ caller, params, body }) => ({
      ok: true,
      expires_at: await shares.takeReceived(caller, params.share_id, body),
    }),
    endReceived: done(({ caller, params }) => shares.endReceived(caller, params.share_id)),
    readSharedVolume: async (request, reply) => {
      const { share_id, number, idx } = request.params;
      const { range, 'if-none-match': tag } = request.headers;
      const whole = range === undefined && tag === undefined;
      const position = { number: volumeNumber(number), idx: volumeNumber(idx) };
      const content = await shares.openVolume(visit(request, share_id), position, whole);
      // Never handed to nginx, which would also serve it to others.
      return send(request, reply, { ...content, forVisitor: true });
    },
    readSharedDigests: async (request, reply) => {
      const { share_id, number } = request.params;
      return send(request, reply, await shares.openDigests(visit(request, share_id), volumeNumber(number)));
    },
    createRequest: done(({ caller, body }) => requests.create(caller, body)),
    listRequests: async ({ caller }) => ({ requests: await requests.list(caller) }),
    endRequest: done(({ caller, params }) => requests.end(caller, params.request_id)),
    openRequest: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return requests.open(visit(request, request.params.request_id));
    },
    beginUpload: async (request) => ({
      transfer_id: await requests.begin(visit(request, request.params.request_id), request.body),
    }),
  } satisfies Partial<Handlers>;
}
