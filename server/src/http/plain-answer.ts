import { writeHead } from '@szafa/protocol';
import { http } from '../node-http.ts';

export interface Answer {
  status: number;
  body: object;
  /** Seconds, of what is refused only for now. */
  retryAfter?: number | undefined;
}

/** An answer as text, for a socket that Node's server does not write to. */
export function plainAnswer({ status, body, retryAfter }: Answer, id: string, last: boolean): string {
  const json = JSON.stringify(body);
  const head = writeHead(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`, {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': id,
    ...(retryAfter === undefined ? {} : { 'Retry-After': String(retryAfter) }),
    'Content-Length': String(Buffer.byteLength(json)),
    Connection: last ? 'close' : 'keep-alive',
  });
  return head + json;
}
