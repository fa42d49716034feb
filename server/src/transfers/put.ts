/** PUT of a volume, or of a file of one volume: the same checks, answers, log line and counts, whichever way it comes. */
import type { IncomingMessage } from 'node:http';
import { headers, routes } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../accounts/sessions.ts';
import { requireTransferInScope } from '../accounts/token-scope.ts';
import { addressOf } from '../platform/http/caller-address.ts';
import { wantBody } from '../platform/http/connection.ts';
import type { Answer } from '../platform/http/errors.ts';
import { answerFor, CLIENT_CLOSED, logFault } from '../platform/http/errors.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import { countFault, logRequest } from '../platform/http/request-log.ts';
import { urlOf } from '../platform/http/schemas.ts';
import { type Body, Disconnected, StreamBody } from '../platform/volumes/body.ts';
import type { Services } from '../services.ts';
import { initFor } from './init-header.ts';
import { BodiesAtOnce } from './upload-slots.ts';

/** What the head of such a PUT says. */
export interface VolumePut {
  transferId: string;
  /** As it was sent; undefined where the volume is a whole file. */
  idx: string | undefined;
  /** X-Init */
  init: string | undefined;
  /** Undefined for a body in chunks. */
  length: number | undefined;
  /** Content-Digest */
  digest: string | undefined;
  authorization: string | undefined;
  forwardedFor: string | undefined;
}

/** Answers one PUT; never rejects. `begin` asks for the body; `id` is the request's, see `request-log.ts`. */
export type VolumeHandler = (
  put: VolumePut,
  body: Body,
  begin: () => void,
  remote: string,
  id: string,
) => Promise<Answer>;

const volumeUrl = urlOf(routes.writeVolume);
const fileUrl = urlOf(routes.writeFile);

export function volumeHandler(services: Services): VolumeHandler {
  const { sessions, metadata, transfers, mode, rateLimiter, config, log, metrics } = services;
  const countIn = metrics.counter('szafa_volume_bytes_total', { direction: 'in' });
  const bodies = new BodiesAtOnce(config.workers);
  return async (put, body, begin, remote, reqId) => {
    const startedAt = performance.now();
    const { authorization, transferId, idx, length } = put;
    let user: string | undefined;
    let answer: Answer;
    metrics.inFlight++;
    try {
      let done: object = { ok: true };
      if (idx !== undefined) {
        const lookUp = metadata.transfers.lookUp(transferId);
        const { caller, found } = await sessions.identify(authorization, routes.writeVolume, lookUp);
        user = caller.username;
        requireTransferInScope(caller, found.transfer);
        await mode.requireWritable();
        const paced = rateLimiter.limitUpload(body, caller);
        const number = volumeNumber(idx);
        const receive = () => transfers.receive(transferId, found.transfer, number, paced, put, begin);
        await bodies.run(senderOf(caller), `${transferId} ${number}`, receive);
      } else {
        const lookUp = metadata.sessions.lookUp();
        const { caller } = await sessions.identify(authorization, routes.writeFile, lookUp);
        user = caller.username;
        await mode.requireWritable();
        const init = () => initFor(caller, put.init);
        const file = { transferId, init, announced: length, body: rateLimiter.limitUpload(body, caller) };
        const receive = () => transfers.whole.receive(file, caller, begin);
        const fileId = await bodies.run(senderOf(caller), undefined, receive);
        done = { status: 'done', file_id: fileId };
      }
      // A body in chunks has no length that is known here.
      countIn(length ?? 0);
      answer = { status: 200, body: done };
    } catch (error) {
      answer = answerFor(error);
      countFault(metrics, error);
      if (error instanceof Disconnected) answer.status = CLIENT_CLOSED;
      else logFault(log.child({ reqId }), error, answer.status);
    }
    metrics.inFlight--;
    const ms = performance.now() - startedAt;
    logRequest(services, {
      reqId,
      method: 'PUT',
      route: idx === undefined ? fileUrl : volumeUrl,
      status: answer.status,
      ms,
      user,
      params: { transfer_id: transferId, idx },
      ip: addressOf(remote, put.forwardedFor, config.trustProxy),
    });
    return answer;
  };
}

/** Visitors must not use up what the owner may send at a time. */
const senderOf = ({ scope, sessionId, username }: Caller) =>
  scope === 'upload' ? `request ${sessionId}` : `account ${username}`;

/** The body of a request that Node's server reads. */
const bodyOf = (request: IncomingMessage): Body => ({
  pour: (sink) =>
    new StreamBody(request).pour(sink).catch((cause: unknown) => {
      throw request.readableAborted ? new Disconnected('the client disconnected', { cause }) : cause;
    }),
});

/** The routes: what the lane does not understand, and what TLS has decrypted. */
export function putRoute(handle: VolumeHandler) {
  return async ({ raw, params, id }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { transfer_id, idx } = params as Params;
    const length = raw.headers['content-length'];
    const put = {
      transferId: transfer_id,
      idx,
      init: raw.headers[headers.init.toLowerCase()]?.toString(),
      length: length === undefined ? undefined : Number(length),
      digest: raw.headers[headers.contentDigest.toLowerCase()]?.toString(),
      authorization: raw.headers.authorization,
      forwardedFor: raw.headers['x-forwarded-for']?.toString(),
    };
    const begin = () => wantBody(raw, reply.raw);
    const remote = raw.socket.remoteAddress ?? '';
    const { status, headers: more, body } = await handle(put, bodyOf(raw), begin, remote, id);
    return status === CLIENT_CLOSED
      ? reply.hijack()
      : reply
          .code(status)
          .headers({ ...more })
          .send(body);
  };
}
