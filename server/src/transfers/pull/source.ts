import { hash, timingSafeEqual } from 'node:crypto';
import { RuleError } from '@szafa/protocol';
import { percentEncode } from '../../platform/percent.ts';

const MAX_BYTES = 2048;
/** Characters that end a line for a program in C. */
const LINE_END = /[\r\n\0]/;

/** The addresses of a transfer's volumes on the client's server: `<base_url>/pull/<transfer_id>/<idx>?token=<token>`. */
function volumeAddresses(before: string, after: string) {
  /**
   * The address in the tool's list. Always http: the proxy makes the TLS connection, because a tunnel would hide redirects
   * and sizes.
   */
  const listed = (idx: number) => `${before.replace(/^https:/, 'http:')}${idx}${after}`;
  return {
    listed,
    real: (idx: number) => new URL(`${before}${idx}${after}`),
    /** Returns the volume that the tool requests from the proxy; undefined if the address is not in the list. */
    volumeOf: (address: string) => {
      const digits = /\/([1-9]\d{0,8})\?token=[^/?]*$/.exec(address)?.[1];
      if (digits === undefined) return undefined;
      const idx = Number(digits);
      return timingSafeEqual(digest(address), digest(listed(idx))) ? idx : undefined;
    },
  };
}
export type VolumeAddresses = ReturnType<typeof volumeAddresses>;

/** Checks the address and token sent by a client; throws a RuleError that says what is wrong. */
export function checkPullAddress(baseUrl: string, token: string) {
  for (const [name, text] of Object.entries({ base_url: baseUrl, token })) {
    if (text === '') throw new RuleError(`${name} is empty`);
    if (Buffer.byteLength(text) > MAX_BYTES) throw new RuleError(`${name} is longer than ${MAX_BYTES} bytes`);
    // The text is sent percent-encoded in UTF-8, which cannot encode a lone surrogate.
    if (!text.isWellFormed()) throw new RuleError(`${name} is not well-formed text`);
  }
  // An encoded token cannot end a line of the tool's list. It is refused nevertheless, as a second barrier.
  if (LINE_END.test(token)) throw new RuleError('token must not contain line ends or NUL');
  if (/[\s\p{Cc}]/u.test(baseUrl))
    throw new RuleError('base_url must not contain whitespace or control characters');
  if (!/^https?:\/\//i.test(baseUrl)) throw new RuleError('base_url must begin with http:// or https://');
  if (/[?#\\]/.test(baseUrl))
    throw new RuleError('base_url must not contain a query, a fragment or a backslash');
  if (/^[^/]*\/\/[^/]*@/.test(baseUrl)) throw new RuleError('base_url must not contain user information');
  const url = URL.parse(baseUrl);
  if (url === null) throw new RuleError('base_url is not an address');
  const base = `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
  return {
    of: (transferId: string) =>
      volumeAddresses(`${base}/pull/${percentEncode(transferId)}/`, `?token=${percentEncode(token)}`),
  };
}

const digest = (text: string) => hash('sha256', text, 'buffer');
