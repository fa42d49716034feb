import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { Server } from 'node:net';
import { setImmediate as afterPoll, setTimeout as sleep } from 'node:timers/promises';
import { http } from '../platform/http/node-http.ts';

/** What travels between the processes of a cluster; Node does not document it, a test holds the pinned version to it. */
interface ClusterMessage {
  cmd?: string;
  act?: string;
  seq?: number;
  ack?: number;
}
interface Handle {
  fd: number;
  close(): void;
  /** Of one that accepts. */
  onconnection?: (error: number, connection?: Handle) => void;
}
type Send = (message: ClusterMessage, handle?: Handle, ...rest: unknown[]) => boolean;

/** Workers that a connection can be given to. */
const listening = new Set<Worker>();
/** Where Node's cluster accepts connections for them. */
const accepting = new Set<Handle>();
/** Connections that were given to a worker, which has not said that it took them. */
const onTheirWay = new Set<Handle>();
const HANDOVER_MS = 1000;

/** One that does not is still starting: it has no connection, and hears no message. */
export const isListening = (worker: Worker) => listening.has(worker);

/**
 * Notes where connections are accepted; call it before the first worker is started. While `most` of them wait for a worker to take them,
 * new ones are closed at once, and `onRefused` is called for each.
 */
export function watchAccepting(most: number, onRefused: () => void): void {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server & { _handle: Handle }, ...args: unknown[]) {
    // Those that Node's cluster makes are plain ones.
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
  let waiting = 0;
  const distribute = handle.onconnection!;
  handle.onconnection = (error, connection) => {
    if (connection && waiting >= most) {
      connection.close();
      onRefused();
      return;
    }
    if (connection) {
      waiting++;
      const { close } = connection;
      connection.close = () => {
        waiting--;
        connection.close = close;
        close.call(connection);
      };
    }
    distribute.call(handle, error, connection);
  };
}

/**
 * Nobody new is let in, and all who were are with a worker when this resolves. Were the workers just told to stop, Node would
 * drop those that are on their way: a balancer has sent a request along them by then.
 */
export async function stopAccepting(): Promise<void> {
  // Right after the system was asked for new connections, none waits there.
  await afterPoll();
  for (const handle of accepting) handle.close();
  accepting.clear();
  const end = Date.now() + HANDOVER_MS;
  // Node gives a worker the next one when it took the last.
  for (let quiet = 0; quiet < 3 && Date.now() < end; quiet = onTheirWay.size === 0 ? quiet + 1 : 0)
    await sleep(5);
}

/**
 * Node's cluster gives a connection to a worker, and closes its own copy and gives it the next one when the worker acknowledges it.
 * Two things would stop that for good:
 *
 * - The worker dies first. Then Node is made to give the connection to another worker.
 * - The worker has no file descriptor left. Then the system drops the connection on its way, the worker reports that no handle
 *   arrived (NODE_HANDLE_NACK), and Node never hears of the connection again. It is acknowledged here, which closes it.
 *
 * A worker that is only slow keeps its connection: it serves it later, and free workers get the others.
 */
export function recoverConnections(worker: Worker): void {
  const child = worker.process as ChildProcess;
  const given = new Map<number, Handle>();
  const send = child.send.bind(child) as unknown as Send;
  const noted: Send = (message, handle, ...rest) => {
    if (message?.act === 'newconn' && handle) {
      given.set(message.seq!, handle);
      onTheirWay.add(handle);
    }
    return send(message, handle, ...rest);
  };
  child.send = noted as unknown as ChildProcess['send'];
  const tellNode = (ack: number, accepted: boolean) =>
    child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted });
  child.on('internalMessage', ({ cmd, ack }: ClusterMessage) => {
    // Connections travel one after the other.
    const [lost] = cmd === 'NODE_HANDLE_NACK' ? given.keys() : [];
    if (lost !== undefined) tellNode(lost, true);
    if (ack === undefined) return;
    onTheirWay.delete(given.get(ack)!);
    given.delete(ack);
  });
  const giveBack = () => {
    // Before that Node could give them to the dead one again.
    if (child.connected) return;
    listening.delete(worker);
    for (const [ack, handle] of given) {
      onTheirWay.delete(handle);
      // Node may have closed one that was still on its way. Where nobody listens the client is better off without it.
      if (handle.fd < 0) continue;
      if (listening.size === 0) handle.close();
      else tellNode(ack, false);
    }
    given.clear();
  };
  // A connection on its way keeps Node from ever saying that the channel is gone, and with that the dead one in its list.
  const sayGone = () => {
    if (!cluster.workers?.[worker.id]) return;
    if (child.connected) setImmediate(sayGone);
    else child.emit('disconnect');
  };
  worker.once('listening', () => listening.add(worker));
  // Mostly the channel ends first; the process does when it dies while Node looks after another one that died.
  worker.once('exit', () => {
    giveBack();
    sayGone();
  });
  worker.once('disconnect', giveBack);
}
