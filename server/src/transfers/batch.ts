/** POST of many small files: a line of JSON, then their volumes, which are stored one after another as they arrive. */
import type { IncomingMessage } from 'node:http';
import { filesHeadShape, limits, RuleError, readFilesHead } from '@szafa/protocol';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../platform/http/api-error.ts';
import type { Bodies } from '../platform/http/bodies.ts';
import { answerFor, logFault } from '../platform/http/errors.ts';
import { countFault } from '../platform/http/request-log.ts';
import { type Body, copyInto, Disconnected } from '../platform/volumes/body.ts';
import type { Services } from '../services.ts';
import { readInit } from './put.ts';
import { UploadSlots } from './upload-slots.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function batchHandler(bodies: Bodies, services: Services) {
  const { singleVolumeFiles, mode, rateLimiter, metrics, config } = services;
  const slots = new UploadSlots(config.workers);
  const countIn = metrics.counter('szafa_volume_bytes_total', { direction: 'in' });
  return async (request: FastifyRequest) => {
    const { raw, caller, log } = request;
    const line = await bodies.readLine(request, limits.batchHeadBytes, filesHeadShape);
    await using parts = new BodyParts(raw);
    const { files } = readFilesHead(decodeLine(line));
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > limits.batchBytes)
      throw new ApiError(413, `the volumes have more than ${limits.batchBytes} bytes together`);
    const expected = line.length + 1 + bytes;
    const length = raw.headers['content-length'];
    if (length !== undefined && Number(length) !== expected)
      throw new ApiError(
        400,
        `Content-Length does not match the first line, which announces ${expected} bytes`,
      );
    const batch = files.map(({ transfer_id: transferId, init, size }, at) => {
      const part = parts.next(size);
      return {
        transferId,
        init: () => readInit(caller, init, `files/${at}/init`),
        length: size,
        body: rateLimiter.limitUpload(part, caller),
        turn: part.turn,
        skip: () => part.skip(),
      };
    });
    const end = async () => {
      await parts.end();
      await mode.requireWritable();
    };
    const receive = () => singleVolumeFiles.receiveAll(batch, caller, end);
    const results = await slots.run(caller.username, undefined, receive);
    return {
      files: results.map((result, at) => {
        if (typeof result === 'string') {
          countIn(files[at]!.size);
          return { status: 200, file_id: result };
        }
        const { status, body } = answerFor(result);
        countFault(metrics, result);
        logFault(log, result, status);
        return { status, error: (body as { error: string }).error };
      }),
    };
  };
}

function decodeLine(line: Buffer): string {
  try {
    return utf8.decode(line);
  } catch (cause) {
    throw new RuleError('the first line of the body is not UTF-8', { cause });
  }
}

const NOTHING = Buffer.alloc(0);

interface BodyPart extends Body {
  /** Resolves when all earlier parts have been read. */
  readonly turn: Promise<void>;
  /** Reads the rest of the part. */
  skip(): Promise<void>;
}

/** Splits a body into consecutive parts of known sizes. */
class BodyParts {
  readonly #request: IncomingMessage;
  readonly #chunks: AsyncIterator<Buffer>;
  /** The unread rest of the last chunk. */
  #rest: Buffer = NOTHING;
  /** Resolves when all parts returned so far have been read. */
  #turn: Promise<void> = Promise.resolve();

  constructor(request: IncomingMessage) {
    this.#request = request;
    this.#chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
  }

  /** Returns the next part. It waits for the parts before it, each of which must be read or skipped. */
  next(size: number): BodyPart {
    let missing = size;
    const before = this.#turn;
    const { promise, resolve: endTurn } = Promise.withResolvers<void>();
    this.#turn = promise;
    const read = async (onBytes: (bytes: Buffer) => Promise<void> | undefined) => {
      await before;
      while (missing > 0) {
        const chunk = await this.#nextChunk();
        if (!chunk) throw new ApiError(400, 'the body ends too early');
        const bytes = chunk.subarray(0, missing);
        this.#rest = chunk.subarray(bytes.length);
        missing -= bytes.length;
        const wait = onBytes(bytes);
        if (wait) await wait;
      }
      endTurn();
    };
    return {
      turn: before,
      pour: (sink) => read((bytes) => copyInto(bytes, sink)),
      skip: () => read(() => undefined).finally(endTurn),
    };
  }

  /** Requires that nothing follows the parts. */
  async end(): Promise<void> {
    await this.#turn;
    if (await this.#nextChunk()) throw new ApiError(400, 'the body is longer than its first line says');
  }

  /** Releases the stream: while it is iterated here, nobody else can read the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.return?.();
  }

  /** Returns a chunk that is not empty, or undefined at the end of the body. */
  async #nextChunk(): Promise<Buffer | undefined> {
    if (this.#rest.length > 0) {
      const rest = this.#rest;
      this.#rest = NOTHING;
      return rest;
    }
    try {
      const { done, value } = await this.#chunks.next();
      return done ? undefined : value;
    } catch (cause) {
      throw this.#request.readableAborted ? new Disconnected('the client disconnected', { cause }) : cause;
    }
  }
}
