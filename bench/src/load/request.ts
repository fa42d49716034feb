/** A request as sent to a load process: plain data, with its head as text. */
export interface LoadRequest {
  /** Request line and headers, including the final empty line. */
  head: string;
  /** Text, or a number of bytes of the common pattern. */
  body?: string | number;
  /** Expected length of the response body in bytes. */
  expectBytes?: number;
  /** Expected SHA-256 of the response body, in hex. */
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
