import { promises as dns, type LookupAddress } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { plainAddress } from '../../platform/http/addresses.ts';
import { http, https } from '../../platform/http/node-http.ts';

const MAX_REDIRECTS = 5;
/** A pull has one host, or a few with redirects; more would be an attempt to keep the resolver busy. */
const MAX_HOSTS = 16;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** An address to which this pull may not connect. */
export class RefusedError extends Error {
  override name = 'RefusedError';
}

/** The client's server violated HTTP; the message says how. */
export class UpstreamError extends Error {
  override name = 'UpstreamError';
}

/**
 * Requests to the client's server. Redirects are followed hop by hop. A host is resolved once per pull, and connections go to
 * exactly the addresses that were checked, so that a name cannot lead elsewhere in between.
 */
export class Upstream {
  readonly #allow: (address: string) => boolean;
  readonly #hosts = new Map<string, Promise<LookupAddress[]>>();
  readonly #plain = new http.Agent({ keepAlive: true });
  readonly #secure = new (https().Agent)({ keepAlive: true });

  constructor(allow: (address: string) => boolean) {
    this.#allow = allow;
  }

  /** Sends a GET. The signal only aborts until the response arrives; then the caller must read or destroy the response. */
  async get(first: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
    let url = first;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      const answer = await this.#request(url, headers, signal);
      const { location } = answer.headers;
      if (!REDIRECTS.has(answer.statusCode ?? 0) || location === undefined) return answer;
      answer.destroy();
      url = redirectTarget(location, url);
    }
    throw new UpstreamError(`redirects more than ${MAX_REDIRECTS} times`);
  }

  close(): void {
    this.#plain.destroy();
    this.#secure.destroy();
  }

  async #request(url: URL, headers: Record<string, string>, signal: AbortSignal): Promise<IncomingMessage> {
    const host = url.hostname.replace(/^\[(.*)\]$/, '$1');
    const addresses = await this.#resolve(host);
    signal.throwIfAborted();
    const secure = url.protocol === 'https:';
    return new Promise((resolve, reject) => {
      const request = (secure ? https().request : http.request)({
        agent: secure ? this.#secure : this.#plain,
        host,
        port: url.port || (secure ? 443 : 80),
        path: `${url.pathname}${url.search}`,
        headers: { ...headers, host: url.host, 'accept-encoding': 'identity' },
        // Not called for literal addresses, which #resolve has checked.
        lookup: (_host, options, done) => {
          if (options.all) done(null, addresses);
          else done(null, addresses[0]!.address, addresses[0]!.family);
        },
      });
      // Only until the response arrives: later the connection may carry another request.
      const cancel = () => request.destroy(signal.reason);
      signal.addEventListener('abort', cancel);
      request.on('close', () => signal.removeEventListener('abort', cancel));
      request.on('response', (answer) => {
        signal.removeEventListener('abort', cancel);
        resolve(answer);
      });
      request.on('error', reject);
      request.end();
    });
  }

  #resolve(host: string): Promise<LookupAddress[]> {
    let known = this.#hosts.get(host);
    if (known === undefined) {
      known = this.#hosts.size < MAX_HOSTS ? this.#lookup(host) : refuse('redirects to too many hosts');
      this.#hosts.set(host, known);
    }
    return known;
  }

  async #lookup(host: string): Promise<LookupAddress[]> {
    const family = isIP(host);
    const found = family ? [{ address: host, family }] : await dns.lookup(host, { all: true });
    const allowed = found.filter(({ address }) => {
      const plain = plainAddress(address);
      return plain !== null && this.#allow(plain);
    });
    if (allowed.length === 0) return refuse('the address is not allowed');
    return allowed;
  }
}

/** Allows only http and https, without user information. */
function redirectTarget(location: string, from: URL): URL {
  const url = URL.parse(location, from);
  if (url === null) throw new UpstreamError('redirects to something that is not an address');
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw new RefusedError('redirects away from HTTP');
  if (url.username || url.password) throw new RefusedError('redirects to an address with user information');
  return url;
}

async function refuse(reason: string): Promise<never> {
  throw new RefusedError(reason);
}
