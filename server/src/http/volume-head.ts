/** The head of a PUT of a volume, or of a file of one volume, as strict as the fast lane wants it. */
export interface VolumeHead {
  transferId: string;
  /** Undefined where the volume is a whole file. */
  idx: number | undefined;
  /** X-Init */
  init: string | undefined;
  length: number;
  authorization: string | undefined;
  forwardedFor: string | undefined;
  /** The client waits for `100 Continue` before it sends the body. */
  asksFirst: boolean;
  close: boolean;
}

const REQUEST_LINE = /^PUT \/api\/transfer\/([\w-]{1,64})\/(?:chunk\/([1-9][0-9]{0,5})|file) HTTP\/1\.1$/;
const HEADER = /^([\w!#$%&'*+.^`|~-]+):([\t\x20-\x7e]*)$/;
/** Headers that change how a message is read; whatever has one of them goes to the general server. */
const FRAMING = new Set(['transfer-encoding', 'te', 'trailer', 'upgrade', 'keep-alive', 'proxy-connection']);

export const HEAD_BYTES = 16 * 1024;

/**
 * Undefined for whatever is not exactly such a request in its plainest form: one Content-Length, no header
 * twice, no continuation lines, nothing beyond visible ASCII. The general HTTP server then deals with it.
 */
export function parseVolumeHead(text: string): VolumeHead | undefined {
  const [requestLine = '', ...lines] = text.split('\r\n');
  const target = REQUEST_LINE.exec(requestLine);
  if (!target) return undefined;
  const headers = new Map<string, string>();
  for (const line of lines) {
    const match = HEADER.exec(line);
    const name = match?.[1]?.toLowerCase();
    if (name === undefined || headers.has(name) || FRAMING.has(name)) return undefined;
    headers.set(name, match![2]!.trim());
  }
  const length = headers.get('content-length');
  const connection = headers.get('connection')?.toLowerCase() ?? 'keep-alive';
  const expect = headers.get('expect')?.toLowerCase();
  const plain =
    headers.has('host') &&
    length !== undefined &&
    /^[0-9]{1,15}$/.test(length) &&
    (connection === 'keep-alive' || connection === 'close') &&
    (expect === undefined || expect === '100-continue');
  if (!plain) return undefined;
  return {
    transferId: target[1]!,
    idx: target[2] === undefined ? undefined : Number(target[2]),
    init: headers.get('x-init'),
    length: Number(length),
    authorization: headers.get('authorization'),
    forwardedFor: headers.get('x-forwarded-for'),
    asksFirst: expect !== undefined,
    close: connection === 'close',
  };
}

/** Splits what has arrived into the head's text and the bytes after it; undefined while the head is not whole. */
export function splitHead(bytes: Buffer): { text: string; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  return { text: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + 4) };
}
