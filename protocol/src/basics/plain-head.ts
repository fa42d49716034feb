/** The head of an HTTP/1.1 message. */
export interface PlainHead {
  /** The request line or the status line. */
  first: string;
  /** Header values by lower-case name. */
  headers: Map<string, string>;
  /** Content-Length; undefined if it is absent, malformed, or overridden by Transfer-Encoding. */
  length: number | undefined;
}

const HEADER = /\r\n([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e]*)/y;

/**
 * Parses only simple heads: no repeated header, no continuation lines, only visible ASCII. Returns undefined for any other head, which
 * needs a complete HTTP parser.
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

/** Writes a head, with the empty line that ends it. */
export function writeHead(first: string, headers: Record<string, string>): string {
  let text = `${first}\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return `${text}\r\n`;
}
