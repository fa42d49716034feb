import type { IncomingMessage } from 'node:http';
import { JsonScan, type JsonShape, limits, RuleError, type Sent } from '@szafa/protocol';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Disconnected } from '../volumes/body.ts';
import { networkOf } from './addresses.ts';
import { ApiError, TryLater } from './api-error.ts';
import { validatorOf } from './compilers.ts';

const MEMORY_RETRY_SECONDS = 2;
const utf8 = new TextDecoder('utf-8', { fatal: true });

const LINE_FEED = 10;
const MIB = 1024 * 1024;
/** The first bytes of a body are not counted, so that a login never waits for large bodies. The connection limit bounds them. */
const FREE_BYTES = 4096;
/** Minimum rate of a body once the idle time has passed. */
const LEAST_BYTES_PER_MS = 16;
/** A body may arrive in this many pieces, plus one for every PIECE_BYTES: each piece costs as much CPU as a thousand bytes. */
const MOST_PIECES = 1000;
const PIECE_BYTES = 64;

declare module 'fastify' {
  interface FastifyRequest {
    /** The text of the JSON body. */
    bodyText: string;
    /** Stops counting the body's memory. */
    releaseBody: (() => void) | undefined;
  }
  interface FastifyContextConfig {
    /** The shape of the JSON body; a route without one ignores the body. */
    bodyShape?: JsonShape | undefined;
    /** The route needs no token. */
    isOpen?: boolean;
    /** The route answers 401 to unknown credentials. */
    refusesUnknown?: boolean;
    /** The handler itself validates the body with `readLater` if it needs it. */
    checkedLater?: boolean | undefined;
    /** The body is a few raw bytes. */
    hasBytes?: boolean | undefined;
    /** The handler logs and counts the request. */
    logsItself?: boolean | undefined;
  }
}

/** Limits the bytes of bodies in memory. One address gets at most half, so that a single client cannot block all others. */
class BodyMemory {
  readonly #mostBytes: number;
  #bytes = 0;
  readonly #byAddress = new Map<string, number>();

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  /** Counts bytes that have arrived; throws 503 if there are too many. */
  add(address: string, bytes: number): void {
    const ofAddress = (this.#byAddress.get(address) ?? 0) + bytes;
    if (this.#bytes + bytes > this.#mostBytes || ofAddress > this.#mostBytes / 2)
      throw new TryLater(503, 'too many request bodies at once; try again in a moment', MEMORY_RETRY_SECONDS);
    this.#bytes += bytes;
    this.#byAddress.set(address, ofAddress);
  }

  remove(address: string, bytes: number): void {
    const left = (this.#byAddress.get(address) ?? 0) - bytes;
    this.#bytes -= bytes;
    if (left > 0) this.#byAddress.set(address, left);
    else this.#byAddress.delete(address);
  }
}

/** Reads bodies that are held in memory as a whole: JSON, and short raw bodies. */
export class Bodies {
  readonly #idleMs: number;
  /** Limits for all bodies in a process: one for callers with a token, one for routes open to everyone. */
  readonly #memory = { known: new BodyMemory(64 * MIB), open: new BodyMemory(16 * MIB) };

  /** `idleMs` is the time any body may take, however slow. */
  constructor(idleMs: number) {
    this.#idleMs = idleMs;
  }

  /** Call this when a request begins: its body is counted until the request has been answered. */
  releaseAfter(request: FastifyRequest, reply: FastifyReply): void {
    reply.raw.once('close', () => request.releaseBody?.());
  }

  /**
   * Parses JSON whatever the content type says, or returns raw bytes, depending on the route. Returns undefined for an empty
   * body.
   */
  async parse(request: FastifyRequest): Promise<unknown> {
    const { hasBytes, checkedLater, bodyShape } = request.routeOptions.config;
    if (!hasBytes && !bodyShape) return undefined;
    const bodyLimit = request.routeOptions.bodyLimit!;
    // A JSON body up to this size with a value that is too long must give 400: it is read to its end and not kept.
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

  /** Reads the first line of a body, without its line feed; the rest stays in the stream. */
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
   * Reads a body until it ends or `take` returns false. A client that is too slow gets 408, and 503 if bodies use too much
   * memory.
   */
  #read(request: FastifyRequest, take: (piece: Buffer) => boolean): Promise<void> {
    const { raw } = request;
    const memory = this.#memory[request.routeOptions.config.isOpen ? 'open' : 'known'];
    // `ip` is undefined after the client has disconnected.
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

/** Copies pieces together as they arrive: kept separately, pieces of one byte would take a hundred times their size. */
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

/** No valid body without a token is this long. On a login route this counts as wrong credentials. */
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
      raw.off('data', onPiece).off('end', settle).off('close', disconnect).off('error', disconnect);
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
    const disconnect = (cause?: unknown) => settle(new Disconnected('the client disconnected', { cause }));
    const check = () => {
      const left = idleMs + bytes / LEAST_BYTES_PER_MS - (performance.now() - since);
      if (left > 0) late = setTimeout(check, left);
      else settle(new UnfinishedBody(408, 'the body took too long'));
    };
    let late = setTimeout(check, idleMs);
    raw.on('data', onPiece).on('end', settle).on('close', disconnect).on('error', disconnect);
    if (raw.destroyed) disconnect();
  });
}

/** An error that closes the connection after the answer, without reading the rest of the body. */
class UnfinishedBody extends ApiError {
  override name = 'UnfinishedBody';
  override readonly headers = { connection: 'close' };
}

function jsonOf(request: FastifyRequest, body: Buffer): unknown {
  try {
    request.bodyText = utf8.decode(body);
    return JSON.parse(request.bodyText);
  } catch (cause) {
    // The message of the cause is left out because it would quote the body.
    throw new ApiError(400, `the body is not valid JSON in UTF-8 (${(cause as Error).name})`);
  }
}

/** Validates a body that was left to the handler, by the named schema. */
export function readLater<T>(request: FastifyRequest, name: string): Sent<T> {
  const body = Buffer.isBuffer(request.body) ? jsonOf(request, request.body) : undefined;
  return { body: checked<T>(body, name, 'body'), text: request.bodyText };
}

/** Validates a value by the named schema; throws the message that Fastify would give. */
export function checked<T>(value: unknown, name: string, what: string): T {
  const fits = validatorOf<T>(name);
  if (fits(value)) return value;
  const [first] = fits.errors!;
  throw new RuleError(`${what}${first!.instancePath} ${first!.message}`);
}
