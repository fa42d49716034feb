import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Passing {
  method: string;
  path: string;
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
  /** What the client sent. */
  sent: Buffer;
}

/** What a hostile server makes of an answer; undefined leaves it, 'cut' breaks the connection. */
export type Hostility = (passing: Passing) => Partial<Passing> | 'cut' | undefined;

type Early = ReturnType<Hostility>;

export interface HostileProxy {
  url: string;
  /** Everything the client asked for, in order. */
  requests: { method: string; path: string; sent: Buffer }[];
  hostility: Hostility;
  /** Before the service sees it: an answer given here goes back at once. */
  before: ((method: string, path: string, sent: Buffer) => Early | Promise<Early>) | undefined;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Stands between client and service, and answers as it likes. */
export async function startProxy(
  target: string,
  hostility: Hostility = () => undefined,
): Promise<HostileProxy> {
  const server = createServer(async (incoming, outgoing) => {
    const { method = 'GET', url: path = '/' } = incoming;
    const sent = Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>));
    proxy.requests.push({ method, path, sent });
    const answer = (change: Partial<Passing> | 'cut' | undefined, real: Passing) => {
      if (change === 'cut') {
        outgoing.destroy();
        return;
      }
      const { status, headers, body } = { ...real, ...change };
      const length = method === 'HEAD' ? headers['content-length'] : body.length;
      const kept = Object.entries({ ...headers, 'content-length': length }).filter(
        ([name, value]) => value !== undefined && !/^(transfer-encoding|connection|keep-alive)$/.test(name),
      );
      outgoing.writeHead(status, Object.fromEntries(kept) as Record<string, string>);
      outgoing.end(method === 'HEAD' ? undefined : body);
    };
    const empty = { method, path, status: 200, headers: {}, body: Buffer.alloc(0), sent };
    const early = await proxy.before?.(method, path, sent);
    if (early) {
      answer(early, empty);
      return;
    }
    const headers = { ...incoming.headers, host: new URL(target).host };
    const upstream = request(`${target}${path}`, { method, headers }, async (response) => {
      const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
      const real = { ...empty, status: response.statusCode ?? 0, headers: response.headers, body };
      answer(proxy.hostility(real), real);
    });
    upstream.on('error', () => outgoing.destroy());
    upstream.end(sent);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const proxy: HostileProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    hostility,
    before: undefined,
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
    [Symbol.asyncDispose]: () => proxy.stop(),
  };
  return proxy;
}

export const isVolume = (path: string) => /\/api\/files\/[^/]+\/chunk\/\d+$/.test(path);
export const volumeOf = (path: string) => Number(path.split('/').at(-1));
