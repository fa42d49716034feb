/** One request as it travels from the bench to a load process: plain data, its head already rendered. */
export interface LoadRequest {
  /** Request line and headers with the empty line that ends them. */
  head: string;
  /** Text, or a number of bytes of the common pattern. */
  body?: string | number;
  /** What the response's body must have in bytes; anything else is a failure. */
  expectBytes?: number;
  /** The SHA-256 that the response's body must have, in hex. */
  expectSha256?: string;
}

export interface RequestParts {
  method: string;
  path: string;
  headers?: Record<string, string | number>;
  body?: string | number;
  expectBytes?: number;
  expectSha256?: string;
}

export function request(parts: RequestParts): LoadRequest {
  const { method, path, headers = {}, body, expectBytes, expectSha256 } = parts;
  const lines = [`${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== undefined || method !== 'GET') {
    lines.push(`Content-Length: ${typeof body === 'string' ? Buffer.byteLength(body) : (body ?? 0)}`);
  }
  return {
    head: `${lines.join('\r\n')}\r\n\r\n`,
    ...(body === undefined ? {} : { body }),
    ...(expectBytes === undefined ? {} : { expectBytes }),
    ...(expectSha256 === undefined ? {} : { expectSha256 }),
  };
}
