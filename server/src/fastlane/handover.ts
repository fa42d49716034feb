import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { Server } from 'node:net';
import { setImmediate as afterPoll, setTimeout as sleep } from 'node:timers/promises';
import { http } from '../platform/http/node-http.ts';

/** Messages between the processes of a Node cluster. Node does not document them; a test checks them for the pinned version. */
interface ClusterMessage {
  cmd?: string;
  act?: string;
  seq?: number;
  ack?: number;
}
interface Handle {
  fd: number;
  close(): void;
  /** Set on a listening handle. */
  onconnection?: (error: number, connection?: Handle) => void;
}
type Send = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean;

/** Workers that can take connections. */
const listening = new Set<Worker>();
/** The listening handles of Node's cluster. */
const accepting = new Set<Handle>();
/** Accepted connections that no worker has taken yet. */
const waiting = new Set<Handle>();
let acceptedCount = 0;
const HANDOVER_MS = 1000;

/** False while the worker is still starting: it has no connections yet and does not read messages. */
export const isListening = (worker: Worker) => listening.has(worker);

/**
 * Records the listening handles; call it before the first worker starts. While `most` connections wait for a worker, new ones
 * are closed at once and `onRefused` is called for each.
 */
export function watchAccepting(most: number, onRefused: () => void): void {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server & { _handle: Handle }, ...args: unknown[]) {
    // The servers of Node's cluster are plain net.Servers.
    if (!(this instanceof http.Server)) {
      this.once('listening', () => {
        const handle = this._handle;
        accepting.add(handle);
        // Node sets `onconnection` after this listener.
        process.nextTick(() => boundWaiting(handle, most, onRefused));
      });
    }
    return listen.apply(this, args as never);
  };
}

function boundWaiting(handle: Handle, most: number, onRefused: () => void): void {
  const distribute = handle.onconnection!;
  handle.onconnection = (error, connection) => {
    acceptedCount++;
    if (connection && waiting.size >= most) {
      connection.close();
      onRefused();
      return;
    }
    if (connection) {
      waiting.add(connection);
      const { close } = connection;
      connection.close = () => {
        waiting.delete(connection);
        connection.close = close;
        close.call(connection);
      };
    }
    distribute.call(handle, error, connection);
  };
}

/**
 * Stops accepting. When this resolves, all accepted connections are with a worker. Otherwise Node would drop those in
 * transit, and a load balancer may already have sent a request on them.
 */
export async function stopAccepting(): Promise<void> {
  const end = Date.now() + HANDOVER_MS;
  // libuv accepts one connection per poll, and closing resets those still queued in the kernel. So close only after a poll
  // without a new connection.
  await afterPoll();
  for (let before = -1; before !== acceptedCount && Date.now() < end; await afterPoll())
    before = acceptedCount;
  for (const handle of accepting) handle.close();
  accepting.clear();
  while (waiting.size > 0 && Date.now() < end) await sleep(5);
}

/**
 * Node's cluster sends a connection to a worker. When the worker acknowledges it, Node closes its own copy and sends the next
 * one. Two faults would stop this for good:
 *
 * - The worker dies before it acknowledges. This function makes Node send the connection to another worker.
 * - The worker has no file descriptor left. The system then drops the connection, the worker reports that no handle arrived
 *   (NODE_HANDLE_NACK), and Node never hears of the connection again. This function acknowledges it, which closes it.
 *
 * A worker that is only slow keeps its connection and serves it later; free workers get the others.
 */
export function recoverConnections(worker: Worker): void {
  const child = worker.process as ChildProcess;
  const sent = new Map<number, Handle>();
  const send = child.send.bind(child) as unknown as Send;
  const sendAndRecord: Send = (message, handle, ...rest) => {
    if (message?.act === 'newconn' && handle) sent.set(message.seq!, handle);
    return send(message, handle, ...rest);
  };
  child.send = sendAndRecord as unknown as ChildProcess['send'];
  const acknowledge = (ack: number, accepted: boolean) =>
    child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted });
  child.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    // Connections are sent one after another, so the lost one is the oldest unacknowledged.
    const [lost] = cmd === 'NODE_HANDLE_NACK' ? sent.keys() : [];
    if (lost !== undefined) acknowledge(lost, true);
    if (ack !== undefined) sent.delete(ack);
  });
  const returnConnections = () => {
    // While the channel is open, Node could choose the dead worker again.
    if (child.connected) return;
    listening.delete(worker);
    for (const [ack, handle] of sent) {
      // Node may have closed the handle in transit. If no worker listens, closing the connection tells the client.
      if (handle.fd < 0) continue;
      if (listening.size === 0) handle.close();
      else acknowledge(ack, false);
    }
    sent.clear();
  };
  // A connection in transit keeps Node from emitting `disconnect`, so the cluster would keep the dead worker in its list.
  const emitDisconnect = () => {
    if (!cluster.workers?.[worker.id]) return;
    if (child.connected) setImmediate(emitDisconnect);
    else child.emit('disconnect');
  };
  worker.once('listening', () => listening.add(worker));
  // Usually the channel closes before the exit, but not when Node is busy with another worker that died.
  worker.once('exit', () => {
    returnConnections();
    emitDisconnect();
  });
  worker.once('disconnect', returnConnections);
}
