/**
 * The fast lane for volumes. Node's HTTP server hands a body over in pieces of 64 KiB, each allocated, copied and
 * collected again; that costs as much as the SHA-256 of the volume. A connection that begins with a plain PUT of a
 * volume is therefore read here, straight into the memory it is hashed and written from, for as long as nothing else
 * comes along it. Whatever is not such a PUT, in its plainest form, goes to Node's server, byte for byte.
 */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Body, deposit, type Sink } from '../volumes/body.ts';
import { DRAIN_BYTES, MOST_UNREAD_BYTES } from './connection.ts';
import { type OpenSocket, type SocketMaker, takeOver } from './take-over.ts';
import { HEAD_BYTES, parseVolumeHead, splitHead, type VolumeHead } from './volume-head.ts';

/** Answers one PUT; never rejects. */
export type VolumeHandler = (
  head: VolumeHead,
  body: Body,
  begin: () => void,
  remote: string,
) => Promise<Answer>;

export interface Answer {
  status: number;
  reason: string;
  body: object;
}

export class VolumeLanes {
  readonly #server: Server;
  readonly #general: (socket: Socket) => void;
  readonly #handle: VolumeHandler;
  readonly #idleMs: number;
  readonly #lanes = new Set<Lane>();
  /** Connections that have not said anything yet. */
  readonly #silent = new Set<Socket>();
  #closing = false;

