import type { IncomingMessage } from 'node:http';
import { JsonScan, type JsonShape, limits, RuleError, type Sent } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { BrokenOff } from '../volumes/body.ts';
import { networkOf } from './addresses.ts';
import { ApiError } from './api-error.ts';
import { BodyMemory } from './body-memory.ts';
import { validatorOf } from './compilers.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

const LINE_FEED = 10;
const MIB = 1024 * 1024;
/** Of the bodies that a process holds at once: those of callers with a token, and those of anybody. */
const MEMORY_BYTES = { known: 64 * MIB, open: 16 * MIB };
/** The first bytes of a body count nowhere: large bodies of others do not keep a login waiting. The limit of connections bounds them. */
const FREE_BYTES = 4096;
/** Slower than this, beyond the time that every body has, is too slow. */
const LEAST_BYTES_PER_MS = 16;
/** A body may come in this many pieces, and one more for every PIECE_BYTES: each costs about as much as a thousand bytes. */
const MOST_PIECES = 1000;
const PIECE_BYTES = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent, where a route wants more than what it says. */
    bodyText: string;
    /** Gives back the memory that the body is counted with. */
    releaseBody: (() => void) | undefined;
  }
  interface FastifyContextConfig {
    /** What the JSON body of the route may have; a route without one ignores what is sent. */
    bodyShape?: JsonShape | undefined;
    /** Anybody may call it. */
    isOpen?: boolean;
    /** It has an answer for somebody whom nobody knows. */
    refusesUnknown?: boolean;
    /** Its handler looks at the body, by `readLater`, if it turns out to matter. */
    checkedLater?: boolean | undefined;
    /** The body is a few bytes of any kind. */
    hasBytes?: boolean | undefined;
    /** Its handler logs and counts the request. */
    logsItself?: boolean | undefined;
  }
}

/** Reads bodies that are wanted as a whole: JSON, and a few bytes. */
export class Bodies {
  readonly #idleMs: number;
  readonly #memory = {
    known: new BodyMemory(MEMORY_BYTES.known),
    open: new BodyMemory(MEMORY_BYTES.open),
  };

  /** `idleMs`: how long a body may take in any case. */
  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** To be called when the request begins: its body counts until it has been answered. */
  releaseAfter(request: FastifyRequest, reply: FastifyReply): void {
    reply.raw.once('close', () => request.releaseBody?.());
  }

  /** JSON whatever the content type says; nothing for an empty body. Bytes where the route wants some. */
  async parse(request: FastifyRequest): Promise<unknown> {
    const { hasBytes, checkedLater, bodyShape } = request.routeOptions.config;
    if (!hasBytes && !bodyShape) return undefined;
    const bodyLimit = request.routeOptions.bodyLimit!;
    // A value that is too long is 400 in any body of this size, so it is read to its end, and not kept.
    const most = bodyShape ? Math.max(bodyLimit, limits.jsonBodyBytes) : bodyLimit;
    if (Number(request.headers['content-length'] ?? 0) > most) throw tooLarge();
    const whole = new GrowingBuffer();
    const scan = bodyShape && new JsonScan(bodyShape);
    let length = 0;
    await this.#read(request, (piece) => {
      length += piece.length;
      if (length > most) throw tooLarge();
      scan?.read(piece);
      if (length <= bodyLimit) whole.append(piece);
      return true;
    });
    if (length > bodyLimit) throw tooLong(request);
    const body = whole.bytes;
    if (hasBytes || (checkedLater && body.length > 0)) return body;
    return body.length === 0 ? undefined : jsonOf(request, body);
  }

  /** The first line of a body as JSON text, without its line feed; the rest is left to others. */
  async readLine(request: FastifyRequest, mostBytes: number, shape: JsonShape): Promise<Buffer> {
    const line = new GrowingBuffer();
    const scan = new JsonScan(shape);
    let ended = false;
    await this.#read(request, (piece) => {
      const end = piece.indexOf(LINE_FEED);
      ended = end >= 0;
      const part = ended ? piece.subarray(0, end) : piece;
      if (line.length + part.length > mostBytes) {
        throw new ApiError(413, `the first line has more than ${mostBytes} bytes`);
      }
      scan.read(part);
      line.append(part);
      if (!ended) return true;
      request.raw.pause();
      request.raw.unshift(piece.subarray(end + 1));
      return false;
    });
    if (!ended) throw new ApiError(400, 'the body ends too early');
    return line.bytes;
  }

  /**
   * Reads pieces of a body until it ends or `take` wants no more of it. They count as memory until the request has been answered. A client that is
   * too slow gets 408, and one that holds too much memory 503.
   */
  #read(request: FastifyRequest, take: (piece: Buffer) => boolean): Promise<void> {
    const { raw } = request;
    const memory = this.#memory[request.routeOptions.config.isOpen ? 'open' : 'known'];
    // None where the client has gone already.
    const address = networkOf((request.ip as string | undefined) ?? '');
    let arrived = 0;
    let held = 0;
    request.releaseBody = () => {
      memory.remove(address, held);
      held = 0;
    };
    return readPieces(raw, this.#idleMs, (piece) => {
      arrived += piece.length;
      const more = Math.max(0, arrived - FREE_BYTES) - held;
      memory.add(address, more);
      held += more;
      return take(piece);
    });
  }
}

