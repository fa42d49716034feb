import type { RouteBody, RouteName, RouteParams, RouteQuery } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A request that has been validated by the schemas of its route. */
export type RouteRequest<N extends RouteName> = FastifyRequest & {
  params: Record<keyof RouteParams<N>, string>;
  query: { [name in keyof RouteQuery<N>]: string };
  body: RouteBody<N>;
};

export type Handler<Request> = (request: Request, reply: FastifyReply) => Promise<unknown>;
export type Handlers = { [N in RouteName]: Handler<RouteRequest<N>> };

/** Answers {ok: true} after `act`. */
export const done =
  <Request>(act: Handler<Request>): Handler<Request> =>
  async (request, reply) => {
    await act(request, reply);
    return { ok: true };
  };
