/** The only place where an error becomes an answer. */
import type { Socket } from 'node:net';
import { RuleError, writeHead } from '@szafa/protocol';
import type { FastifyBaseLogger, FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { isNoSpace, isOsError, StoreFull, StoreUnavailable, VolumeRejected } from '../errors.ts';
import { Disconnected } from '../volumes/body.ts';
import { ApiError, DetailError, TryLater } from './api-error.ts';
import { http } from './node-http.ts';
import { newRequestId, REQUEST_ID } from './request-log.ts';

/** Logged, as by nginx, when the client disconnects before its request is complete; no answer is sent. */
export const CLIENT_CLOSED = 499;

export interface Answer {
  status: number;
  body: object;
  headers?: Readonly<Record<string, string>>;
}

/**
 * Sends `{detail}` for a `DetailError` and `{error}` for everything else. Returns false if the client has disconnected: then
 * no response will end.
 */
export function sendError(error: unknown, request: FastifyRequest, reply: FastifyReply): boolean {
  const { status, body, headers } = answerFor(error);
  if (error instanceof Disconnected || (request.raw.destroyed && !request.raw.complete)) {
    reply.hijack();
    reply.raw.statusCode = CLIENT_CLOSED;
    return false;
  }
  logFault(request.log, error, status);
  // Fastify would close the connection after a refused body. The rest is drained instead, so that the client sees the answer.
  reply
    .removeHeader('connection')
    .headers({ ...headers })
    .header(REQUEST_ID, request.id)
    .code(status)
    .type('application/json; charset=utf-8')
    .send(body);
  return true;
}

/** Logs errors that the client cannot fix: refusals as one line, unexpected errors with their stack. */
export function logFault(log: FastifyBaseLogger, error: unknown, status: number): void {
  if (error instanceof TryLater) return;
  const isExpected = isNoSpace(error) || (error instanceof ApiError && error.cause === undefined);
  if (!isExpected && (status >= 500 || error instanceof ApiError))
    log.error({ err: error }, 'request failed');
  else if (status >= 500) log.warn({ status, reason: (error as Error).message }, 'request refused');
}

export function answerFor(error: unknown): Answer {
  if (error instanceof DetailError) return { status: error.status, body: { detail: error.message } };
  if (error instanceof ApiError) {
    const { status, headers, extra, message } = error;
    return { status, headers, body: { ...extra, error: message } };
  }
  const refuse = (status: number, message: string) => ({ status, body: { error: message } });
  if (error instanceof VolumeRejected) return refuse(409, error.message);
  if (error instanceof StoreUnavailable) return refuse(503, error.message);
  if (error instanceof RuleError) return refuse(400, error.message);
  if (isNoSpace(error) || error instanceof StoreFull) return refuse(507, 'the store is full');
  // For the client, a failing disk is the same as a remote store that does not answer.
  if (isOsError(error)) return refuse(503, 'the store failed; try again later');
  const { validation, statusCode, message } = error as FastifyError;
  if (validation) return refuse(400, message);
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return refuse(statusCode, message);
  return refuse(500, 'the server failed; its log says why');
}

/** Formats an answer as text, for a socket that Node's server does not write to. */
export function formatAnswer({ status, body, headers }: Answer, id: string, isLast: boolean): string {
  const json = JSON.stringify(body);
  const head = writeHead(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`, {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': id,
    'Content-Length': String(Buffer.byteLength(json)),
    Connection: isLast ? 'close' : 'keep-alive',
    ...headers,
  });
  return head + json;
}

const CLIENT_ERRORS: Record<string, number> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/** Answers bytes that are not valid HTTP and so never reach a route. */
export function refuseConnection(log: FastifyBaseLogger) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy();
      return;
    }
    const status = CLIENT_ERRORS[error.code ?? ''] ?? 400;
    const body = { error: `not a request this server understands: ${http.STATUS_CODES[status]}` };
    const reqId = newRequestId();
    log.info({ reqId, status, ip: socket.remoteAddress }, 'unreadable request');
    socket.end(formatAnswer({ status, body }, reqId, true), () => socket.destroySoon());
  };
}
