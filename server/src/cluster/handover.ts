import type { ChildProcess } from 'node:child_process';
import cluster, { type Worker } from 'node:cluster';
import { Server } from 'node:net';
import { setImmediate as afterPoll, setTimeout as sleep } from 'node:timers/promises';
import { http } from '../node-http.ts';

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

/** Notes where connections are accepted; to be called before the first worker is started. */
export function watchAccepting(): void {
  const { listen } = Server.prototype;
  Server.prototype.listen = function (this: Server & { _handle: Handle }, ...args: unknown[]) {
    // Those that Node's cluster makes are plain ones.
    if (!(this instanceof http.Server)) this.once('listening', () => accepting.add(this._handle));
    return listen.apply(this, args as never);
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
 * Node's cluster gives a connection to a worker and closes its own copy when the worker says that it took it. One that
 * dies before it says so leaves the client waiting for ever. So it is said in its place that it did not take them, and
 * Node gives them to another.
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
  child.on('internalMessage', ({ ack }: ClusterMessage) => {
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
      else child.emit('internalMessage', { cmd: 'NODE_CLUSTER', ack, accepted: false });
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
