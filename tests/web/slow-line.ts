import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** A line to a service that can be made slow, cut and listened to, and that stays where it is when the service moves. */
export class SlowLine {
  /** Each way, on each connection. */
  bytesPerSecond = Number.POSITIVE_INFINITY;
  /** Requests with this in them do not get through. */
  refused: string | undefined;
  /** Bytes that went to the service. */
  carried = 0;
  /** Bytes that came from it. */
  brought = 0;
  /** They themselves, once somebody wants them. */
  heard: Buffer[] | undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #cut = false;

  private constructor(target: () => string) {
    this.#server = createServer((near) => this.#join(near, target));
  }

  static async start(t: { after(end: () => void): void }, target: () => string): Promise<SlowLine> {
    const line = new SlowLine(target);
    line.#server.listen(0, '127.0.0.1');
    await once(line.#server, 'listening');
    t.after(() => line.#stop());
    return line;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  cut(): void {
    this.#cut = true;
    this.#hangUp();
  }

  mend(): void {
    this.#cut = false;
  }

  #join(near: Socket, target: () => string): void {
    let port: number;
    try {
      port = Number(new URL(target()).port);
    } catch {
      near.destroy(); // the service does not run
      return;
    }
    if (this.#cut) {
      near.destroy();
      return;
    }
    const far = connect(port, '127.0.0.1');
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.#sockets.add(from);
      from.on('error', () => to.destroy());
      from.on('end', () => to.end());
      from.on('close', () => {
        this.#sockets.delete(from);
        to.destroy();
      });
      from.on('data', (bytes: Buffer) => {
        if (from === near) this.#listen(near, bytes);
        else this.brought += bytes.length;
        const wait = (bytes.length * 1000) / this.bytesPerSecond;
        from.pause();
        to.write(bytes, () => {
          if (wait < 1) from.resume();
          else setTimeout(() => from.resume(), wait);
        });
      });
    }
  }

  #listen(near: Socket, bytes: Buffer): void {
    if (this.refused !== undefined && bytes.includes(this.refused)) near.destroy();
    this.carried += bytes.length;
    this.heard?.push(bytes);
  }

  #hangUp(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #stop(): void {
    this.#server.close();
    this.#hangUp();
  }
}
