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

export class VolumeLanes {
  readonly idleMs: number;
  readonly idOf: RequestIds;
  readonly #server: Server;
  readonly #general: (socket: Socket) => void;
  readonly #handle: VolumeHandler;
  readonly #lanes = new Set<Lane>();
  /** Connections that have sent nothing yet. */
  readonly #silent = new Set<Socket>();
  #closing = false;

  /** Gets the server's new connections before the server itself does. */
  constructor(server: Server, handle: VolumeHandler, idleMs: number, idOf: RequestIds = newRequestId) {
    this.#server = server;
    this.#handle = handle;
    this.idleMs = idleMs;
    this.idOf = idOf;
    const [general] = server.listeners('connection') as ((socket: Socket) => void)[];
    this.#general = (socket) => general!.call(server, socket);
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => this.#inspect(socket));
  }

  /** Each answer is now the last of its connection. */
  get closing(): boolean {
    return this.#closing || !this.#server.listening;
  }

  /** Closes idle connections now, the others after their answer. */
  close(): void {
    this.#closing = true;
    for (const lane of this.#lanes) lane.endIfIdle();
    for (const socket of this.#silent) socket.destroy();
  }

  /** Decides by the first bytes of a connection who reads it. */
  #inspect(socket: Socket): void {
    const drop = () => socket.destroy();
    const forget = () => this.#silent.delete(socket);
    if (this.#closing) {
      drop();
      return;
    }
    this.#silent.add(socket);
    socket.once('close', forget);
    socket.on('error', drop);
    socket.once('end', drop);
    socket.setTimeout(this.idleMs, drop);
    socket.once('data', (bytes: Buffer) => {
      forget();
      socket.off('close', forget);
      socket.off('error', drop);
      socket.off('end', drop);
      socket.setTimeout(0);
      socket.off('timeout', drop);
      const split = splitHead(bytes);
      const head = split && parseVolumeHead(split.text);
      if (head && split.rest.length <= head.length) {
        const lane = new Lane(this, this.#handle, socket, head, split.rest);
        this.#lanes.add(lane);
        lane.socket.once('close', () => this.#lanes.delete(lane));
      } else {
        socket.pause();
        socket.unshift(bytes);
        this.#pass(socket);
      }
    });
  }

  /** Hands a connection with another request to Node's server, after the answers that are still to be sent. */
  surrender(lane: Lane, socket: Socket): void {
    this.#lanes.delete(lane);
    this.#pass(socket);
  }

  #pass(socket: Socket): void {
    this.#general(socket);
    socket.resume();
  }
}

/** One connection on the lane: one PUT of a volume after the other. */
class Lane {
  readonly #lanes: VolumeLanes;
  readonly #handle: VolumeHandler;
  readonly #intake: Intake;
  #mode: 'head' | 'busy' | 'drain' | 'ending' = 'busy';
  #drained = 0;
  readonly #listeners = {
    error: () => this.socket.destroy(),
    end: () => this.socket.destroy(),
    timeout: () => this.#onTimeout(),
  };

  constructor(lanes: VolumeLanes, handle: VolumeHandler, from: Socket, head: VolumeHead, early: Buffer) {
    this.#lanes = lanes;
    this.#handle = handle;
    const onBytes = (bytes: Buffer) => this.#read(bytes);
    this.#intake = Intake.takeOver(from, onBytes, HEAD_BYTES, head.length, early);
    for (const [event, listener] of Object.entries(this.#listeners)) this.socket.on(event, listener);
    this.socket.setTimeout(lanes.idleMs);
    this.#serve(head);
  }

  get socket(): Socket {
    return this.#intake.socket;
  }

  endIfIdle(): void {
    if (this.#mode === 'head') this.#end();
  }

  #onTimeout(): void {
    // While the server works, the client's silence does not count.
    const working = this.#mode === 'busy' && (!this.#intake.pours || this.#intake.waits);
    if (working) this.socket.setTimeout(this.#lanes.idleMs);
    else this.socket.destroy();
  }

  #serve(head: VolumeHead): void {
    let asked = !head.asksFirst;
    const begin = () => {
      if (!asked) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      asked = true;
    };
    const remote = this.socket.remoteAddress ?? '';
    const id = this.#lanes.idOf(head.requestId, remote);
    this.#handle(head, this.#intake, begin, remote, id).then((answer) =>
      this.#answer(answer, id, head.close || !asked),
    );
  }

  #read(bytes: Buffer): boolean {
    return this.#mode === 'head' ? this.#readHead(bytes) : this.#readUnwanted(bytes);
  }

  #readHead(bytes: Buffer): boolean {
    this.#mode = 'busy';
    const split = splitHead(bytes);
    const head = split && parseVolumeHead(split.text);
    if (!head || split.rest.length > head.length) {
      // After this read has returned, because its return would stop the new reader.
      setImmediate(() => this.#surrender(bytes));
      return false;
    }
    this.#intake.begin(head.length, split.rest);
    this.#serve(head);
    return false;
  }

  #surrender(bytes: Buffer): void {
    if (this.socket.destroyed) return;
    for (const [event, listener] of Object.entries(this.#listeners)) this.socket.off(event, listener);
    this.socket.setTimeout(0);
    this.#intake.release(bytes);
    this.#lanes.surrender(this, this.socket);
  }

  #readUnwanted(bytes: Buffer): boolean {
    this.#drained += bytes.length;
    const ended = this.#intake.remaining === 0;
    if (this.#drained > DRAIN_BYTES) this.socket.destroy();
    else if (ended && this.#mode === 'ending') this.socket.destroySoon();
    else if (ended && this.#lanes.closing) this.#end();
    else if (ended) this.#mode = 'head';
    return true;
  }

  #answer(answer: Answer, id: string, close: boolean): void {
    if (this.socket.destroyed) return;
    const last = close || this.#lanes.closing;
    const text = formatAnswer(answer, id, last);
    this.#drained = 0;
    if (last) {
      this.#end(text);
      return;
    }
    this.#mode = this.#intake.remaining > 0 ? 'drain' : 'head';
    // A client that does not read its answers is not read either, as in Node's server, and times out.
    if (this.socket.write(text)) this.#intake.resume();
    else this.socket.once('drain', () => this.#intake.resume());
  }

  /** Discards what the client still sends, up to a limit and for a while, so that it gets to see the answer. */
  #end(text = ''): void {
    this.#mode = 'ending';
    const unread = this.#intake.remaining > 0;
    endWithin(this.socket, this.#lanes.idleMs, text);
    if (unread) this.#intake.resume();
    else this.socket.destroySoon();
  }
}
