import type { Socket } from 'node:net';
import { RuleError } from '@szafa/protocol';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isNoSpace, isOsError, StoreFull, StoreUnavailable, VolumeRejected } from '../errors.ts';
import { BrokenOff } from '../volumes/body.ts';
import { ApiError, DetailError, TryLater } from './api-error.ts';
import { http } from './node-http.ts';
import { type Answer, plainAnswer } from './plain-answer.ts';
import { newRequestId, REQUEST_ID } from './request-id.ts';

/** As others log it: the client went away before its request was whole, and nobody is answered. */
export const BROKEN_OFF = 499;

/**
 * The one place where an error becomes a response: `{detail}` from the two checks, `{error}` from all else. False when
 * there is nobody to answer: no response will end.
 */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): boolean {
  const { status, body, headers } = describe(error);
  if (error instanceof BrokenOff || (request.raw.destroyed && !request.raw.complete)) {
    reply.hijack();
    reply.raw.statusCode = BROKEN_OFF;
    return false;
  }
  logFault(request.log, error, status);
  // Fastify wants to close after a refused body; the rest of it is drained instead, so that the answer arrives.
  reply
    .removeHeader('connection')
    .headers({ ...headers })
    .header(REQUEST_ID, request.id)
    .code(status)
    .type('application/json; charset=utf-8')
    .send(body);
  return true;
}

/** What the client cannot fix goes to the log: refusals as a line, and with its stack what nobody expected. */
export function logFault(log: FastifyBaseLogger, error: unknown, status: number): void {
  if (error instanceof TryLater) return;
  const isExpected = isNoSpace(error) || (error instanceof ApiError && error.cause === undefined);
  if (!isExpected && (status >= 500 || error instanceof ApiError))
    log.error({ err: error }, 'request failed');
  else if (status >= 500) log.warn({ status, reason: (error as Error).message }, 'request refused');
}

export function describe(error: unknown): Answer {
  if (error instanceof DetailError) return { status: error.status, body: { detail: error.message } };
  if (error instanceof ApiError) {
    const { status, headers, extra, message } = error;
    return { status, headers, body: { ...extra, error: message } };
  }
  if (error instanceof VolumeRejected) return { status: 409, body: { error: error.message } };
  if (error instanceof StoreUnavailable) return { status: 503, body: { error: error.message } };
  if (error instanceof RuleError) return { status: 400, body: { error: error.message } };
  if (isNoSpace(error) || error instanceof StoreFull)
    return { status: 507, body: { error: 'the store is full' } };
  // Where the interface has no answer of its own for it: a store of this machine that fails is as one that is away.
  if (isOsError(error)) return { status: 503, body: { error: 'the store failed; try again later' } };
  const { validation, statusCode, message } = error as FastifyError;
  if (validation) return { status: 400, body: { error: message } };
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return { status: statusCode, body: { error: message } };
  }
  return { status: 500, body: { error: 'the server failed; its log says why' } };
}

const CLIENT_ERRORS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** What is not HTTP never reaches a route. */
export function refuseConnection(log: FastifyBaseLogger) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = CLIENT_ERRORS[error.code ?? ''] ?? 400;
    const body = { error: `not a request this service understands: ${http.STATUS_CODES[status]}` };
    const reqId = newRequestId();
    log.info({ reqId, status, ip: socket.remoteAddress }, 'unreadable request');
    socket.end(plainAnswer({ status, body }, reqId, true), () => socket.destroySoon());
  };
}
