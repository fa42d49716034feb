import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import closestUntrusted from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';
import type { Log } from '../log/log.ts';
import { type Cidrs, isInside, isLoopback, networkOf, plainAddress } from './addresses.ts';

/** Headers that proxies add and clients do not. */
const ADDED_BY_PROXIES =
  /^(via|forwarded|x-forwarded(-.+)?|x-real-ip|(x|true|fastly)-(cluster-)?client-ip|x-original-.+|x-envoy-.+|cf-.+|x-arr-.+|x-amzn-trace-id|x-cloud-trace-context)$/;

/** Where a request comes from, as far as that can be known. */
export interface CallerAddress {
  /** The address that limits go by; of IPv6 its network. */
  network: string;
  /** It is that of a proxy which nobody named: everybody behind it has the same. */
  shared: boolean;
  /** The address that is the caller's own beyond doubt, which a pull may reach. */
  own: string | undefined;
}

/**
 * `ip` is what the X-Forwarded-For of trusted proxies says. Where a request came through any other proxy, the address is
 * the proxy's and so nobody's own: to call it the caller's would let everybody reach what listens beside the proxy.
 */
export function callerAddress(request: IncomingMessage, ip: string, trusted: Cidrs): CallerAddress {
  const peer = request.socket.remoteAddress ?? '';
  const hidden = trusted.contains(peer) ? hasOthersBefore(request, ip, trusted) : cameThroughProxy(request);
  return {
    network: networkOf(ip),
    shared: hidden && isInside(ip),
    own: hidden ? undefined : (plainAddress(ip) ?? undefined),
  };
}

/** Behind trusted proxies: the one that they name handed on a request of somebody else, or no proxy named anyone. */
function hasOthersBefore(request: IncomingMessage, ip: string, trusted: Cidrs): boolean {
  const entries = forwardedFor(request);
  if (entries.length === 0) return cameThroughProxy(request);
  const first = entries.findLastIndex((entry) => !trusted.contains(entry));
  return first > 0 || (first === -1 && entries[0] !== ip);
}

function forwardedFor(request: IncomingMessage): string[] {
  const header = request.headers['x-forwarded-for'];
  return [header ?? []]
    .flat()
    .flatMap((line) => line.split(','))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}

/**
 * What a proxy leaves behind: its headers; HTTP/1.0, which nginx speaks unless told otherwise; and on a loopback
 * connection, a Host that is not this machine's: whoever is here asks for this machine.
 */
function cameThroughProxy(request: IncomingMessage): boolean {
  if (request.httpVersion === '1.0') return true;
  if (Object.keys(request.headers).some((name) => ADDED_BY_PROXIES.test(name))) return true;
  return isLoopback(request.socket.remoteAddress ?? '') && !isHere(request.headers.host ?? '');
}

function isHere(host: string): boolean {
  const name = host.replace(/:\d*$/, '').toLowerCase();
  return (
    name === 'localhost' ||
    name.endsWith('.localhost') ||
    name === hostname().toLowerCase() ||
    isLoopback(name)
  );
}

/** The same for requests of the service; tells once that a proxy should be named. */
export function addressTeller(trusted: Cidrs, log: Log): (request: FastifyRequest) => CallerAddress {
  let told = false;
  return ({ raw, ip }) => {
    const address = callerAddress(raw, ip, trusted);
    if (address.shared && !told) {
      told = true;
      log.warn(
        { ip },
        'requests come through a proxy that is not in SZ_TRUST_PROXY: all its users count as one address, and none of them can pull',
      );
    }
    return address;
  };
}

/**
 * The closest address that is not a trusted proxy's, of a request that no Fastify has read. It is the function behind Fastify's
 * `request.ip`, so that a caller has one address whichever way it comes.
 */
export function addressOf(remote: string, forwardedFor: string | undefined, trusted: Cidrs): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  const request = { socket: { remoteAddress: remote }, headers };
  return closestUntrusted(request as unknown as IncomingMessage, (address) => trusted.contains(address));
}
