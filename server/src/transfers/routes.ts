/** The routes of uploads and pulls. */
import type { CompleteBody, InitBody, PullBody, StreamedInitBody } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Bodies, readLater } from '../platform/http/bodies.ts';
import type { CallerAddress } from '../platform/http/caller-address.ts';
import type { Params } from '../platform/http/params.ts';
import type { Services } from '../services.ts';
import { batchHandler } from './batch.ts';
import { putRoute, type VolumeHandler } from './put.ts';

type Handler = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>;

interface Parts {
  handleVolume: VolumeHandler;
  bodies: Bodies;
  address: (request: FastifyRequest) => CallerAddress;
}

export function transferHandlers(services: Services, { handleVolume, bodies, address }: Parts) {
  const { transfers, completion, pulls } = services;
  const user = (request: FastifyRequest) => request.caller.username;
  const params = (request: FastifyRequest) => request.params as Params;
  return {
    init: async (request) => {
      const init = { body: request.body as InitBody | StreamedInitBody, text: request.bodyText };
      return { transfer_id: await transfers.init(init, request.caller) };
    },
    received: async (request) => {
      const transfer = await transfers.use(params(request).transfer_id, request.found.transfer);
      return transfers.received(transfer);
    },
    writeVolume: putRoute(handleVolume),
    writeFile: putRoute(handleVolume),
    writeFiles: batchHandler(bodies, services),
    pull: async (request) => {
      const { transfer_id } = params(request);
      const { username, uploadRate } = request.caller;
      const from = { caller: username, own: address(request).own, rate: uploadRate ?? undefined };
      return { ok: true, ...(await pulls.pull(transfer_id, request.body as PullBody, from)) };
    },
    pullStatus: (request) => pulls.status(params(request).transfer_id, request.found.transfer),
    complete: async (request) => {
      const readBody = () => readLater<CompleteBody>(request, 'Complete');
      const fileId = await completion.complete(params(request).transfer_id, request.caller, readBody);
      return { status: 'done', file_id: fileId };
    },
    cancel: async (request) => {
      await transfers.cancel(params(request).transfer_id, user(request));
      return { ok: true };
    },
  } satisfies Record<string, Handler>;
}
