/**
 * The fast lane for volumes. Node's HTTP server delivers a body in pieces of 64 KiB, each allocated, copied and garbage
 * collected, which costs as much as the SHA-256 of the volume. A connection that begins with a plain PUT of a volume is read
 * here instead, straight into the memory that is hashed and written (`intake.ts`). Any other request goes to Node's server, byte
 * for byte.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { DRAIN_BYTES, endWithin } from '../platform/http/connection.ts';
import { type Answer, formatAnswer } from '../platform/http/errors.ts';
import { newRequestId, type RequestIds } from '../platform/http/request-log.ts';
import type { VolumeHandler } from '../transfers/put.ts';
import { HEAD_BYTES, parseVolumeHead, splitHead, type VolumeHead } from './head.ts';
import { Intake } from './intake.ts';

interface LaneContext {
  handle: VolumeHandler;
  idleMs: number;
  idOf: RequestIds;
  /** Whether the server is stopping, so that each answer is the last on its connection. */
  isClosing(): boolean;
  /** Hands a connection with any other request to Node's server. */
  passToNode(socket: Socket): void;
}

/** Handles the server's new connections before the server itself does. */
export function openVolumeLanes(
  server: Server,
  handle: VolumeHandler,
  idleMs: number,
  idOf: RequestIds = newRequestId,
): { close(): void } {
  const lanes = new Set<Lane>();
  /** Connections that have sent nothing yet. */
  const silent = new Set<Socket>();
  let closing = false;
  const [nodeListener] = server.listeners('connection') as ((socket: Socket) => void)[];
  const context: LaneContext = {
    ...{ handle, idleMs, idOf },
    isClosing: () => closing || !server.listening,
    passToNode(socket) {
      nodeListener!.call(server, socket);
      socket.resume();
    },
  };

  /** Chooses the reader of a connection by its first bytes. */
  const inspect = (socket: Socket) => {
    const drop = () => socket.destroy();
    const forget = () => silent.delete(socket);
    if (closing) {
      drop();
      return;
    }
    silent.add(socket);
    socket.once('close', forget).on('error', drop).once('end', drop).setTimeout(idleMs, drop);
    socket.once('data', (bytes: Buffer) => {
      forget();
      socket.off('close', forget).off('error', drop).off('end', drop).off('timeout', drop).setTimeout(0);
      const split = splitHead(bytes);
      const head = split && parseVolumeHead(split.text);
      if (head && split.rest.length <= head.length) {
        const lane = new Lane(context, socket, head, split.rest, () => lanes.delete(lane));
        lanes.add(lane);
      } else {
        socket.pause();
        socket.unshift(bytes);
        context.passToNode(socket);
      }
    });
  };
  server.removeAllListeners('connection');
  server.on('connection', inspect);
  return {
    /** Closes idle connections now and the others after their current answer. */
    close() {
      closing = true;
      for (const lane of lanes) lane.endIfIdle();
      for (const socket of silent) socket.destroy();
    },
  };
}

/** One connection on the fast lane, with one PUT of a volume after another. */
class Lane {
  readonly #context: LaneContext;
  readonly #intake: Intake;
  readonly #socket: Socket;
  #mode: 'head' | 'busy' | 'drain' | 'ending' = 'busy';
  #drained = 0;
  readonly #listeners: Record<string, () => void>;

  constructor(context: LaneContext, from: Socket, head: VolumeHead, early: Buffer, onLeave: () => void) {
    this.#context = context;
    const onBytes = (bytes: Buffer) =>
      this.#mode === 'head' ? this.#readHead(bytes) : this.#readUnwanted(bytes);
    this.#intake = Intake.takeOver(from, onBytes, HEAD_BYTES, head.length, early);
    const { socket } = this.#intake;
    this.#socket = socket;
    const drop = () => socket.destroy();
    this.#listeners = { error: drop, end: drop, timeout: () => this.#onTimeout(), close: onLeave };
    for (const [event, listener] of Object.entries(this.#listeners)) socket.on(event, listener);
    socket.setTimeout(context.idleMs);
    this.#serve(head);
  }

  endIfIdle(): void {
    if (this.#mode === 'head') this.#end();
  }

  #onTimeout(): void {
    // While the server works, the client's silence does not count.
    const working = this.#mode === 'busy' && (!this.#intake.pours || this.#intake.waits);
    if (working) this.#socket.setTimeout(this.#context.idleMs);
    else this.#socket.destroy();
  }

  #serve(head: VolumeHead): void {
    const { handle, idOf } = this.#context;
    let asked = !head.asksFirst;
    const begin = () => {
      if (!asked) this.#socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      asked = true;
    };
    const remote = this.#socket.remoteAddress ?? '';
    const id = idOf(head.requestId, remote);
    handle(head, this.#intake, begin, remote, id).then((answer) =>
      this.#answer(answer, id, head.close || !asked),
    );
  }

  #readHead(bytes: Buffer): boolean {
    this.#mode = 'busy';
    const split = splitHead(bytes);
    const head = split && parseVolumeHead(split.text);
    if (head && split.rest.length <= head.length) {
      this.#intake.begin(head.length, split.rest);
      this.#serve(head);
    } else {
      // Must wait until this read has returned, because its return value would stop the new reader.
      setImmediate(() => this.#leave(bytes));
    }
    return false;
  }

  /** Leaves the connection to Node's server, which gets these bytes first. */
  #leave(bytes: Buffer): void {
    if (this.#socket.destroyed) return;
    for (const [event, listener] of Object.entries(this.#listeners)) this.#socket.off(event, listener);
    this.#socket.setTimeout(0);
    this.#intake.release(bytes);
    this.#listeners['close']!();
    this.#context.passToNode(this.#socket);
  }

  #readUnwanted(bytes: Buffer): boolean {
    this.#drained += bytes.length;
    const ended = this.#intake.remaining === 0;
    if (this.#drained > DRAIN_BYTES) this.#socket.destroy();
    else if (ended && this.#mode === 'ending') this.#socket.destroySoon();
    else if (ended && this.#context.isClosing()) this.#end();
    else if (ended) this.#mode = 'head';
    return true;
  }

  #answer(answer: Answer, id: string, close: boolean): void {
    if (this.#socket.destroyed) return;
    const last = close || this.#context.isClosing();
    const text = formatAnswer(answer, id, last);
    this.#drained = 0;
    if (last) {
      this.#end(text);
      return;
    }
    this.#mode = this.#intake.remaining > 0 ? 'drain' : 'head';
    // As in Node's server, a client that does not read its answers is not read either, and times out.
    if (this.#socket.write(text)) this.#intake.resume();
    else this.#socket.once('drain', () => this.#intake.resume());
  }

  /** Discards the rest of the client's body, up to a limit and for a limited time, so that the client gets to see the answer. */
  #end(text = ''): void {
    this.#mode = 'ending';
    const unread = this.#intake.remaining > 0;
    endWithin(this.#socket, this.#context.idleMs, text);
    if (unread) this.#intake.resume();
    else this.#socket.destroySoon();
  }
}
