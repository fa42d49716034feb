import { connect, type Socket } from 'node:net';
import { readHead } from '@szafa/protocol';
import { type Body, deposit, type Sink } from '../volumes/body.ts';

/** The first bytes of an answer, and those after a pause, come in here. */
const SCRATCH_BYTES = 64 * 1024;
const HEAD_BYTES = 16 * 1024;

/** An answer that is better read by a whole HTTP client: a refusal, a body of unknown length. */
export class OtherAnswer extends Error {
  override name = 'OtherAnswer';
}

function broken(message: string, code = 'ECONNRESET'): Error {
  return Object.assign(new Error(message), { code });
}

/** The body of an answer, its bytes not yet read. `close` it whatever happens. */
export interface OpenBody extends Body {
  readonly length: number;
  close(): void;
}

/**
 * Connections on which objects are fetched with a fraction of the work that node:http needs: the bytes go from the
 * socket straight to where they are sent from. They understand one kind of answer, the expected status with a
 * Content-Length, and leave every other to node:http by an OtherAnswer.
 */
export class Lines {
  readonly #endpoint: URL;
  readonly #idleMs: number;
  readonly #idle: Line[] = [];

  constructor(endpoint: URL, idleMs: number) {
    this.#endpoint = endpoint;
    this.#idleMs = idleMs;
  }

  /** Sends a request without a body and resolves when its answer begins. */
  async fetch(head: string, status: number, silenceMs: number): Promise<OpenBody> {
    let line = this.#idle.pop();
    while (line?.ended) line = this.#idle.pop();
    line ??= new Line(this.#endpoint, (free) => this.#keep(free));
    try {
      await line.ask(head, status, silenceMs);
      return line;
    } catch (error) {
      line.end();
      throw error;
    }
  }

  close(): void {
    for (const line of this.#idle.splice(0)) line.end();
  }

  #keep(line: Line): void {
    line.rest(this.#idleMs);
    this.#idle.push(line);
  }
}

class Line implements OpenBody {
  length = 0;
  readonly #socket: Socket;
  readonly #scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES);
  readonly #onFree: (line: Line) => void;
  #mode: 'idle' | 'head' | 'held' | 'body' = 'idle';
  #status = 0;
  #head = '';
  #keepAlive = false;
  /** Bytes of the body that came along with its head. */
  #early = this.#scratch.subarray(0, 0);
  /** Bytes of the body that have not been read. */
  #remaining = 0;
  /** Where the next read goes. The system knows it already: only the read before may change it. */
  #next: Uint8Array = this.#scratch;
  #sink: Sink | undefined;
  /** It is the sink that keeps the store waiting. */
  #sinkIsFull = false;
  #step: PromiseWithResolvers<void> | undefined;

  constructor(endpoint: URL, onFree: (line: Line) => void) {
    this.#onFree = onFree;
    this.#socket = connect({
      host: endpoint.hostname.replace(/^\[|\]$/g, ''),
      port: Number(endpoint.port) || 80,
      noDelay: true,
      onread: { buffer: () => this.#next, callback: (count: number) => this.#read(count) },
    });
    this.#socket.on('timeout', () => {
      if (!this.#sinkIsFull) this.#socket.destroy(broken('the store is silent', 'ETIMEDOUT'));
    });
    this.#socket.on('error', (error) => this.#step?.reject(error));
    this.#socket.on('close', () => this.#step?.reject(broken('the store broke off')));
  }

  get ended(): boolean {
    return this.#socket.destroyed;
  }

  end(): void {
    this.#socket.destroy();
  }

  /** Nothing is under way; an answer that nobody asked for ends it, and so does time. */
  rest(idleMs: number): void {
    this.#mode = 'idle';
    this.#socket.setTimeout(idleMs).unref();
    this.#socket.resume();
  }

  async ask(head: string, status: number, silenceMs: number): Promise<void> {
    this.#mode = 'head';
    this.#status = status;
    this.#head = '';
    this.#socket.setTimeout(silenceMs).ref();
    this.#socket.write(head);
    await this.#stepped();
  }

  async pour(sink: Sink): Promise<void> {
    const room = deposit(this.#early, sink);
    if (room) await room;
    if (this.#remaining > 0) {
      if (this.ended) throw broken('the store broke off');
      this.#sink = sink;
      this.#mode = 'body';
      await this.#stepped();
    }
    if (this.#keepAlive && !this.ended) this.#onFree(this);
    else this.end();
  }

  /** What was not read to its end cannot be used again. */
  close(): void {
    if (this.#mode !== 'idle') this.end();
  }

  /** Reads until what is read for is whole. */
  async #stepped(): Promise<void> {
    this.#step = Promise.withResolvers();
    this.#socket.resume();
    try {
      await this.#step.promise;
    } finally {
      this.#step = undefined;
    }
  }

  /** So many bytes stand where `#next` pointed; it points to the place for those after them when this returns. */
  #read(count: number): boolean {
    try {
      if (this.#mode === 'head') return this.#readHead(count);
      if (this.#mode === 'body') return this.#readBody(count);
      this.end();
    } catch (error) {
      this.#step?.reject(error);
      this.end();
    }
    return false;
  }

  #readHead(count: number): boolean {
    const before = this.#head.length;
    this.#head += this.#scratch.toString('latin1', 0, Math.min(count, HEAD_BYTES));
    const stop = this.#head.indexOf('\r\n\r\n');
    if (stop < 0) {
      if (this.#head.length >= HEAD_BYTES) throw new OtherAnswer('a head without an end');
      return true;
    }
    const { length, keepAlive } = parseHead(this.#head.slice(0, stop), this.#status);
    this.#early = this.#scratch.subarray(stop + 4 - before, count);
    if (this.#early.length > length) throw new OtherAnswer('more bytes than Content-Length says');
    this.length = length;
    this.#keepAlive = keepAlive;
    this.#remaining = length - this.#early.length;
    this.#mode = 'held';
    this.#next = this.#ownTarget();
    this.#step!.resolve();
    return false;
  }

  #readBody(count: number): boolean {
    const sink = this.#sink!;
    const own = this.#next.buffer === this.#scratch.buffer;
    this.#remaining -= count;
    const wait = own ? deposit(this.#scratch.subarray(0, count), sink) : sink.advance(count);
    const ended = this.#remaining === 0;
    this.#next = ended || (own && wait) ? this.#ownTarget() : sink.target().subarray(0, this.#remaining);
    if (ended) this.#step!.resolve(wait);
    else if (wait) this.#resumeAfter(wait);
    return !ended && !wait;
  }

  #resumeAfter(room: Promise<void>): void {
    this.#sinkIsFull = true;
    room.then(
      () => {
        this.#sinkIsFull = false;
        // Time counts from here: until now nobody listened.
        this.#socket.setTimeout(this.#socket.timeout ?? 0);
        this.#socket.resume();
      },
      (error: unknown) => {
        this.#sinkIsFull = false;
        this.#step?.reject(error);
      },
    );
  }

  #ownTarget(): Uint8Array {
    return this.#remaining > 0 ? this.#scratch.subarray(0, this.#remaining) : this.#scratch;
  }
}

function parseHead(text: string, expected: number): { length: number; keepAlive: boolean } {
  const { first = '', headers, length } = readHead(text) ?? {};
  const status = Number(/^HTTP\/1\.1 (\d{3})(?: |$)/.exec(first)?.[1]);
  const plain = headers !== undefined && !headers.has('content-encoding');
  if (status !== expected || !plain || length === undefined) throw new OtherAnswer(`answer ${status}`);
  return { length, keepAlive: !/\bclose\b/i.test(headers.get('connection') ?? '') };
}
