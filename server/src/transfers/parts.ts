import type { IncomingMessage } from 'node:http';
import { ApiError } from '../platform/http/api-error.ts';
import { type Body, copyInto, Disconnected } from '../platform/volumes/body.ts';

const NOTHING = Buffer.alloc(0);

/** A part of a body, which others come after. */
export interface Part extends Body {
  /** When those before it have been read. */
  readonly turn: Promise<void>;
  /** Reads what is left of it. */
  skip(): Promise<void>;
}

/** A body in which parts of known sizes come one after the other. */
export class Parts {
  readonly #request: IncomingMessage;
  readonly #chunks: AsyncIterator<Buffer>;
  /** Of what was read last. */
  #left: Buffer = NOTHING;
  /** When all parts so far have been read. */
  #turn: Promise<void> = Promise.resolve();

  constructor(request: IncomingMessage) {
    this.#request = request;
    this.#chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  }

  /** The next one. It waits for those before it, each of which has to be read, or skipped. */
  part(size: number): Part {
    let missing = size;
    const before = this.#turn;
    const { promise, resolve: pass } = Promise.withResolvers<void>();
    this.#turn = promise;
    const take = async (each: (bytes: Buffer) => Promise<void> | undefined) => {
      await before;
      while (missing > 0) {
        const chunk = await this.#next();
        const bytes = chunk.subarray(0, missing);
        this.#left = chunk.subarray(bytes.length);
        missing -= bytes.length;
        const wait = each(bytes);
        if (wait) await wait;
      }
      pass();
    };
    return {
      turn: before,
      pour: (sink) => take((bytes) => copyInto(bytes, sink)),
      skip: () => take(() => undefined).finally(pass),
    };
  }

  /** Whatever is still to come is left to others: as long as the stream is read here it flows to nobody else. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Nothing comes after the parts. */
  async end(): Promise<void> {
    await this.#turn;
    if (await this.#more()) throw new ApiError(400, 'the body is longer than its first line says');
  }

  async #next(): Promise<Buffer> {
    const chunk = await this.#more();
    if (!chunk) throw new ApiError(400, 'the body ends too early');
    return chunk;
  }

  /** What was left, or what comes; undefined at the end. Never empty. */
  async #more(): Promise<Buffer | undefined> {
    if (this.#left.length > 0) {
      const left = this.#left;
      this.#left = NOTHING;
      return left;
    }
    try {
      const { done, value } = await this.#chunks.next();
      return done ? undefined : value;
    } catch (cause) {
      throw this.#request.readableAborted ? new Disconnected('the client disconnected', { cause }) : cause;
    }
  }
}
