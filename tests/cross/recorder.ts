import { randomInt } from 'node:crypto';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pathOf } from '@szafa/protocol';

interface Recorded {
  method: string;
  path: string;
  /** As much of the body as came. */
  sent: Buffer;
}

const oneIn = (count: number) => randomInt(count) === 0;

/** Stands between a device and the service, and keeps whatever comes by, also of what breaks off. */
export class Recorder {
  readonly requests: Recorded[] = [];
  /** Refuses volumes and breaks off, now and then. */
  hostile = false;
  readonly #target: string;
  readonly #server: Server;
  #waiting: { events: number; act(): void }[] = [];

  private constructor(target: string) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => {
      this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async start(target: string): Promise<Recorder> {
    const recorder = new Recorder(target);
    await new Promise<void>((resolve) => recorder.#server.listen(0, '127.0.0.1', resolve));
    return recorder;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Acts at so many events from now: a request of a transfer begins, is whole, was answered by the service. */
  killAt(events: number, act: () => void): void {
    this.#waiting.push({ events, act });
  }

  forget(): void {
    this.#waiting = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #event(path: string): void {
    if (!path.startsWith('/api/transfer/')) return;
    for (const one of this.#waiting) if (one.events-- === 0) one.act();
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = incoming;
    const recorded: Recorded = { method, path, sent: Buffer.alloc(0) };
    this.requests.push(recorded);
    this.#event(path);
    for await (const part of incoming) recorded.sent = Buffer.concat([recorded.sent, part as Buffer]);
    this.#event(path);
    const isVolume = method === 'PUT' || path === pathOf('writeFiles');
    if (this.hostile && isVolume && oneIn(15)) {
      outgoing.writeHead(oneIn(2) ? 409 : 503, { 'content-type': 'application/json' });
      outgoing.end('{"error":"not now"}');
      return;
    }
    if (this.hostile && isVolume && oneIn(15)) throw new Error('cut on the way');
    const headers = { ...incoming.headers, host: new URL(this.#target).host };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const upstream = request(`${this.#target}${path}`, { method, headers }, resolve);
      upstream.on('error', reject);
      upstream.end(recorded.sent);
    });
    const body = Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>));
    this.#event(path);
    if (this.hostile && oneIn(15)) throw new Error('cut on the way back');
    const { 'transfer-encoding': _, ...answered } = response.headers;
    outgoing.writeHead(response.statusCode ?? 502, answered);
    outgoing.end(method === 'HEAD' ? undefined : body);
  }
}