/** Copies pieces together as they come: kept by themselves, those of a byte each would take a hundred times their memory. */
export class GrowingBuffer {
  length = 0;
  #memory: Buffer = Buffer.alloc(0);

  get bytes(): Buffer {
    return this.#memory.subarray(0, this.length);
  }

  append(piece: Buffer): void {
    const length = this.length + piece.length;
    if (this.length === 0) this.#memory = piece;
    else {
      if (length > this.#memory.length) {
        const larger = Buffer.allocUnsafeSlow(Math.max(2 * this.#memory.length, length));
        larger.set(this.bytes);
        this.#memory = larger;
      }
      this.#memory.set(piece, this.length);
    }
    this.length = length;
  }
}

const tooLarge = () => new ApiError(413, 'the body is too large');

/** Without a token nothing that fits a route's rules is as long as this: a login with it is one that nobody has. */
const tooLong = ({ routeOptions: { config } }: FastifyRequest) =>
  config.refusesUnknown
    ? new ApiError(401, 'wrong username, password or key')
    : new ApiError(
        400,
        `a value is too long: without a token a body has at most ${limits.openBodyBytes} bytes`,
      );

function readPieces(raw: IncomingMessage, idleMs: number, take: (piece: Buffer) => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const since = performance.now();
    let bytes = 0;
    let pieces = 0;
    const settle = (error?: unknown) => {
      clearTimeout(late);
      raw.off('data', onPiece).off('end', settle).off('close', breakOff).off('error', breakOff);
      if (error === undefined) resolve();
      else reject(error);
    };
    const onPiece = (piece: Buffer) => {
      bytes += piece.length;
      try {
        if (++pieces > MOST_PIECES + bytes / PIECE_BYTES)
          throw new UnfinishedBody(400, 'the chunks of the body are too small');
        if (!take(piece)) settle();
      } catch (error) {
        settle(error);
      }
    };
    const breakOff = (cause?: unknown) => settle(new BrokenOff('the client broke off', { cause }));
    const check = () => {
      const left = idleMs + bytes / LEAST_BYTES_PER_MS - (performance.now() - since);
      if (left > 0) late = setTimeout(check, left);
      else settle(new UnfinishedBody(408, 'the body took too long'));
    };
    let late = setTimeout(check, idleMs);
    raw.on('data', onPiece).on('end', settle).on('close', breakOff).on('error', breakOff);
    if (raw.destroyed) breakOff();
  });
}

/** The rest of the body is not waited for: the connection is closed after the answer. */
class UnfinishedBody extends ApiError {
  override name = 'UnfinishedBody';
  override readonly headers = { connection: 'close' };
}

function jsonOf(request: FastifyRequest, body: Buffer): unknown {
  try {
    request.bodyText = utf8.decode(body);
    return JSON.parse(request.bodyText);
  } catch (cause) {
    // The cause would quote what was sent, so the message only has its kind.
    throw new ApiError(400, `the body is not valid JSON in UTF-8 (${(cause as Error).name})`);
  }
}

/** A body that was not looked at before, by the schema of that name. */
export function readLater<T>(request: FastifyRequest, name: string): Sent<T> {
  const body = Buffer.isBuffer(request.body) ? jsonOf(request, request.body) : undefined;
  return { body: checked<T>(body, name, 'body'), text: request.bodyText };
}

/** What breaks a schema is told as Fastify would. */
export function checked<T>(value: unknown, name: string, what: string): T {
  const fits = validatorOf<T>(name);
  if (fits(value)) return value;
  const [first] = fits.errors!;
  throw new RuleError(`${what}${first!.instancePath} ${first!.message}`);
}
