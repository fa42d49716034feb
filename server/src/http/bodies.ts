import { RuleError, type Sent } from '@szafa/protocol';
import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';
import { validatorOf } from './compilers.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent, where a route wants more than what it says. */
    bodyText: string;
  }
  interface FastifyContextConfig {
    /** The route reads a JSON body; others ignore what is sent. */
    hasBody?: boolean;
    /** Its handler looks at the body, by `readLater`, if it turns out to matter. */
    checkedLater?: boolean | undefined;
    /** The body is a few bytes of any kind. */
    hasBytes?: boolean | undefined;
    /** Its handler logs and counts the request. */
    logsItself?: boolean | undefined;
  }
}

/** JSON whatever the content type says; nothing for an empty body. Bytes where the route wants some. */
export async function parseBody(request: FastifyRequest, body: Buffer): Promise<unknown> {
  const { hasBody, hasBytes, checkedLater } = request.routeOptions.config;
  if (hasBytes) return body;
  if (body.length === 0 || !hasBody) return undefined;
  return checkedLater ? body : jsonOf(request, body);
}

function jsonOf(request: FastifyRequest, body: Buffer): unknown {
  try {
    request.bodyText = utf8.decode(body);
    return JSON.parse(request.bodyText);
  } catch (cause) {
    // The cause would quote what was sent, so the message only has its kind.
    throw new ServiceError(400, `the body is not valid JSON in UTF-8 (${(cause as Error).name})`);
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
