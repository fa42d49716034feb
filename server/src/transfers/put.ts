/**
 * PUT of a volume, or of a file of one volume. Volumes arrive by the route, the fast lane and the WebSocket; all of them end
 * here, with the same checks, responses, log line and counts. Batches (batch.ts) have a response for each file.
 */
import type { IncomingMessage } from 'node:http';
import { decodeInit, headers, type InitBody, routes, type SentInit, targetDir } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Caller } from '../accounts/sessions.ts';
import { requireDirInScope, requireTransferInScope } from '../accounts/token-scope.ts';
import { checked } from '../platform/http/bodies.ts';
import { addressOf } from '../platform/http/caller-address.ts';
import { sendContinue } from '../platform/http/connection.ts';
import { type Answer, answerFor, CLIENT_CLOSED, logFault } from '../platform/http/errors.ts';
import { type Params, volumeNumber } from '../platform/http/params.ts';
import { countFault, logRequest } from '../platform/http/request-log.ts';
import { urlOf } from '../platform/http/schemas.ts';
import { type Body, Disconnected, streamBody } from '../platform/volumes/body.ts';
import type { Services } from '../services.ts';
import { UploadSlots } from './upload-slots.ts';

/** The head of a PUT. */
export interface VolumePut {
  transferId: string;
  /** The number as it was sent; undefined if the volume is a whole file. */
  idx: string | undefined;
  /** X-Init */
  init: string | undefined;
  /** Content-Length; undefined for a chunked body. */
  length: number | undefined;
  /** Content-Digest */
  digest: string | undefined;
  authorization: string | undefined;
  forwardedFor: string | undefined;
}

/** Answers one PUT; never rejects. `begin` asks the client for the body; for `requestId` see `request-log.ts`. */
export type VolumeHandler = (
  put: VolumePut,
  body: Body,
  begin: () => void,
  remote: string,
  requestId: string,
) => Promise<Answer>;

const volumeUrl = urlOf(routes.writeVolume);
const fileUrl = urlOf(routes.writeFile);

export function volumeHandler(services: Services): VolumeHandler {
  const { sessions, metadata, incomingVolumes, singleVolumeFiles } = services;
  const { mode, rateLimiter, config, log, metrics } = services;
  const countIn = metrics.counter('szafa_volume_bytes_total', { direction: 'in' });
  const slots = new UploadSlots(config.workers);
  return async (put, body, begin, remote, reqId) => {
    const startedAt = performance.now();
    const { authorization, transferId, idx, length, digest } = put;
    let user: string | undefined;
    let answer: Answer;
    metrics.inFlight++;
    try {
      let result: object = { ok: true };
      if (idx !== undefined) {
        const lookUp = metadata.transfers.lookUp(transferId);
        const { caller, found } = await sessions.identify(authorization, routes.writeVolume, lookUp);
        user = caller.username;
        requireTransferInScope(caller, found.transfer);
        await mode.requireWritable();
        const limited = rateLimiter.limitUpload(body, caller);
        const upload = { idx: volumeNumber(idx), length, digest, body: limited, begin };
        const receive = () => incomingVolumes.receive(transferId, found.transfer, upload);
        await slots.run(senderOf(caller), `${transferId} ${upload.idx}`, receive);
      } else {
        const lookUp = metadata.sessions.lookUp();
        const { caller } = await sessions.identify(authorization, routes.writeFile, lookUp);
        user = caller.username;
        await mode.requireWritable();
        const init = () => readInit(caller, put.init);
        const file = { transferId, init, length, body: rateLimiter.limitUpload(body, caller) };
        const receive = () => singleVolumeFiles.receive(file, caller, begin);
        const fileId = await slots.run(senderOf(caller), undefined, receive);
        result = { status: 'done', file_id: fileId };
      }
      // The length of a chunked body is not known here.
      countIn(length ?? 0);
      answer = { status: 200, body: result };
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

/** Reads an init in base64, and checks that the token may upload to its directory. `name`: where it was sent. */
export function readInit(caller: Caller, base64: string | undefined, name: string = headers.init): SentInit {
  const { body, text } = decodeInit(base64, name);
  const init = { body: checked<InitBody>(body, 'Init', name), text };
  requireDirInScope(caller, targetDir(init.body));
  return init;
}

/** Gives visitors slots of their own: they must not use up those of the owner. */
const senderOf = ({ scope, sessionId, username }: Caller) =>
  scope === 'upload' ? `request ${sessionId}` : `account ${username}`;

/** The body of a request that Node's server reads. */
const bodyOf = (request: IncomingMessage): Body => ({
  pour: (sink) =>
    streamBody(request)
      .pour(sink)
      .catch((cause: unknown) => {
        throw request.readableAborted ? new Disconnected('the client disconnected', { cause }) : cause;
      }),
});

/** The route, for TLS and for requests that the fast lane leaves to Node's server. */
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
    const begin = () => sendContinue(raw, reply.raw);
    const remote = raw.socket.remoteAddress ?? '';
    const { status, headers: more, body } = await handle(put, bodyOf(raw), begin, remote, id);
    if (status === CLIENT_CLOSED) return reply.hijack();
    return reply
      .code(status)
      .headers({ ...more })
      .send(body);
  };
}
