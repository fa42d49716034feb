import { headers } from '@szafa/protocol';
import { ApiError, SzafaError, UnexpectedAnswerError } from '../errors.ts';
import type { TransportResponse } from './transport.ts';

/** Stands for a lost answer if the next attempt finds that the item is already removed. */
export const GONE: TransportResponse = {
  status: 200,
  header: () => undefined,
  body: new TextEncoder().encode('{"ok":true}'),
};

/** Validates a server address. Returns it without a trailing slash. */
export function checkServer(server: string): string {
  let url: URL;
  try {
    url = new URL(server);
  } catch (cause) {
    throw new SzafaError('address', `${JSON.stringify(server)} is not an address`, { cause });
  }
  if (url.protocol !== 'http:' && url.protocol !== 'https:') {
    throw new SzafaError('address', `the address must begin with http:// or https://, not ${url.protocol}`);
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

export function parseJson(response: TransportResponse, server: string): Record<string, unknown> {
  const type = response.header('content-type') ?? '';
  try {
    const value: unknown = JSON.parse(new TextDecoder().decode(response.body));
    if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  } catch (cause) {
    const what = /html/i.test(type)
      ? 'a web page'
      : `something that is not JSON (${type || 'no content type'})`;
    throw new UnexpectedAnswerError(server, response.status, what, { cause });
  }
  throw new UnexpectedAnswerError(server, response.status, 'unexpected JSON');
}

/** Converts an answer other than 2xx to an error. */
export function errorOf(response: TransportResponse, server: string): Error {
  const after = Number(response.header('retry-after') ?? Number.NaN);
  const retryAfter = Number.isFinite(after) ? Math.min(Math.max(after, 0), 300) : undefined;
  let body: Record<string, unknown> = {};
  try {
    if (response.body.length > 0) body = parseJson(response, server);
  } catch (error) {
    // A busy gateway in front of the server answers with its own page.
    if (response.status < 500 && response.status !== 429) return error as Error;
  }
  const outOfScope = /\binsufficient_scope\b/.test(response.header('www-authenticate') ?? '');
  const exists = response.header(headers.conflict) === 'exists';
  return new ApiError(response.status, body, { retryAfter, outOfScope, exists });
}
