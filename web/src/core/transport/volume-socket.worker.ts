/** The browser's side of the protocol in `protocol/src/transfers/volume-socket.ts`. */
import { NetworkError, type TransportRequest, type TransportResponse } from '@szafa/client';
import { type SocketMessage, volumeSocket } from '@szafa/protocol';

const PIECE_BYTES = 256 * 1024;
/** Maximum number of bytes sent but not yet acknowledged: enough to keep the connection busy. */
const AHEAD_BYTES = 3 * volumeSocket.tellBytes;
const OPEN_MS = 5_000;
/** A proxy may block WebSockets. Opening one is tried again after this time. */
const REFUSED_MS = 60_000;

/** The page's sockets to the server. Each carries one volume at a time. */
export class VolumeSockets {
  readonly #idle: VolumeSocket[] = [];
  #refusedUntil = 0;

  get refused(): boolean {
    return performance.now() < this.#refusedUntil;
  }

  /** Returns undefined if no socket can be opened: the volume must then be sent as an HTTP request. */
  async send(
    request: TransportRequest,
    bytes: Uint8Array<ArrayBuffer>,
  ): Promise<TransportResponse | undefined> {
    const socket = this.#idle.pop() ?? (await this.#open(request));
    if (!socket) return undefined;
    const response = await socket.put(request, bytes);
    this.#idle.push(socket);
    return response;
  }

  async #open({ url, signal }: TransportRequest): Promise<VolumeSocket | undefined> {
    if (this.refused) return undefined;
    const address = new URL(volumeSocket.path, url);
    address.protocol = address.protocol === 'https:' ? 'wss:' : 'ws:';
    const opened = await VolumeSocket.open(address, (socket) => {
      const at = this.#idle.indexOf(socket);
      if (at >= 0) this.#idle.splice(at, 1);
    });
    signal?.throwIfAborted();
    if (!opened) this.#refusedUntil = performance.now() + REFUSED_MS;
    return opened;
  }
}

class VolumeSocket {
  readonly #socket: WebSocket;
  #onMessage: (message: SocketMessage) => void = () => {};
  #onClosed = () => {};

  private constructor(socket: WebSocket, onClosed: (socket: VolumeSocket) => void) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.#onMessage(JSON.parse(data));
    socket.onclose = () => {
      onClosed(this);
      this.#onClosed();
    };
  }

  static open(address: URL, onClosed: (socket: VolumeSocket) => void): Promise<VolumeSocket | undefined> {
    return new Promise((resolve) => {
      const socket = new WebSocket(address, volumeSocket.protocol);
      const late = setTimeout(() => socket.close(), OPEN_MS);
      socket.onclose = () => {
        clearTimeout(late);
        resolve(undefined);
      };
      socket.onopen = () => {
        clearTimeout(late);
        resolve(new VolumeSocket(socket, onClosed));
      };
    });
  }

  async put(request: TransportRequest, bytes: Uint8Array<ArrayBuffer>): Promise<TransportResponse> {
    const { signal, timeoutMs, onBytes } = request;
    const stopped = Promise.withResolvers<never>();
    const abort = () => stopped.reject(signal!.reason);
    const late = setTimeout(
      () => stopped.reject(new NetworkError('the server did not answer in time')),
      timeoutMs,
    );
    this.#onClosed = () => stopped.reject(new NetworkError('the server cannot be reached'));
    signal?.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([this.#exchange(request, bytes, onBytes), stopped.promise]);
    } catch (error) {
      this.#socket.close();
      throw error;
    } finally {
      clearTimeout(late);
      signal?.removeEventListener('abort', abort);
      this.#onMessage = () => {};
      this.#onClosed = () => {};
    }
  }

  #exchange(
    { method, url, headers }: TransportRequest,
    bytes: Uint8Array<ArrayBuffer>,
    onBytes: TransportRequest['onBytes'],
  ): Promise<TransportResponse> {
    const { host, pathname } = new URL(url);
    const fields = { ...headers, host, 'content-length': String(bytes.length) };
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}`);
    this.#socket.send([`${method} ${pathname} HTTP/1.1`, ...lines].join('\r\n'));
    let sent = 0;
    let taken = 0;
    const tell = (now: number) => {
      onBytes?.(now - taken);
      taken = now;
    };
    const pump = () => {
      while (sent < bytes.length && sent - taken < AHEAD_BYTES) {
        const piece = bytes.subarray(sent, sent + PIECE_BYTES);
        this.#socket.send(piece);
        sent += piece.length;
      }
    };
    return new Promise((resolve, reject) => {
      this.#onMessage = (message) => {
        try {
          if ('taken' in message) {
            tell(message.taken);
            pump();
            return;
          }
          const { status, body } = message;
          if (status < 300) tell(bytes.length);
          resolve({
            status,
            header: () => undefined,
            body: new TextEncoder().encode(JSON.stringify(body)),
          });
        } catch (error) {
          reject(error);
        }
      };
      pump();
    });
  }
}
