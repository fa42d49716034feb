import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Server as NetServer, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';

/** A body nobody wants is read and thrown away up to here, so that the client gets to see the answer. */
export const DRAIN_BYTES = 64 * 1024 * 1024;
/** What a piece of it counts at least: chunks of a byte each cost as much CPU. */
const LEAST_DRAINED_BYTES = 1024;
/** A client of the volume socket that never reads is disconnected when this much of what it was sent piles up here. */
export const MOST_UNREAD_BYTES = 64 * 1024;

/** What a client sent before it knew better has arrived by then. */
const RETIRE_MS = 500;
/** A balancer has closed by then what it keeps open and does not use: `keepalive_timeout` in deploy/nodes.conf is less. */
const BALANCER_RETIRE_MS = 5000;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

/**
 * What happens on a connection around the routes: silence ends it, unless it is the service that is at work;
 * a body nobody wanted is drained; `Expect: 100-continue` is answered only once the body is wanted. Returns what a request that
 * does not come to a route is to begin with.
 */
export function guardConnections(
  app: FastifyInstance,
  behindBalancer: boolean,
): (request: IncomingMessage, response: ServerResponse) => void {
  const server = app.server as Server;
  const current = new WeakMap<Socket, Exchange>();
  let closing = false;
  app.addHook('preClose', async () => {
    closing = true;
    await retire(server, behindBalancer ? BALANCER_RETIRE_MS : RETIRE_MS);
  });

  server.on('timeout', (socket: Socket) => {
    const exchange = current.get(socket);
    const working = exchange?.request.complete && !exchange.response.headersSent;
    if (!working) socket.destroy();
  });

  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    // Without a Host header Node has refused it already, and asks all the same.
    if (response.writableEnded) return;
    awaitsContinue.add(request);
    app.routing(request, response);
  });

  const guard = (request: IncomingMessage, response: ServerResponse) => {
    // A socket that was asked once knows it also when the client is gone; its request is still to be logged then.
    void request.socket.remoteAddress;
    current.set(request.socket, { request, response });
    response.on('finish', () => {
      drain(request);
      // Node ends what is idle when it closes, and what was told that this answer is its last; the others would be waited for.
      if (closing) endAfter(request);
    });
  };
  app.addHook('onRequest', async (request, reply) => guard(request.raw, reply.raw));

  const endAfter = (request: IncomingMessage) => {
    const isLast = () => current.get(request.socket)?.request === request;
    const end = () => setTimeout(() => isLast() && request.socket.destroySoon(), RETIRE_MS).unref();
    if (request.complete) end();
    else request.once('end', end);
  };
  return guard;
}

/** Sends the last bytes of a connection. It is closed when this time is over, whatever the client sends or does not read. */
export function endWithin(socket: Socket, ms: number, last: string | Buffer): void {
  const late = setTimeout(() => socket.destroy(), ms);
  socket.once('close', () => clearTimeout(late));
  socket.end(last);
}

/**
 * Nobody new is let in, and whoever is connected has this long for a request that may be on its way: a balancer keeps
 * connections, and cannot send a POST a second time when one is closed under it. Each answer from now on is the last of its
 * connection, which Fastify sees to.
 */
async function retire(server: Server, ms: number): Promise<void> {
  const empty = once(server, 'close');
  // Only the part of `close` that stops listening; all of it would end what is idle at once.
  NetServer.prototype.close.call(server);
  await Promise.race([empty, sleep(ms)]);
}

const awaitsContinue = new WeakSet<IncomingMessage>();

/** Tells a client that asked first to send its body. */
export function wantBody(request: IncomingMessage, response: ServerResponse): void {
  if (awaitsContinue.delete(request)) response.writeContinue();
}

function drain(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return;
  if (awaitsContinue.has(request)) {
    // It never sent the body and may or may not do so now: only a new connection is clear.
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
