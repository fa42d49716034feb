/** POST of many small files: their volumes go to the store as they come, one after the other. */
import { filesHeadShape, limits, RuleError, readFilesHead } from '@szafa/protocol';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../platform/http/api-error.ts';
import type { Bodies } from '../platform/http/bodies.ts';
import { answerFor, logFault } from '../platform/http/errors.ts';
import { countFault } from '../platform/http/request-log.ts';
import type { Services } from '../services.ts';
import { initFor } from './init-header.ts';
import { Parts } from './parts.ts';
import { BodiesAtOnce } from './upload-slots.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function batchHandler(bodies: Bodies, { transfers, mode, rateLimiter, metrics, config }: Services) {
  const atOnce = new BodiesAtOnce(config.workers);
  const countIn = metrics.counter('szafa_volume_bytes_total', { direction: 'in' });
  return async (request: FastifyRequest) => {
    const { raw, caller, log } = request;
    const line = await bodies.readLine(request, limits.batchHeadBytes, filesHeadShape);
    await using parts = new Parts(raw);
    const { files } = readFilesHead(textOf(line));
    const bytes = files.reduce((sum, { size }) => sum + size, 0);
    if (bytes > limits.batchBytes) {
      throw new ApiError(413, `the volumes have more than ${limits.batchBytes} bytes together`);
    }
    const announced = raw.headers['content-length'];
    if (announced !== undefined && Number(announced) !== line.length + 1 + bytes) {
      throw new ApiError(400, `the first line says that the body has ${line.length + 1 + bytes} bytes`);
    }
    const sent = files.map(({ transfer_id: transferId, init, size }, at) => {
      const part = parts.part(size);
      return {
        transferId,
        init: () => initFor(caller, init, `files/${at}/init`),
        announced: size,
        body: rateLimiter.limitUpload(part, caller),
        turn: part.turn,
        skip: () => part.skip(),
      };
    });
    const end = async () => {
      await parts.end();
      await mode.requireWritable();
    };
    const receive = () => transfers.whole.receiveAll(sent, caller, end);
    const answers = await atOnce.run(caller.username, undefined, receive);
    return {
      files: answers.map((answer, at) => {
        if (typeof answer === 'string') {
          countIn(files[at]!.size);
          return { status: 200, file_id: answer };
        }
        const { status, body } = answerFor(answer);
        countFault(metrics, answer);
        logFault(log, answer, status);
        return { status, error: (body as { error: string }).error };
      }),
    };
  };
}

function textOf(line: Buffer): string {
  try {
    return utf8.decode(line);
  } catch (cause) {
    throw new RuleError('the first line of the body is not UTF-8', { cause });
  }
}
