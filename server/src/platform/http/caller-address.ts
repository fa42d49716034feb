import type { IncomingMessage } from 'node:http';
import { hostname } from 'node:os';
import closestUntrusted from '@fastify/proxy-addr';
import type { FastifyRequest } from 'fastify';
import type { Log } from '../log/log.ts';
import { type Cidrs, isInside, isLoopback, networkOf, plainAddress } from './addresses.ts';

/** Headers that only proxies add. */
const ADDED_BY_PROXIES =
  /^(via|forwarded|x-forwarded(-.+)?|x-real-ip|(x|true|fastly)-(cluster-)?client-ip|x-original-.+|x-envoy-.+|cf-.+|x-arr-.+|x-amzn-trace-id|x-cloud-trace-context)$/;

/** The origin of a request, as far as it is known. */
export interface CallerAddress {
  /** The address that limits apply to; for IPv6 its /64 network. */
  network: string;
  /** The address belongs to a proxy missing from SZ_TRUST_PROXY, so all its users share it. */
  shared: boolean;
  /** The caller's own address, if known for certain. Pulls may connect to it. */
  own: string | undefined;
}

/**
 * `ip` comes from the X-Forwarded-For of trusted proxies. Behind any other proxy it is the proxy's address and must not count
 * as the caller's own: otherwise everyone could make pulls reach services beside the proxy.
 */
export function callerAddress(request: IncomingMessage, ip: string, trusted: Cidrs): CallerAddress {
  const peer = request.socket.remoteAddress ?? '';
  const hidden = trusted.contains(peer) ? isProxied(request, ip, trusted) : cameThroughProxy(request);
  return {
    network: networkOf(ip),
    shared: hidden && isInside(ip),
    own: hidden ? undefined : (plainAddress(ip) ?? undefined),
  };
}

/** Behind trusted proxies: whether the address they report belongs to another proxy, or they report none. */
function isProxied(request: IncomingMessage, ip: string, trusted: Cidrs): boolean {
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
 * Signs of a proxy: its headers; HTTP/1.0, which is nginx's default; and on a loopback connection, a Host that is not
 * this machine.
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

/** Returns a function that finds the address of a request. Warns once about a proxy that is not in SZ_TRUST_PROXY. */
export function callerAddresses(trusted: Cidrs, log: Log): (request: FastifyRequest) => CallerAddress {
  let hasWarned = false;
  return ({ raw, ip }) => {
    const address = callerAddress(raw, ip, trusted);
    if (address.shared && !hasWarned) {
      hasWarned = true;
      log.warn(
        { ip },
        'requests come through a proxy that is not in SZ_TRUST_PROXY: its users share one address for all limits, and cannot pull. Add the proxy',
      );
    }
    return address;
  };
}

/** Equals Fastify's `request.ip`, for requests that Fastify has not read. */
export function addressOf(remote: string, forwardedFor: string | undefined, trusted: Cidrs): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  const request = { socket: { remoteAddress: remote }, headers };
  return closestUntrusted(request as unknown as IncomingMessage, (address) => trusted.contains(address));
}
