import type { FastifyRequest } from 'fastify';
import { ServiceError } from '../errors.ts';

const utf8 = new TextDecoder('utf-8', { fatal: true });

declare module 'fastify' {
  interface FastifyRequest {
    /** The JSON body as it was sent, where a route wants more than what it says. */
    bodyText: string;
  }
  interface FastifyContextConfig {
    /** The route reads a JSON body; others ignore what is sent. */
    hasBody?: boolean;
    /** Its handler logs and counts the request. */
    logsItself?: boolean | undefined;
  }
}

/** JSON whatever the content type says; nothing for an empty body. */
export async function parseJson(request: FastifyRequest, body: Buffer): Promise<unknown> {
  if (body.length === 0 || !request.routeOptions.config.hasBody) return undefined;
  try {
    request.bodyText = utf8.decode(body);
    return JSON.parse(request.bodyText);
  } catch (cause) {
    // The cause would quote what was sent, so the message only has its kind.
    throw new ServiceError(400, `the body is not valid JSON in UTF-8 (${(cause as Error).name})`);
  }
}
