import type { Socket } from 'node:net';

/**
 * Resets the connection at once. `resetAndDestroy` would end the socket first, and wait for a peer that takes no more; and
 * while an end is under way Node can neither reset the handle nor ever close it again, so that the process never exits. So
 * the field that it sets is set here, and only where no end is under way.
 */
export function reset(socket: Socket): void {
  if (!socket.writableEnded || socket.writableFinished) Object.assign(socket, { resetAndClosing: true });
  socket.destroy();
}
