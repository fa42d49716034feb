import http from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import type { MadeFile } from './upload.ts';

export interface PullRequest {
  transferId: string;
  idx: number;
  token: string | null;
  /** The URL as received. */
  url: string;
  headers: http.IncomingHttpHeaders;
}

export interface PullServerOptions {
  host?: string;
  /** PEM text with key and certificate, for a TLS server. */
  tls?: string;
  /** Answers a request itself and returns true, or returns false to send the volume. */
  answer?: (request: PullRequest, response: http.ServerResponse) => boolean | Promise<boolean>;
}

/** The temporary server of a client, from which the service pulls volumes. */
export class PullServer {
  readonly requests: PullRequest[] = [];
  readonly #server: http.Server;
  readonly #host: string;
  readonly #scheme: 'http' | 'https';

  constructor(file: MadeFile, options: PullServerOptions = {}) {
    this.#host = options.host ?? '127.0.0.1';
    this.#scheme = options.tls === undefined ? 'http' : 'https';
    const listener: http.RequestListener = (request, response) => {
      const url = new URL(request.url ?? '/', 'http://client');
      const [, , transferId = '', idx = ''] = url.pathname.split('/');
      const { headers } = request;
      const token = url.searchParams.get('token');
      const pull = { transferId, idx: Number(idx), token, url: request.url ?? '', headers };
      this.requests.push(pull);
      Promise.resolve(options.answer?.(pull, response) ?? false).then(
        (answered) => {
          if (!answered) sendVolume(file.volumes[pull.idx - 1], request, response);
        },
        (error: Error) => response.destroy(error),
      );
    };
    const { tls } = options;
    this.#server = tls ? https.createServer({ key: tls, cert: tls }, listener) : http.createServer(listener);
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, this.#host, resolve);
    });
    return this;
  }

  get url(): string {
    return `${this.#scheme}://${this.#host}:${(this.#server.address() as AddressInfo).port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Sends a volume or a single range of it: a downloader with several connections requests ranges. */
function sendVolume(
  bytes: Buffer | undefined,
  request: http.IncomingMessage,
  response: http.ServerResponse,
): void {
  if (!bytes) {
    response.writeHead(404).end();
    return;
  }
  const range = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '');
  const start = Number(range?.[1] ?? 0);
  const end = range?.[2] ? Math.min(Number(range[2]), bytes.length - 1) : bytes.length - 1;
  const part = bytes.subarray(start, end + 1);
  const headers: http.OutgoingHttpHeaders = { 'content-length': part.length, 'accept-ranges': 'bytes' };
  if (range) headers['content-range'] = `bytes ${start}-${end}/${bytes.length}`;
  response.writeHead(range ? 206 : 200, headers).end(part);
}
