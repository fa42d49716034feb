/**
 * The fast lane for volumes. Node's HTTP server hands a body over in pieces of 64 KiB, each allocated, copied and
 * collected again; that costs as much as the SHA-256 of the volume. A connection that begins with a plain PUT of a
 * volume is therefore read here, straight into the memory it is hashed and written from (`intake.ts`), for as long as nothing
 * else comes along it. Whatever is not such a PUT, in its plainest form, goes to Node's server, byte for byte.
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
  /** Connections that have not said anything yet. */
  readonly #silent = new Set<Socket>();
  #closing = false;

  /** Stands between the listening server and its own handling of connections. */
  constructor(server: Server, handle: VolumeHandler, idleMs: number, idOf: RequestIds = newRequestId) {
    this.#server = server;
    this.#handle = handle;
    this.idleMs = idleMs;
    this.idOf = idOf;
    const [general] = server.listeners('connection') as ((socket: Socket) => void)[];
    this.#general = (socket) => general!.call(server, socket);
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => this.#meet(socket));
  }

  /** Each answer is the last of its connection. */
  get closing(): boolean {
    return this.#closing || !this.#server.listening;
  }

  /** Idle lanes end now, the others after their answer. */
  close(): void {
    this.#closing = true;
    for (const lane of this.#lanes) lane.endIfIdle();
    for (const socket of this.#silent) socket.destroy();
  }

  /** Looks at the first bytes of a connection and decides who reads it. */
  #meet(socket: Socket): void {
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

  /** Something else came along a lane: from here on Node's server has the connection, behind the answers that wait in it. */
  surrender(lane: Lane, socket: Socket): void {
    this.#lanes.delete(lane);
    this.#pass(socket);
  }

  #pass(socket: Socket): void {
    this.#general(socket);
    socket.resume();
  }
}

/** One connection, read by this file: PUT after PUT of volumes. */
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
    // Not the client's silence: nobody listens to it meanwhile.
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
      // Only after this read has ended completely: its end would stop the new reader.
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
    // Who does not read its answers is not listened to, as with Node's own server, and so falls silent.
    if (this.socket.write(text)) this.#intake.resume();
    else this.socket.once('drain', () => this.#intake.resume());
  }

  /** What a client still sends is thrown away, up to a limit and for a while, so that it gets to see the answer. */
  #end(text = ''): void {
    this.#mode = 'ending';
    const unread = this.#intake.remaining > 0;
    endWithin(this.socket, this.#lanes.idleMs, text);
    if (unread) this.#intake.resume();
    else this.socket.destroySoon();
  }
}
