import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import type { Ceph } from './ceph.ts';

export interface Meddling {
  /** Answers a request instead of the store. Returns false to forward it. */
  instead?(request: http.IncomingMessage, response: http.ServerResponse): boolean;
  /** Returns the status to pass on to the client. */
  status?(request: http.IncomingMessage, status: number): number;
}

/** A proxy between a client and the store that breaks some of the store's guarantees. */
export class S3Proxy {
  readonly #server: http.Server;
  readonly #ceph: Ceph;

  private constructor(ceph: Ceph, server: http.Server) {
    this.#ceph = ceph;
    this.#server = server;
  }

  static async start(ceph: Ceph, { instead, status }: Meddling): Promise<S3Proxy> {
    const server = http.createServer((request, response) => {
      if (instead?.(request, response)) return;
      const { method, url, rawHeaders } = request;
      const onward = http.request({
        host: '127.0.0.1',
        port: ceph.port,
        method,
        path: url,
        headers: rawHeaders,
      });
      onward.on('response', (answer) => {
        if (response.destroyed) {
          answer.resume();
          return;
        }
        const given = answer.statusCode ?? 0;
        response.writeHead(status?.(request, given) ?? given, answer.rawHeaders);
        pipeline(answer, response, () => undefined /* either end may hang up */);
      });
      pipeline(request, onward, () => undefined);
      onward.on('error', () => response.destroy());
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new S3Proxy(ceph, server);
  }

  url(prefix: string): string {
    const { port } = this.#server.address() as AddressInfo;
    return `s3://${this.#ceph.bucket}/${prefix}?endpoint=http://127.0.0.1:${port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}
