import { headers as headerNames, readHead, routes } from '@szafa/protocol';
import { REQUEST_ID } from '../platform/http/request-log.ts';
import type { VolumePut } from '../transfers/put.ts';

/** The head of such a PUT, as strict as the fast lane wants it. */
export interface VolumeHead extends VolumePut {
  length: number;
  /** X-Request-Id as it was sent. */
  requestId: string | undefined;
  /** The client waits for `100 Continue` before it sends the body. */
  asksFirst: boolean;
  close: boolean;
}

/** The paths of the API, with only what is certainly an id or a volume number in the places of parameters. */
export const plainPath = (path: string) =>
  path.replace(/\{(transfer|file)_id\}/, '([\\w-]{1,64})').replace('{idx}', '([1-9][0-9]{0,5})');
const VOLUME = new RegExp(`^PUT ${plainPath(routes.writeVolume.path)} HTTP/1\\.1$`);
const FILE = new RegExp(`^PUT ${plainPath(routes.writeFile.path)} HTTP/1\\.1$`);
/** Headers that change how a message is read; whatever has one of them goes to the general server. */
const FRAMING = ['te', 'trailer', 'upgrade', 'keep-alive', 'proxy-connection'];

/** Node's server refuses longer heads. */
export const HEAD_BYTES = 16 * 1024;
/** Node's server leaves headers out beyond 2000 of them. */
const MOST_HEADERS = 100;

/** Undefined for whatever is not exactly such a request in its plainest form. The general HTTP server then deals with it. */
export function parseVolumeHead(text: string): VolumeHead | undefined {
  const { first = '', headers, length } = readHead(text) ?? {};
  const target = VOLUME.exec(first) ?? FILE.exec(first);
  if (!target || !headers || length === undefined || headers.size > MOST_HEADERS) return undefined;
  const connection = headers.get('connection')?.toLowerCase() ?? 'keep-alive';
  const expect = headers.get('expect')?.toLowerCase();
  const plain =
    headers.has('host') &&
    !FRAMING.some((name) => headers.has(name)) &&
    (connection === 'keep-alive' || connection === 'close') &&
    (expect === undefined || expect === '100-continue');
  if (!plain) return undefined;
  return {
    transferId: target[1]!,
    idx: target[2],
    init: headers.get(headerNames.init.toLowerCase()),
    length,
    digest: headers.get(headerNames.contentDigest.toLowerCase()),
    authorization: headers.get('authorization'),
    forwardedFor: headers.get('x-forwarded-for'),
    requestId: headers.get(REQUEST_ID),
    asksFirst: expect !== undefined,
    close: connection === 'close',
  };
}

/** Splits what has arrived into the head's text and the bytes after it; undefined while the head is not whole. */
export function splitHead(bytes: Buffer): { text: string; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0 || end > HEAD_BYTES - 4) return undefined;
  return { text: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + 4) };
}
