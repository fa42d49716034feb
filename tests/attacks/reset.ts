import type { Socket } from 'node:net';

/**
 * Resets the connection at once. `resetAndDestroy` would end the socket first, and wait for a peer that takes no more. A
 * reset that fails leaves Node a handle that it can never close, and so a process that never exits; it does while an end is
 * under way, and before the system knows the connection. So the field that it sets is set here, and only where neither is so.
 */
export function reset(socket: Socket): void {
  const ending = socket.writableEnded && !socket.writableFinished;
  if (!socket.connecting && !ending) Object.assign(socket, { resetAndClosing: true });
  socket.destroy();
}
