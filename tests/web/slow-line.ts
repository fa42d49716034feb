import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { TestContext } from 'node:test';

/** A line to a service that can be made slow, and that stays where it is when the service moves. */
export class SlowLine {
  bytesPerSecond = Number.POSITIVE_INFINITY;
  /** Requests with this in them do not get through. */
  refused: string | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: () => string) {
    this.#server = createServer((near) => this.#join(near, target));
  }

  static async start(t: TestContext, target: () => string): Promise<SlowLine> {
    const line = new SlowLine(target);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    t.after(() => line.#stop());
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  #join(near: Socket, target: () => string): void {
    let port: number;
    try {
      port = Number(new URL(target()).port);
    } catch {
      near.destroy(); // the service does not run
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(socket);
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.#sockets.delete(socket);
        other.destroy();
      });
    }
    far.pipe(near);
    near.on('data', (bytes) => {
      if (this.refused !== undefined && bytes.includes(this.refused)) near.destroy();
      const wait = (bytes.length * 1000) / this.bytesPerSecond;
      far.write(bytes);
      if (wait < 1) return;
      near.pause();
      setTimeout(() => near.resume(), wait);
    });
  }

  #stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}
