/**
 * Reads a connection straight into the memory of a sink. libuv keeps the address of that memory, so a mistake would put bytes of
 * one client into the upload of another, or into freed memory. Only this file touches a handle or uses `onread`. The rule:
 *
 * - Outside of a read, libuv always has the intake's own memory, until the handle is closed. The intake keeps that memory, the
 *   socket keeps the intake, and the open handle keeps the socket.
 * - A sink lends its memory only from one read of a pour to the next. A read that must wait, ends the body or fails hands
 *   the intake's own memory back to libuv as it returns.
 * - `pour` settles after that, when nothing writes into the sink any more. From then on a pool may lend the memory to others.
 *
 * Always reading into the intake's own memory and copying would need no rule, but cost 8 to 14 % more CPU for a PUT of 8 MiB.
 * As it is, only the first read after each pause is copied.
 */
import type { Server } from 'node:http';
import { type OnReadOpts, Socket } from 'node:net';
import { copyInto, Disconnected, type Sink } from '../platform/volumes/body.ts';

/** Undocumented parts of a socket; `probeIntake` tests them at the start. */
interface OpenSocket extends Socket {
  _handle: { readStop(): void } | null;
  _server: Server | null;
  server: Server | null;
}

/** Receives bytes that stay valid until it returns; if it returns false, until it resumes the socket. */
export type OnBytes = (bytes: Buffer) => boolean;

interface Pour {
  sink: Sink;
  done: PromiseWithResolvers<void>;
}

const NOTHING = Buffer.alloc(0);
const intakes = new WeakMap<Socket, Intake>();

export class Intake {
  readonly socket: Socket;
  /** Receives bytes that belong to no body. */
  onBytes: OnBytes;
  #remaining: number;
  /** Bytes of the body that arrived together with its head. */
  #early: Buffer;
  readonly #own: Buffer;
  /** Memory for the next read. libuv already has it: only a read may change it, for the read after that. */
  #target: Uint8Array;
  #pour: Pour | undefined;
  #sinkIsFull = false;

  /** `open` creates the socket, paused or not connected yet. For `length` and `early` see `begin`. */
  constructor(
    open: (onread: OnReadOpts) => Socket,
    onBytes: OnBytes,
    size: number,
    length = 0,
    early: Buffer = NOTHING,
  ) {
    this.onBytes = onBytes;
    this.#remaining = length - early.length;
    this.#early = early;
    this.#own = Buffer.allocUnsafeSlow(size);
    this.#target = this.#ownTarget();
    this.socket = open({ buffer: () => this.#target, callback: (count) => this.#read(count) });
    this.socket.on('close', () => this.#onClose());
    intakes.set(this.socket, this);
  }

  /** Returns the intake that already reads this socket. */
  static of(socket: Socket): Intake | undefined {
    return intakes.get(socket);
  }

  /**
   * Moves an accepted connection for good to a new socket that reads here: a handle that has once been read into our memory
   * must never be read by anything else.
   */
  static takeOver(from: Socket, onBytes: OnBytes, size: number, length?: number, early?: Buffer): Intake {
    const { _handle: handle, _server: server } = from as OpenSocket;
    if (!handle || intakes.has(from)) throw new Error('the socket cannot be taken over');
    // Nothing would send those bytes or notice a failure.
    if (from.writableLength > 0) throw new Error('a socket with unsent bytes cannot be taken over');
    handle.readStop();
    (from as OpenSocket)._handle = null;
    // The server counts its connections by this property; from now on the new socket is counted.
    (from as OpenSocket)._server = null;
    from.setTimeout(0);
    from.removeAllListeners();
    const open = (onread: OnReadOpts) => {
      const options = { handle, allowHalfOpen: true, pauseOnCreate: true, onread };
      const socket = new Socket(options as object) as OpenSocket;
      socket.server = server;
      socket._server = server;
      return socket;
    };
    return new Intake(open, onBytes, size, length, early);
  }

  /** Bytes of the body that have not been read yet. No read goes beyond them. */
  get remaining(): number {
    return this.#remaining;
  }

  /**
   * Begins a body of `length` bytes whose first bytes, `early`, have already arrived. Call this in `onBytes`, before it
   * returns.
   */
  begin(length: number, early: Buffer): void {
    this.#remaining = length - early.length;
    this.#early = early;
  }

  /** Whether reading is paused because the sink is full. */
  get waits(): boolean {
    return this.#sinkIsFull;
  }

  get pours(): boolean {
    return this.#pour !== undefined;
  }

  resume(): void {
    this.socket.resume();
  }

  /** Writes the body to the sink. When it settles, nothing writes into the sink's memory any more. */
  async pour(sink: Sink): Promise<void> {
    await copyInto(this.#early, sink);
    this.#early = NOTHING;
    if (this.#remaining === 0) return;
    if (this.socket.destroyed) throw new Disconnected('the peer disconnected');
    this.#pour = { sink, done: Promise.withResolvers() };
    this.resume();
    await this.#pour.done.promise;
  }

  /** Leaves the socket to listeners of `data`, which get these bytes first. */
  release(bytes: Buffer): void {
    this.onBytes = (more) => this.socket.push(Buffer.from(more));
    this.socket.pause();
    this.socket.unshift(Buffer.from(bytes));
  }

  /** Handles `count` bytes in `#target`, and sets `#target` for the next read. */
  #read(count: number): boolean {
    const pour = this.#pour;
    const target = this.#target;
    if (this.#remaining > 0) this.#remaining -= count;
    this.#target = this.#own;
    try {
      return pour ? this.#readInto(pour, target, count) : this.onBytes(this.#own.subarray(0, count));
    } finally {
      if (this.#target === this.#own) this.#target = this.#ownTarget();
    }
  }

  #readInto({ sink }: Pour, target: Uint8Array, count: number): boolean {
    try {
      const own = target.buffer === this.#own.buffer;
      const wait = own ? copyInto(this.#own.subarray(0, count), sink) : sink.advance(count);
      if (this.#remaining === 0) {
        this.#settle(wait);
      } else if (wait) {
        this.#resumeAfter(wait);
      } else {
        this.#target = sink.target().subarray(0, this.#remaining);
        return true;
      }
    } catch (error) {
      this.#settle(Promise.reject(error));
    }
    return false;
  }

  #resumeAfter(wait: Promise<void>): void {
    this.#sinkIsFull = true;
    wait.then(
      () => {
        this.#sinkIsFull = false;
        if (this.socket.destroyed) {
          this.#disconnect();
          return;
        }
        // The idle time starts now: nothing was read while the sink was full.
        this.socket.setTimeout(this.socket.timeout ?? 0);
        this.resume();
      },
      (error: unknown) => {
        this.#sinkIsFull = false;
        this.#settle(Promise.reject(error));
      },
    );
  }

  #onClose(): void {
    // A pour that waits for the sink still has bytes to write, and rejects afterwards.
    if (!this.#sinkIsFull) this.#disconnect();
  }

  #disconnect(): void {
    if (this.#pour) this.#settle(Promise.reject(new Disconnected('the peer disconnected')));
  }

  #settle(how: Promise<void> | undefined): void {
    const { done } = this.#pour!;
    this.#pour = undefined;
    done.resolve(how);
  }

  /** Ends at the end of the body, so that no read goes beyond it. */
  #ownTarget(): Uint8Array {
    return this.#remaining > 0 ? this.#own.subarray(0, this.#remaining) : this.#own;
  }
}
