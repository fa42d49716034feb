import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import type { Service, User } from '../harness/index.ts';

/** A client on a plain socket that sends and reads only as it is told; it never asks to close. */
export class SlowClient {
  readonly socket: net.Socket;
  #received: Buffer[] = [];
  #bytes = 0;
  closed = false;

  private constructor(socket: net.Socket) {
    this.socket = socket;
    socket.on('close', () => {
      this.closed = true;
    });
    // A reset shows as `closed`.
    socket.on('error', () => undefined);
  }

  static async connect(service: Service): Promise<SlowClient> {
    const { hostname, port } = new URL(service.url);
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    const client = new SlowClient(socket);
    await once(socket, 'connect');
    return client;
  }

  /** Sends the head of a PUT and the first bytes of its body. */
  static async put(
    user: User,
    transferId: string,
    idx: number,
    length: number,
    first: Uint8Array,
  ): Promise<SlowClient> {
    const client = await SlowClient.connect(user.service);
    const path = pathOf('writeVolume', { transfer_id: transferId, idx });
    client.head('PUT', path, user.token, { 'Content-Length': String(length) });
    await client.send(first);
    return client;
  }

  static async get(user: User, fileId: string, idx: number): Promise<SlowClient> {
    const client = await SlowClient.connect(user.service);
    client.head('GET', pathOf('readVolume', { file_id: fileId, idx }), user.token);
    return client;
  }

  head(method: string, path: string, token: string, headers: Record<string, string> = {}): void {
    const all = Object.entries({ Host: 'szafa', Authorization: `Bearer ${token}`, ...headers });
    const lines = all.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.socket.write(`${method} ${path} HTTP/1.1\r\n${lines}\r\n`);
  }

  /** Resolves when the system has taken the bytes. */
  send(bytes: Uint8Array): Promise<void> {
    return new Promise((resolve, reject) => {
      this.socket.write(bytes, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Reads from now on. */
  read(): void {
    if (this.socket.listenerCount('data') > 0) return;
    this.socket.on('data', (part: Buffer) => {
      this.#received.push(part);
      this.#bytes += part.length;
    });
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Reads until there is a whole response, with as many bytes as it announces, or the connection ends. */
  async answer(timeoutMs = 60_000): Promise<{ status: number; body: Buffer }> {
    this.read();
    for (const end = Date.now() + timeoutMs; Date.now() < end; await sleep(10)) {
      const all = Buffer.concat(this.#received);
      this.#received = [all];
      const headEnd = all.indexOf('\r\n\r\n');
      if (headEnd >= 0) {
        const head = all.toString('latin1', 0, headEnd);
        const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? 0);
        const body = all.subarray(headEnd + 4);
        if (body.length >= length || this.closed) return { status: Number(head.slice(9, 12)), body };
      }
      if (this.closed) break;
    }
    return { status: 0, body: Buffer.alloc(0) };
  }

  destroy(): void {
    this.socket.destroy();
  }
}
