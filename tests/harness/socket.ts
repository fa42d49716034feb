import assert from 'node:assert/strict';
import { type SocketMessage, volumeSocket } from '@szafa/protocol';
import { eventually } from './invariants.ts';
import type { Service } from './service.ts';

/** A WebSocket client for volumes, like that of the web app. */
export class SocketClient {
  readonly messages: SocketMessage[] = [];
  closed: number | undefined;
  readonly #socket: WebSocket;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.onmessage = ({ data }) => this.messages.push(JSON.parse(String(data)));
    socket.onclose = ({ code }) => {
      this.closed = code;
    };
  }

  static async open({ url }: Service): Promise<SocketClient> {
    const socket = new WebSocket(url.replace(/^http/, 'ws') + volumeSocket.path, volumeSocket.protocol);
    await new Promise((resolve, reject) => {
      socket.onopen = resolve;
      socket.onerror = reject;
    });
    return new SocketClient(socket);
  }

  send(message: string | Uint8Array): void {
    this.#socket.send(message as Uint8Array<ArrayBuffer>);
  }

  async put(head: string, bytes: Uint8Array, piece = 100_000): Promise<{ status: number; body: unknown }> {
    const before = this.messages.length;
    this.send(head);
    for (let at = 0; at < bytes.length; at += piece) this.send(bytes.subarray(at, at + piece));
    const answer = () => this.messages.slice(before).find((message) => 'status' in message);
    await eventually(async () => assert.ok(answer() || this.closed !== undefined));
    return answer()!;
  }

  close(): void {
    this.#socket.close();
  }
}

/** Formats the head of a PUT over a socket. */
export function headOf(path: string, length: number, token: string | undefined, more: string[] = []): string {
  const auth = token === undefined ? [] : [`Authorization: Bearer ${token}`];
  return [`PUT ${path} HTTP/1.1`, 'Host: x', `Content-Length: ${length}`, ...auth, ...more].join('\r\n');
}
