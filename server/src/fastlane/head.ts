import { headers as headerNames, readHead, routes } from '@szafa/protocol';
import { REQUEST_ID } from '../platform/http/request-log.ts';
import type { VolumePut } from '../transfers/put.ts';

/** The head of a PUT of a volume in the strict form that the fast lane accepts. */
export interface VolumeHead extends VolumePut {
  length: number;
  /** X-Request-Id */
  requestId: string | undefined;
  /** The client waits for `100 Continue` before it sends the body. */
  asksFirst: boolean;
  close: boolean;
}

/** A pattern for an API path that accepts only plain ids and volume numbers as parameters. */
export const plainPath = (path: string) =>
  path.replace(/\{(transfer|file)_id\}/, '([\\w-]{1,64})').replace('{idx}', '([1-9][0-9]{0,5})');
const VOLUME = new RegExp(`^PUT ${plainPath(routes.writeVolume.path)} HTTP/1\\.1$`);
const FILE = new RegExp(`^PUT ${plainPath(routes.writeFile.path)} HTTP/1\\.1$`);
/** Headers that change how a message is parsed: requests with one of them go to Node's server. */
const FRAMING = ['te', 'trailer', 'upgrade', 'keep-alive', 'proxy-connection'];

/** Same as the limit of Node's server. */
export const HEAD_BYTES = 16 * 1024;
/** Far below 2000, where Node's server starts to drop headers. */
const MOST_HEADERS = 100;

/** Parses the head of a plain PUT of a volume. Returns undefined for every other request; Node's server handles those. */
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

/** Splits the received bytes into head and rest; undefined while the head is incomplete. */
export function splitHead(bytes: Buffer): { text: string; rest: Buffer } | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  if (end < 0 || end > HEAD_BYTES - 4) return undefined;
  return { text: bytes.toString('latin1', 0, end), rest: bytes.subarray(end + 4) };
}
