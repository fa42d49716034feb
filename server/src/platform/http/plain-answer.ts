import { writeHead } from '@szafa/protocol';
import { http } from './node-http.ts';

export interface Answer {
  status: number;
  body: object;
  headers?: Readonly<Record<string, string>>;
}

/** An answer as text, for a socket that Node's server does not write to. */
export function plainAnswer({ status, body, headers }: Answer, id: string, last: boolean): string {
  const json = JSON.stringify(body);
  const head = writeHead(`HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? ''}`, {
    'Content-Type': 'application/json; charset=utf-8',
    'X-Request-Id': id,
    'Content-Length': String(Buffer.byteLength(json)),
    Connection: last ? 'close' : 'keep-alive',
    ...headers,
  });
  return head + json;
}
