/** The fast lane in this process, where its memory can be looked at, and clients that keep to no rule. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { openVolumeLanes } from '../../server/src/fastlane/lane.ts';
import type { VolumeHandler } from '../../server/src/transfers/put.ts';

export const NO = { status: 409, body: { error: 'no' } };
export const OK = { status: 200, body: { ok: true } };

/** Waits for what must come; fails with these words when it does not. */
export async function soon(what: string, holds: () => boolean, ms = 60_000): Promise<void> {
  for (const end = Date.now() + ms; !holds(); await sleep(2)) assert.ok(Date.now() < end, `not so: ${what}`);
}

/** Whatever is not for the lane is answered 200 `general`. */
export async function withLane(
  handle: VolumeHandler,
  work: (port: number, server: Server) => Promise<void>,
  idleMs = 60_000,
): Promise<void> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () => response.end('general'));
  });
  const lanes = openVolumeLanes(server, handle, idleMs);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    await work((server.address() as AddressInfo).port, server);
  } finally {
    // Also after a failure: what is still open would keep the process alive.
    for (const { socket } of attackers) socket.destroy();
    attackers.clear();
    lanes.close();
    server.close();
    server.closeAllConnections();
  }
}

const attackers = new Set<Attacker>();

export class Attacker {
  readonly socket: Socket;
  text = '';
  closed = false;

  constructor(port: number) {
    // What the server says about the end of the connection must not end our side of it.
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    this.socket.on('data', (bytes) => {
      this.text += bytes.toString('latin1');
    });
    this.socket.on('error', () => undefined /* cut off, as it should be */);
    this.socket.on('close', () => {
      this.closed = true;
      attackers.delete(this);
    });
    attackers.add(this);
  }

  write(bytes: string | Uint8Array): void {
    if (!this.socket.destroyed) this.socket.write(bytes);
  }

  /** True once the system has taken them, false when the connection has ended. */
  async push(bytes: Uint8Array): Promise<boolean> {
    if (this.socket.destroyed) return false;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.socket.write(bytes, (error) => resolve(!error));
    return await promise;
  }

  count(status: number): number {
    return this.text.split(`HTTP/1.1 ${status} `).length - 1;
  }
}

export function headOf(length: number, ...headers: string[]): string {
  const lines = [
    'PUT /api/transfer/abc/chunk/1 HTTP/1.1',
    'Host: x',
    `Content-Length: ${length}`,
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}
