import type { IncomingMessage } from 'node:http';
import closestUntrusted from '@fastify/proxy-addr';
import type { Cidrs } from '../pull/addresses.ts';

/**
 * The closest address that is not a trusted proxy's, of a request that no Fastify has read. It is the function behind Fastify's
 * `request.ip`, so that a caller has one address whichever way it comes.
 */
export function addressOf(remote: string, forwardedFor: string | undefined, trusted: Cidrs): string {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  const request = { socket: { remoteAddress: remote }, headers };
  return closestUntrusted(request as unknown as IncomingMessage, (address) => trusted.contains(address));
}
