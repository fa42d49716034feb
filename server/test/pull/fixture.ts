import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { PullJob } from '../../src/transfers/pull/pull.ts';

export const TRANSFER = 'transfer-0123456789';
export const TOKEN = 'pull-token-abcdef';

type Handler = (request: IncomingMessage, response: ServerResponse, idx: number) => void;

/** A client's temporary server on the loopback, ended with the test. */
export interface ClientServer {
  url: string;
  /** Every request so far, as `<idx>` or `<idx> <range>`. */
  requests: string[];
  /** Volume numbers that were asked for, each once. */
  asked: () => number[];
}

export async function serve(
  t: TestContext,
  handler: Handler,
  options: { host?: string; port?: number; tls?: string } = {},
): Promise<ClientServer> {
  const requests: string[] = [];
  const listener = (request: IncomingMessage, response: ServerResponse) => {
    const { range } = request.headers;
    const idx = Number(/\/pull\/[^/]+\/(\d+)\?token=/.exec(request.url ?? '')?.[1]);
    requests.push(range === undefined ? String(idx) : `${idx} ${range}`);
    handler(request, response, idx);
  };
  const server: Server =
    options.tls === undefined
      ? createServer(listener)
      : createSecureServer({ key: options.tls, cert: options.tls }, listener);
  const host = options.host ?? '127.0.0.1';
  server.listen(options.port ?? 0, host);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const scheme = options.tls === undefined ? 'http' : 'https';
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `${scheme}://${shown}:${(server.address() as AddressInfo).port}`,
    requests,
    asked: () => [...new Set(requests.map((line) => Number.parseInt(line, 10)))].sort((a, b) => a - b),
  };
}

/** An honest server for these volumes. */
export function honest(volumes: Map<number, Buffer>, options: { ranges?: boolean } = {}): Handler {
  return (request, response, idx) => {
    const body = volumes.get(idx);
    if (body === undefined) {
      response.writeHead(404).end();
      return;
    }
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    if (options.ranges === false || from === undefined) {
      response.writeHead(200, { 'content-length': body.length }).end(body);
      return;
    }
    const first = Number(from);
    const last = to ? Math.min(Number(to), body.length - 1) : body.length - 1;
    const part = body.subarray(first, last + 1);
    response
      .writeHead(206, {
        'content-length': part.length,
        'content-range': `bytes ${first}-${last}/${body.length}`,
      })
      .end(part);
  };
}

/** Volumes 1, 2, … of random bytes. */
export function randomVolumes(...sizes: number[]): Map<number, Buffer> {
  return new Map(sizes.map((size, position) => [position + 1, randomBytes(size)]));
}

export async function folder(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'szafa-pull-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A pull that may reach 127.0.0.1 only. */
export function job(baseUrl: string, landing: string, volumes: Map<number, Buffer>): PullJob {
  return {
    transferId: TRANSFER,
    token: TOKEN,
    baseUrl,
    landing,
    volumes: [...volumes].map(([idx, body]) => ({ idx, size: body.length })),
    allow: (address) => address === '127.0.0.1',
    timeoutMs: 60_000,
  };
}

/** Digests by name of everything in a folder. */
export async function contents(path: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of (await readdir(path)).sort()) found[name] = sha256(await readFile(join(path, name)));
  return found;
}

export function digests(volumes: Map<number, Buffer>, ...only: number[]): Record<string, string> {
  const chosen = only.length === 0 ? [...volumes.keys()] : only;
  return Object.fromEntries(chosen.map((idx) => [String(idx), sha256(volumes.get(idx)!)]));
}

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

/** Ids of the living children of a process that carry this name. */
export async function childrenOf(parent: number, name: string): Promise<number[]> {
  const found: number[] = [];
  for (const entry of await readdir('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    const text = await readFile(`/proc/${entry}/stat`, 'utf8').catch(() => ''); // ended meanwhile
    const [, pid, comm, state, ppid] = /^(\d+) \((.*)\) (\S) (\d+)/.exec(text) ?? [];
    if (Number(ppid) === parent && comm === name && state !== 'Z') found.push(Number(pid));
  }
  return found;
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false; // ESRCH
  }
}

/** Waits, at most ten seconds, until something is so. */
export async function until<T>(probe: () => T | Promise<T>): Promise<NonNullable<T>> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const value = await probe();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error('waited in vain');
}
