import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** An unwanted body is read and discarded up to this size, so that the client gets to see the answer. */
export const DRAIN_BYTES = 64 * 1024 * 1024;
/** Each piece counts as at least this many bytes: a chunk of one byte costs as much CPU. */
const LEAST_DRAINED_BYTES = 1024;
/** A client of the volume socket that leaves this much unread is disconnected. */
export const MOST_UNREAD_BYTES = 64 * 1024;

/** By then, requests sent before the client saw the close have arrived. */
const RETIRE_MS = 500;
/** By then, a load balancer has closed its idle connections: `keepalive_timeout` in deploy/nodes.conf is shorter. */
const BALANCER_RETIRE_MS = 5000;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * Manages connections: closes silent ones unless the server is working, drains unwanted bodies, and answers `Expect:
 * 100-continue` only once the body is wanted. Returns a function that must be called first for requests that reach no route.
 */
export function guardConnections(
  app: FastifyInstance,
  behindBalancer: boolean,
): (request: IncomingMessage, response: ServerResponse) => void {
  const server = app.server as Server;
  const current = new WeakMap<Socket, Exchange>();
  const retireMs = behindBalancer ? BALANCER_RETIRE_MS : RETIRE_MS;
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    await retire(server, retireMs);
  });

  server.on('timeout', (socket: Socket) => {
    const exchange = current.get(socket);
    const working = exchange?.request.complete && !exchange.response.headersSent;
    if (!working) socket.destroy();
  });

  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Node has already answered a request without a Host header, but emits this event nevertheless.
    if (response.writableEnded) return;
    awaitsContinue.add(request);
    app.routing(request, response);
  });

  const guard = (request: IncomingMessage, response: ServerResponse) => {
    // Reads the address so that Node caches it: the log needs it after the client has disconnected.
    void request.socket.remoteAddress;
    current.set(request.socket, { request, response });
    response.on('finish', () => {
      drain(request);
      // On close, Node ends idle connections and those marked as last, but would wait for all others.
      if (closing) endAfter(request);
    });
  };
  app.addHook('onRequest', async (request, reply) => guard(request.raw, reply.raw));

  const endAfter = (request: IncomingMessage) => {
    const isLast = () => current.get(request.socket)?.request === request;
    const end = () => setTimeout(() => isLast() && request.socket.destroySoon(), retireMs).unref();
    if (request.complete) end();
    else request.once('end', end);
  };
  return guard;
}

/**
 * Sends the last bytes of a connection and closes it after `ms` at the latest, whatever the client still sends or leaves
 * unread.
 */
export function endWithin(socket: Socket, ms: number, last: string | Buffer): void {
  const late = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(late));
  socket.end(last);
}

/**
 * Accepts no new connections, and waits `ms` for requests that may be in flight: a load balancer keeps connections open, and
 * cannot repeat a POST when one closes under it. From now on Fastify marks each answer as the last of its connection.
 */
async function retire(server: Server, ms: number): Promise<void> {
  const empty = once(server, 'close');
  // The `close` of net.Server only stops listening; that of http.Server would end idle connections at once.
  NetServer.prototype.close.call(server);
  await Promise.race([empty, sleep(ms)]);
}

const awaitsContinue = new WeakSet<IncomingMessage>();

/** Sends `100 Continue` to a client that waits for it. */
export function sendContinue(request: IncomingMessage, response: ServerResponse): void {
  if (awaitsContinue.delete(request)) response.writeContinue();
}

function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  if (awaitsContinue.has(request)) {
    // The client may or may not send the body now, so only closing the connection is unambiguous.
    request.socket.destroySoon();
    return;
  }
  let drained = 0;
  request.on('data', (chunk: Buffer) => {
    drained += Math.max(chunk.length, LEAST_DRAINED_BYTES);
    if (drained > DRAIN_BYTES) request.socket.destroy();
  });
  request.on('error', () => request.socket.destroy());
  request.resume();
}
