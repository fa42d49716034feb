/**
 * Memory belongs to one owner. The system reads a connection into memory whose address it keeps, whatever becomes of that
 * memory: bytes of one client in the upload of another, or in freed memory, are what a mistake costs. So this is the only file that touches
 * a handle or reads by `onread`, and it keeps one rule:
 *
 * - The own memory of an intake is what the system knows, from the first read until the handle is closed. The intake
 *   keeps it, the socket keeps the intake, and the open handle keeps the socket.
 * - A sink lends its memory from one read of a pour to the next, no longer. A read that has to wait, ends the body or fails gives the system
 *   the own memory back as it returns. So whatever happens outside of a read finds the own memory there, or a closed handle.
 * - `pour` settles only then, and once nothing writes into the sink any more. A pool may lend the memory to others from that moment on.
 *
 * Reading into the own memory always, and copying, would need no rule, but 8 to 14 % more CPU for a PUT of 8 MiB; what is
 * copied now is the first read after each pause.
 */
import type { Server } from 'node:http';
import { type OnReadOpts, Socket } from 'node:net';
import { copyInto, Disconnected, type Sink } from '../platform/volumes/body.ts';

/** What Node does not document of a socket; `probeIntake` tries at the start whether it still works that way. */
interface OpenSocket extends Socket {
  _handle: { readStop(): void } | null;
  _server: Server | null;
  server: Server | null;
}

/** Takes bytes that are valid until it returns, or, if that is false, until it asks for more. */
export type OnBytes = (bytes: Buffer) => boolean;

interface Pour {
  sink: Sink;
  done: PromiseWithResolvers<void>;
}

const NOTHING = Buffer.alloc(0);
const intakes = new WeakMap<Socket, Intake>();

export class Intake {
  readonly socket: Socket;
  /** Gets what belongs to no pour. */
  onBytes: OnBytes;
  #remaining: number;
  /** Bytes of the body that came along with its head. */
  #early: Buffer;
  readonly #own: Buffer;
  /** Where the next read goes. The system knows it already: only a read changes it, for the one after it. */
  #target: Uint8Array;
  #pour: Pour | undefined;
  #sinkIsFull = false;

  /** `open` makes the socket, paused or not connected yet, with these options; for the others see `begin`. */
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

  /** The intake that reads this socket already. */
  static of(socket: Socket): Intake | undefined {
    return intakes.get(socket);
  }

  /**
   * Takes an accepted connection out of Node's socket object into one that reads here, for good: a handle that has once been read
   * into memory of ours is never read by anything else, and its socket is never replaced.
   */
  static takeOver(from: Socket, onBytes: OnBytes, size: number, length?: number, early?: Buffer): Intake {
    const { _handle: handle, _server: server } = from as OpenSocket;
    if (!handle || intakes.has(from)) throw new Error('the socket cannot be taken over');
    // Nobody would be left to write it, nor to hear that it failed.
    if (from.writableLength > 0) throw new Error('a socket with unsent bytes cannot be taken over');
    handle.readStop();
    (from as OpenSocket)._handle = null;
    // The server counts its connections by this; the new object is the one that counts.
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

  /** Bytes of the body that have not been read: no read goes beyond them. */
  get remaining(): number {
    return this.#remaining;
  }

  /** A body of `length` bytes begins, the first of which came along with its head. Called by whoever reads the head, before it returns. */
  begin(length: number, early: Buffer): void {
    this.#remaining = length - early.length;
    this.#early = early;
  }

  /** The sink keeps the peer waiting. */
  get waits(): boolean {
    return this.#sinkIsFull;
  }

  get pours(): boolean {
    return this.#pour !== undefined;
  }

  resume(): void {
    this.socket.resume();
  }

  /** Puts the body into the sink; settles when the sink's memory is the sink's alone again. */
  async pour(sink: Sink): Promise<void> {
    await copyInto(this.#early, sink);
    this.#early = NOTHING;
    if (this.#remaining === 0) return;
    if (this.socket.destroyed) throw new Disconnected('the peer disconnected');
    this.#pour = { sink, done: Promise.withResolvers() };
    this.resume();
    await this.#pour.done.promise;
  }

  /** Leaves the socket to readers of its `data`, who find these bytes first. */
  release(bytes: Buffer): void {
    this.onBytes = (more) => this.socket.push(Buffer.from(more));
    this.socket.pause();
    this.socket.unshift(Buffer.from(bytes));
  }

  /** `count` bytes were read into `#target`, which is the place for those after them when this returns. */
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
          this.#breakOff();
          return;
        }
        // Silence counts from here: until now nobody listened.
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
    // What waits for the sink still has bytes to put into it.
    if (!this.#sinkIsFull) this.#breakOff();
  }

  #breakOff(): void {
    if (this.#pour) this.#settle(Promise.reject(new Disconnected('the peer disconnected')));
  }

  #settle(how: Promise<void> | undefined): void {
    const { done } = this.#pour!;
    this.#pour = undefined;
    done.resolve(how);
  }

  /** No more of it than belongs to the body. */
  #ownTarget(): Uint8Array {
    return this.#remaining > 0 ? this.#own.subarray(0, this.#remaining) : this.#own;
  }
}
