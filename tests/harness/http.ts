import http from 'node:http';

/** A request, valid or not. Nothing is added except for what HTTP requires. */
export interface Call {
  method?: string;
  path: string;
  token?: string;
  /** Body to send as JSON, with the matching Content-Type. */
  json?: unknown;
  /** Body to send unchanged. An iterable is sent in chunked encoding. */
  body?: Uint8Array | string | AsyncIterable<Uint8Array>;
  headers?: Record<string, string>;
  signal?: AbortSignal;
  timeoutMs?: number;
}

export interface Answer {
  status: number;
  headers: http.IncomingHttpHeaders;
  /** Alternating names and values, as received. Includes repeated headers. */
  rawHeaders: string[];
  body: Buffer;
  text: string;
  /** Beginning of the body, for messages. Decoding a whole volume as text takes longer than fetching it. */
  excerpt: string;
  /** The body as a JSON object. Throws if it is not JSON. */
  json: Record<string, unknown>;
}

function toAnswer(response: http.IncomingMessage, body: Buffer): Answer {
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    rawHeaders: response.rawHeaders,
    body,
    get text() {
      return body.toString('utf8');
    },
    get excerpt() {
      return body.subarray(0, 300).toString('utf8');
    },
    get json() {
      return JSON.parse(body.toString('utf8')) as Record<string, unknown>;
    },
  };
}

/** Sends a request on a new connection, so that a series of requests reaches every worker. */
export async function send(baseUrl: string, call: Call): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (call.token !== undefined) headers['authorization'] = `Bearer ${call.token}`;
  let body = call.body;
  if (call.json !== undefined) {
    headers['content-type'] = 'application/json';
    body = JSON.stringify(call.json);
  }
  if (typeof body === 'string') body = Buffer.from(body);
  if (body instanceof Uint8Array) headers['content-length'] = String(body.length);
  for (const [name, value] of Object.entries(call.headers ?? {})) headers[name.toLowerCase()] = value;
  const { hostname, port } = new URL(baseUrl);
  const request = http.request({
    host: hostname,
    port,
    method: call.method ?? 'GET',
    path: call.path,
    headers,
    agent: false,
    signal: AbortSignal.any([
      AbortSignal.timeout(call.timeoutMs ?? 30_000),
      ...(call.signal ? [call.signal] : []),
    ]),
  });
  const answered = new Promise<Answer>((resolve, reject) => {
    request.on('response', (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('end', () => resolve(toAnswer(response, Buffer.concat(parts))));
      response.on('error', reject);
    });
    request.on('error', reject);
  });
  if (body === undefined || body instanceof Uint8Array) {
    request.end(body);
  } else {
    await Promise.race([answered, writeAll(request, body)]);
  }
  return await answered;
}

async function writeAll(request: http.ClientRequest, body: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of body) {
    // After an early answer the server does not read the rest.
    if (request.destroyed || request.writableEnded) return;
    request.write(part);
  }
  request.end();
}

/** Yields the bytes in pieces, so that they are sent in chunked encoding. */
export async function* inPieces(bytes: Uint8Array, size = 1000): AsyncIterable<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}
