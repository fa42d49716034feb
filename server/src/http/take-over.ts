import type { Server } from 'node:http';
import { Socket } from 'node:net';

/** The parts of a socket that Node does not document; the pinned version has them, and a test holds it to that. */
interface Handle {
  readStop(): void;
  useUserBuffer?: unknown;
}
export interface OpenSocket extends Socket {
  _handle: Handle | null;
  _server: Server | null;
  server: Server | null;
  /** The answer of Node's server that is under way. */
  _httpMessage?: object | null;
}

/** Makes the socket object that reads the connection from now on. */
export type SocketMaker = (options: object) => Socket;

/** Takes the connection out of a socket object, for another one to read it in another way. */
export function takeOver(from: OpenSocket, server: Server): SocketMaker {
  const handle = from._handle!;
  handle.readStop();
  from._handle = null;
  // The server counts its connections by this; the new object is the one that counts.
  from._server = null;
  from.setTimeout(0);
  from.removeAllListeners();
  return (options) => {
    const socket = new Socket({ handle, allowHalfOpen: true, ...options } as object) as OpenSocket;
    socket.server = server;
    socket._server = server;
    return socket;
  };
}
