/** The routes of shares and file requests: of owners, of accounts that receive a share, and of visitors, who have no token. */
import {
  headers,
  type OwnBody,
  type RequestBody,
  type ShareBody,
  type TicketBody,
  type UploadBody,
} from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type DownloadContent, sendContent } from '../files/download.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import type { AccountRates } from '../platform/rate-limit.ts';
import type { Services } from '../services.ts';
import type { ShareVisit } from './shares.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

export function sharingHandlers(
  {
    shares,
    requests,
    rateLimiter,
    metrics,
  }: Pick<Services, 'shares' | 'requests' | 'rateLimiter' | 'metrics'>,
  address: (request: FastifyRequest) => CallerAddress,
  countOut: (bytes: number) => void,
) {
  const params = (request: FastifyRequest) => request.params as Params;
  const shareId = (request: FastifyRequest) => params(request).share_id;
  const requestId = (request: FastifyRequest) => params(request).request_id;
  const header = (request: FastifyRequest, name: string) => {
    const value = request.headers[name.toLowerCase()];
    return typeof value === 'string' ? value : undefined;
  };
  const visit = (request: FastifyRequest, id = shareId(request)): ShareVisit => {
    const { network, shared } = address(request);
    const [access, ticket] = [header(request, headers.shareAccess), header(request, headers.shareTicket)];
    return { id, network, shared, access, ticket };
  };
  const send = async (
    request: FastifyRequest,
    reply: FastifyReply,
    content: DownloadContent,
    owner: AccountRates,
  ) => {
    countOut(await sendContent(request, reply, content, owner, { rateLimiter, metrics }));
    return reply;
  };
  return {
    createShare: async (request) => {
      await shares.create(request.caller, request.body as ShareBody);
      return { ok: true };
    },
    listShares: async (request) => ({ shares: await shares.list(request.caller) }),
    writeOwn: async (request) => {
      await shares.writeOwn(request.caller, shareId(request), request.body as OwnBody);
      return { ok: true };
    },
    endShare: async (request) => {
      await shares.end(request.caller, shareId(request));
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
    listReceived: async (request) => ({ shares: await shares.listReceived(request.caller) }),
    openReceived: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return shares.openReceived(request.caller, shareId(request), header(request, headers.shareTicket));
    },
    takeReceived: async (request) => ({
      ok: true,
      expires_at: await shares.takeReceived(request.caller, shareId(request), request.body as TicketBody),
    }),
    endReceived: async (request) => {
      await shares.endReceived(request.caller, shareId(request));
      return { ok: true };
    },
    readSharedVolume: async (request, reply) => {
      const { number, idx } = params(request);
      const { range, 'if-none-match': tag } = request.headers;
      const whole = range === undefined && tag === undefined;
      const { paced, ...content } = await shares.openVolume(
        visit(request),
        volumeNumber(number),
        volumeNumber(idx),
        whole,
      );
      // Never handed to nginx, which would serve it to others as well.
      return send(request, reply, { ...content, forVisitor: true }, paced);
    },
    readSharedDigests: async (request, reply) => {
      const number = volumeNumber(params(request).number);
      const { paced, ...content } = await shares.openDigests(visit(request), number);
      return send(request, reply, content, paced);
    },
    createRequest: async (request) => {
      await requests.create(request.caller, request.body as RequestBody);
      return { ok: true };
    },
    listRequests: async (request) => ({ requests: await requests.list(request.caller) }),
    endRequest: async (request) => {
      await requests.end(request.caller, requestId(request));
      return { ok: true };
    },
    openRequest: (request, reply) => {
      reply.header('cache-control', 'no-store');
      return requests.open(visit(request, requestId(request)));
    },
    beginUpload: async (request) => ({
      transfer_id: await requests.begin(visit(request, requestId(request)), request.body as UploadBody),
    }),
  } satisfies Record<string, Handler>;
}
