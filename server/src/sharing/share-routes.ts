/** The routes of shares: those of owners, of accounts that something is for, and of visitors, who have no token. */
import { headers, type OwnBody, type ShareBody, type TicketBody } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DownloadContent, sendContent } from '../files/download.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import type { AccountRates } from '../platform/rate-limit.ts';
import type { Services } from '../services.ts';
import type { ShareVisit } from './shares.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function shareHandlers(
  { shares, rateLimiter, metrics }: Pick<Services, 'shares' | 'rateLimiter' | 'metrics'>,
  address: (request: FastifyRequest) => CallerAddress,
  countOut: (bytes: number) => void,
) {
  const params = (request: FastifyRequest) => request.params as Params;
  const header = (request: FastifyRequest, name: string) => {
    const value = request.headers[name.toLowerCase()];
    return typeof value === 'string' ? value : undefined;
  };
  const visit = (request: FastifyRequest): ShareVisit => {
    const { network, shared } = address(request);
    return {
      ...{ id: params(request).share_id, network, shared },
      access: header(request, headers.shareAccess),
      ticket: header(request, headers.shareTicket),
    };
  };
  const send = async (
    request: FastifyRequest,
    reply: FastifyReply,
    found: DownloadContent,
    owner: AccountRates,
  ) => {
    countOut(await sendContent(request, reply, found, owner, { rateLimiter, metrics }));
    return reply;
  };
  return {
    createShare: async (request) => {
      await shares.create(request.caller, request.body as ShareBody);
      return { ok: true };
    },
    listShares: async (request) => ({ shares: await shares.list(request.caller) }),
    writeOwn: async (request) => {
      await shares.writeOwn(request.caller, params(request).share_id, request.body as OwnBody);
      return { ok: true };
    },
    endShare: async (request) => {
      await shares.end(request.caller, params(request).share_id);
      return { ok: true };
    },
    openShare: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return shares.open(visit(request));
    },
    takeTicket: async (request) => ({
      ok: true,
      expires_at: await shares.takeTicket(visit(request), request.body as TicketBody),
    }),
    readIdentity: (request) => shares.identity(request.caller, params(request).username),
    listReceived: async (request) => ({ shares: await shares.received(request.caller) }),
    openReceived: (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { share_id } = params(request);
      return shares.openReceived(request.caller, share_id, header(request, headers.shareTicket));
    },
    takeReceived: async (request) => ({
      ok: true,
      expires_at: await shares.takeReceived(
        request.caller,
        params(request).share_id,
        request.body as TicketBody,
      ),
    }),
    endReceived: async (request) => {
      await shares.endReceived(request.caller, params(request).share_id);
      return { ok: true };
    },
    readSharedVolume: async (request, reply) => {
      const { number, idx } = params(request);
      const { range, 'if-none-match': tag } = request.headers;
      const whole = range === undefined && tag === undefined;
      const { paced, ...found } = await shares.openVolume(
        visit(request),
        volumeNumber(number),
        volumeNumber(idx),
        whole,
      );
      // Never handed to nginx, which would serve it again to others.
      return send(request, reply, { ...found, forVisitor: true }, paced);
    },
    readSharedDigests: async (request, reply) => {
      const number = volumeNumber(params(request).number);
      const { paced, ...found } = await shares.openDigests(visit(request), number);
      return send(request, reply, found, paced);
    },
  } satisfies Record<string, Handler>;
}
