/**
 * Volumes over a WebSocket, beyond the specification. For browsers, where normal uploads are slow: a request body passes through three
 * processes in pieces of 16 KiB. The client sends the head of a PUT as a text message, then its body in binary messages; the server
 * answers with JSON in a text message. Each socket handles one PUT at a time.
 */
export const volumeSocket = {
  path: '/api/volumes',
  /** Sec-WebSocket-Protocol */
  protocol: 'szafa.volumes.1',
  /** The server reports progress after `tellBytes` bytes or `tellMs` milliseconds. */
  tellBytes: 1024 * 1024,
  tellMs: 200,
} as const;

/** A message from the server: the number of body bytes received so far, or the response to the PUT. */
export type SocketMessage = { taken: number } | { status: number; body: unknown };
