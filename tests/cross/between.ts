import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Stands between a device and the service, at an address that stays: the line that breaks, and the one who meddles. */
export class Between {
  /** Where requests go; a restarted service has another port. */
  target: string;
  readonly requests: { method: string; path: string; bytes: number; answered: number }[] = [];
  /** Volumes that the service has taken. */
  stored = 0;
  /** Changes what a device sends. */
  outward: (path: string, body: Buffer) => Buffer = (_path, body) => body;
  /** Changes what it gets. */
  inward: (path: string, body: Buffer) => Buffer = (_path, body) => body;
  status: (path: string, status: number) => number = (_path, status) => status;
  #server: Server;
  #port = 0;

  private constructor(target: string) {
    this.target = target;
    this.#server = this.#make();
  }

  static async start(target: string): Promise<Between> {
    const between = new Between(target);
    await between.up();
    return between;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens; on the same port as before. */
  async up(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(this.#port, '127.0.0.1', resolve);
    });
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Breaks every connection and refuses new ones. */
  async down(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
    this.#server = this.#make();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.down();
  }

  /** How often volumes were sent, by number. */
  puts(): Map<number, number> {
    const counts = new Map<number, number>();
    for (const { method, path } of this.requests) {
      const number = method === 'PUT' ? Number(/\/chunk\/(\d+)$/.exec(path)?.[1]) : 0;
      if (number) counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return counts;
  }

  #make(): Server {
    return createServer((incoming, outgoing) => {
      this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { method = 'GET', url: path = '/' } = incoming;
    const sent = this.outward(path, Buffer.concat(await Array.fromAsync(incoming as AsyncIterable<Buffer>)));
    const noted = { method, path, bytes: sent.length, answered: 0 };
    this.requests.push(noted);
    const { 'transfer-encoding': _, ...headers } = { ...incoming.headers, host: new URL(this.target).host };
    const length = sent.length > 0 ? { 'content-length': String(sent.length) } : {};
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      const upstream = request(
        `${this.target}${path}`,
        { method, headers: { ...headers, ...length } },
        resolve,
      );
      upstream.on('error', reject);
      upstream.end(sent);
    });
    if (method === 'PUT' && /\/chunk\/\d+$/.test(path) && response.statusCode === 200) this.stored++;
    const body = this.inward(path, Buffer.concat(await Array.fromAsync(response as AsyncIterable<Buffer>)));
    noted.answered = body.length;
    const { 'content-length': _length, ...answered } = response.headers;
    const sized = method === 'HEAD' ? response.headers : { ...answered, 'content-length': body.length };
    outgoing.writeHead(this.status(path, response.statusCode ?? 502), sized);
    outgoing.end(body);
  }
}
