/** The head of a message of HTTP/1.1. */
export interface PlainHead {
  /** The request line or the status line. */
  first: string;
  /** By their names in lower case. */
  headers: Map<string, string>;
  /** Content-Length; undefined where it does not say in plain decimals how long the body is. */
  length: number | undefined;
}

const HEADER = /\r\n([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e]*)/y;

/**
 * Reads a head in its plainest form: no header twice, no continuation lines, nothing in the headers beyond visible ASCII. For
 * whatever can be read in two ways there is undefined, and a whole HTTP implementation to ask.
 */
export function readHead(text: string): PlainHead | undefined {
  const end = text.indexOf('\r\n');
  const first = end < 0 ? text : text.slice(0, end);
  const headers = new Map<string, string>();
  for (let at = first.length; at < text.length; at = HEADER.lastIndex) {
    HEADER.lastIndex = at;
    const [, name, value] = HEADER.exec(text) ?? [];
    const key = name?.toLowerCase();
    if (key === undefined || headers.has(key)) return undefined;
    headers.set(key, value!.trim());
  }
  const length = headers.has('transfer-encoding') ? undefined : headers.get('content-length');
  return { first, headers, length: /^\d{1,15}$/.test(length ?? '') ? Number(length) : undefined };
}

/** The other way round, with the empty line that ends it. */
export function writeHead(first: string, headers: Record<string, string>): string {
  let text = `${first}\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return `${text}\r\n`;
}
