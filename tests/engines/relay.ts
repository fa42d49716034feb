import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A cable between a node and a store. Cut, it carries nothing and tells nobody: connections stay open, bytes vanish,
 * and new connections are taken but lead nowhere, which is what a dead network looks like from one end.
 */
export class Relay {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(target: number) {
    this.#server = createServer((near) => {
      this.#keep(near);
      if (this.#isCut) return;
      const far = connect(target, '127.0.0.1');
      this.#keep(far);
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        from.on('data', (bytes) => {
          if (!this.#isCut) to.write(bytes);
        });
        from.on('close', () => {
          if (!this.#isCut) to.destroy();
        });
      }
    });
  }

  static async open(target: number): Promise<Relay> {
    const relay = new Relay(target);
    relay.#server.listen(0, '127.0.0.1');
    await once(relay.#server, 'listening');
    return relay;
  }

  get port(): number {
    return (this.#server.address() as { port: number }).port;
  }

  cut(): void {
    this.#isCut = true;
  }

  /** New connections work again; those from before never will. */
  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
  }
}