  /** Stands between the listening server and its own handling of connections. */
  constructor(server: Server, handle: VolumeHandler, idleMs: number) {
    this.#server = server;
    this.#handle = handle;
    this.#idleMs = idleMs;
    const [general] = server.listeners('connection') as ((socket: Socket) => void)[];
    this.#general = (socket) => general!.call(server, socket);
    server.removeAllListeners('connection');
    server.on('connection', (socket: Socket) => this.#meet(socket as OpenSocket));
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Idle lanes end now, the others after their answer. */
  close(): void {
    this.#closing = true;
    for (const lane of this.#lanes) lane.endIfIdle();
    for (const socket of this.#silent) socket.destroy();
  }

  /** Looks at the first bytes of a connection and decides who reads it. */
  #meet(socket: OpenSocket): void {
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
    socket.setTimeout(this.#idleMs, drop);
    socket.once('data', (bytes: Buffer) => {
      forget();
      socket.off('close', forget);
      socket.off('error', drop);
      socket.off('end', drop);
      socket.setTimeout(0);
      socket.off('timeout', drop);
      const split = socket._handle?.useUserBuffer ? splitHead(bytes) : undefined;
      const head = split && parseVolumeHead(split.text);
      if (head && split.rest.length <= head.length) {
        this.#add(socket, head, split.rest);
      } else {
        this.#pass(socket, bytes);
      }
    });
  }

  #add(socket: OpenSocket, head: VolumeHead, early: Buffer): void {
    const lane = new Lane(this, this.#handle, head, early, takeOver(socket, this.#server));
    this.#lanes.add(lane);
    lane.socket.setTimeout(this.#idleMs);
    lane.socket.once('close', () => this.#lanes.delete(lane));
  }

  /** Something else came along a lane: from here on Node's server has the connection. */
  surrender(lane: Lane, bytes: Buffer): void {
    if (lane.socket.destroyed) return;
    this.#lanes.delete(lane);
    this.#pass(takeOver(lane.socket as OpenSocket, this.#server)({}), bytes);
  }

  /** A last answer to a client that still sends: what it sends is thrown away, so that it gets to see the answer. */
  dismiss(lane: Lane, text: string, unread: number): void {
    if (lane.socket.destroyed) return;
    this.#lanes.delete(lane);
    const socket = takeOver(lane.socket as OpenSocket, this.#server)({});
    let left = Math.min(unread, DRAIN_BYTES);
    socket.setTimeout(this.#idleMs, () => socket.destroy());
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
    socket.on('data', (bytes: Buffer) => {
      left -= bytes.length;
      if (left <= 0) socket.destroy();
    });
    socket.end(text);
  }

  /** Gives a connection to Node's server, as if these bytes had not been read. */
  #pass(socket: Socket, bytes: Buffer): void {
    socket.pause();
    socket.unshift(bytes);
    this.#general(socket);
    socket.resume();
  }
}

/** The client went away, or fell silent, before its body was whole. */
export class BrokenOff extends Error {
  override name = 'BrokenOff';
}

/** One connection, read by this file: PUT after PUT of volumes. */
class Lane implements Body {
  readonly socket: Socket;
  readonly #lanes: VolumeLanes;
  readonly #handle: VolumeHandler;
  readonly #scratch = Buffer.allocUnsafeSlow(HEAD_BYTES);
  #mode: 'head' | 'body' | 'busy' | 'drain' = 'busy';
  /** Bytes of the body that came along with its head. */
  #early: Buffer = this.#scratch.subarray(0, 0);
  /** Bytes of the body that have not been read. */
  #remaining = 0;
  /** Where the next read goes. The system knows it already: only the read before may change it. */
  #next: Uint8Array = this.#scratch;
  #sink: Sink | undefined;
  #poured: PromiseWithResolvers<void> | undefined;
  /** It is the disk that keeps the client waiting. */
  #sinkIsFull = false;
  #drained = 0;

  constructor(lanes: VolumeLanes, handle: VolumeHandler, head: VolumeHead, early: Buffer, make: SocketMaker) {
    this.#lanes = lanes;
    this.#handle = handle;
    this.#expect(head, early);
    this.socket = make({
      pauseOnCreate: true,
      onread: { buffer: () => this.#next, callback: (count: number) => this.#read(count) },
    });
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('end', () => this.socket.destroy());
    this.socket.on('close', () => this.#poured?.reject(new BrokenOff('the client broke off')));
    this.socket.on('timeout', () => {
      const working = this.#mode === 'busy' && this.#remaining === 0;
      if (!working && !this.#sinkIsFull) this.socket.destroy();
    });
    this.#serve(head);
  }

  endIfIdle(): void {
    if (this.#mode === 'head') this.socket.destroy();
  }

  async pour(sink: Sink): Promise<void> {
    await deposit(this.#early, sink);
    if (this.#remaining === 0) return;
    if (this.socket.destroyed) throw new BrokenOff('the client broke off');
    this.#poured = Promise.withResolvers();
    this.#sink = sink;
    this.#mode = 'body';
    this.socket.resume();
    await this.#poured.promise;
  }

  #expect(head: VolumeHead, early: Buffer): void {
    this.#mode = 'busy';
    this.#early = early;
    this.#remaining = head.length - early.length;
    this.#next = this.#ownTarget();
  }

  #serve(head: VolumeHead): void {
    let asked = !head.asksFirst;
    const begin = () => {
      if (!asked) this.socket.write('HTTP/1.1 100 Continue\r\n\r\n');
      asked = true;
    };
    this.#handle(head, this, begin, this.socket.remoteAddress ?? '').then((answer) =>
      this.#answer(answer, head.close || !asked),
    );
  }

  /** So many bytes stand where `#next` pointed; it points to the place for those after them when this returns. */
  #read(count: number): boolean {
    if (this.#mode === 'head') return this.#readHead(count);
    this.#remaining -= count;
    return this.#mode === 'drain' ? this.#readUnwanted(count) : this.#readBody(count);
  }

  #readBody(count: number): boolean {
    const sink = this.#sink!;
    try {
      const own = this.#isOwn(this.#next);
      const wait = own ? deposit(this.#scratch.subarray(0, count), sink) : sink.advance(count);
      const ended = this.#remaining === 0;
      this.#next = ended || (own && wait) ? this.#ownTarget() : sink.target().subarray(0, this.#remaining);
      if (!ended && !wait) return true;
      if (ended) this.#endBody(wait);
      else this.#resumeAfter(wait!);
    } catch (error) {
      this.#next = this.#ownTarget();
      this.#failBody(error);
    }
    return false;
  }

  #resumeAfter(room: Promise<void>): void {
    this.#sinkIsFull = true;
    room.then(
      () => {
        this.#sinkIsFull = false;
        this.socket.resume();
      },
      (error: unknown) => this.#failBody(error),
    );
  }

  #endBody(room: Promise<void> | undefined): void {
    this.#closeBody();
    this.#poured!.resolve(room);
  }

  #failBody(error: unknown): void {
    this.#closeBody();
    this.#poured!.reject(error);
  }

  #closeBody(): void {
    this.#mode = 'busy';
    this.#sink = undefined;
    this.#sinkIsFull = false;
  }

  #readHead(count: number): boolean {
    const bytes = this.#scratch.subarray(0, count);
    const split = splitHead(bytes);
    const head = split && parseVolumeHead(split.text);
    if (!head || split.rest.length > head.length) {
      this.#mode = 'busy';
      // Not before this read has wholly ended: its end would stop the new reader.
      setImmediate(() => this.#lanes.surrender(this, bytes));
      return false;
    }
    this.#expect(head, split.rest);
    this.#serve(head);
    return false;
  }

  #readUnwanted(count: number): boolean {
    this.#drained += count;
    this.#next = this.#ownTarget();
    if (this.#drained > DRAIN_BYTES) this.socket.destroy();
    else if (this.#remaining === 0 && this.#lanes.closing) this.socket.destroySoon();
    else if (this.#remaining === 0) this.#mode = 'head';
    return true;
  }

  #answer({ status, reason, body }: Answer, close: boolean): void {
    if (this.socket.destroyed) return;
    const unread = this.#remaining > 0;
    // A read can only go on into memory of our own: the sink's may serve another request by now.
    const end = close || this.#lanes.closing || (unread && !this.#isOwn(this.#next));
    const json = JSON.stringify(body);
    const text =
      `HTTP/1.1 ${status} ${reason}\r\nContent-Type: application/json; charset=utf-8\r\n` +
      `Content-Length: ${Buffer.byteLength(json)}\r\nConnection: ${end ? 'close' : 'keep-alive'}\r\n\r\n${json}`;
    if (end) {
      // Not before a read under way has wholly ended: its end would stop the new reader.
      if (unread) setImmediate(() => this.#lanes.dismiss(this, text, this.#remaining));
      else this.socket.end(text, () => this.socket.destroy());
      return;
    }
    this.socket.write(text);
    if (this.socket.writableLength > MOST_UNREAD_BYTES) this.socket.destroy();
    this.#drained = 0;
    this.#mode = unread ? 'drain' : 'head';
    this.socket.resume();
  }

  /** Memory of the lane itself, no more of it than belongs to the body. */
  #ownTarget(): Uint8Array {
    return this.#remaining > 0 ? this.#scratch.subarray(0, this.#remaining) : this.#scratch;
  }

  #isOwn(bytes: Uint8Array): boolean {
    return bytes.buffer === this.#scratch.buffer;
  }
}
