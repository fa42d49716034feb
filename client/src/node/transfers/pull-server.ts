import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { parseRange } from '@szafa/protocol';
import { SzafaError } from '../../errors.ts';
import type { PullHost, PullOffer } from '../../transfers/upload/options.ts';
import type { VolumeSupply } from '../../transfers/upload/supply.ts';
import { http } from '../transport/http.ts';
import { type VolumeCache, volumeCache } from './volume-cache.ts';

export interface PullHostOptions {
  /** The szafa server that will fetch the volumes. */
  server: string;
  /** Address to listen on; by default the local address of a connection to `server`. */
  host?: string | undefined;
  port?: number | undefined;
  /** URL at which the server reaches this machine, if it differs from the address to listen on. */
  address?: string | undefined;
}

/** Longer than the server waits for a silent client. */
const STALLED_MS = 60_000;

/** Lets a server fetch volumes from this machine over HTTP. Each transfer has its own port and token. @public */
export function pullHost(options: PullHostOptions): PullHost {
  return { serve: (transferId, supply) => serve(options, transferId, supply) };
}

async function serve(options: PullHostOptions, transferId: string, supply: VolumeSupply): Promise<PullOffer> {
  const token = randomBytes(24).toString('base64url');
  const cache = volumeCache(supply);
  const server = http.createServer((request, response) => {
    answer(request, response, { transferId, token, count: supply.layout.count }, cache).catch(
      (error: Error) => {
        // The server sees an aborted response; the uploader gets the reason from `failure`.
        response.destroy(error);
      },
    );
  });
  // The server opens many connections, and some of them stay idle for a while.
  server.keepAliveTimeout = 30_000;
  const host = options.host ?? (await localAddress(options.server));
  await listen(server, options.port ?? 0, host);
  const { address, port, family } = server.address() as AddressInfo;
  const own = family === 'IPv6' ? `[${address}]` : address;
  return {
    baseUrl: (options.address ?? `http://${own}:${port}`).replace(/\/+$/, ''),
    token,
    failure: cache.failure,
    async close() {
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
      await cache.clear();
    },
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause) => {
      reject(new SzafaError('pull-address', `cannot listen on ${host}:${port}: ${cause.message}`, { cause }));
    });
    server.listen(port, host, resolve);
  });
}

/** Returns the local address of a connection to the server. */
function localAddress(server: string): Promise<string> {
  const url = new URL(server);
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: url.hostname.replace(/^\[|\]$/g, ''), port, timeout: 10_000 }, () => {
      resolve(socket.localAddress ?? '127.0.0.1');
      socket.destroy();
    });
    socket.on('timeout', () => socket.destroy(new Error('timed out')));
    socket.on('error', (cause) => {
      reject(new SzafaError('pull-address', `the server cannot be reached: ${cause.message}`, { cause }));
    });
  });
}

function sameText(a: string, b: string): boolean {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { transferId, token, count }: { transferId: string; token: string; count: number },
  cache: VolumeCache,
): Promise<void> {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const [, id = '', number = ''] = /^\/pull\/([^/]+)\/([1-9][0-9]{0,4})$/.exec(url.pathname) ?? [];
  const idx = Number(number);
  const isKnown = sameText(id, transferId) && sameText(url.searchParams.get('token') ?? '', token);
  const isRead = request.method === 'GET' || request.method === 'HEAD';
  if (!isKnown || !isRead || idx < 1 || idx > count) {
    response.writeHead(404).end();
    return;
  }
  const size = cache.sizeOf(idx);
  const range = parseRange(request.headers.range, size);
  if (range === 'unsatisfiable') {
    response.writeHead(416, { 'content-range': `bytes */${size}` }).end();
    return;
  }
  const { start, end } = range ?? { start: 0, end: size };
  const headers = {
    'content-type': 'application/octet-stream',
    'content-length': end - start,
    'accept-ranges': 'bytes',
    'cache-control': 'no-store',
    ...(range && { 'content-range': `bytes ${start}-${end - 1}/${size}` }),
  };
  if (request.method === 'HEAD') {
    response.writeHead(range ? 206 : 200, headers).end();
    return;
  }
  const isWanted = () => !response.closed;
  await cache.use(idx, isWanted, async (bytes) => {
    if (!isWanted()) return; // the connection closed while the volume was being sealed
    response.writeHead(range ? 206 : 200, headers);
    // A client that stops reading must not hold the memory forever.
    response.setTimeout(STALLED_MS, () => response.destroy());
    await new Promise<void>((resolve) => {
      response.once('close', resolve);
      response.end(bytes.subarray(start, end));
    });
  });
}
