/**
 * Beyond the specification: volumes over a WebSocket, for browsers, which send a request body in pieces of 16 KiB through three
 * processes. A text message is the head of a PUT, exactly as in a request; the binary messages that follow are its body; a text message
 * of JSON is the response to the PUT. One PUT at a time on each socket.
 */
export const volumeSocket = {
  path: '/api/volumes',
  /** Sec-WebSocket-Protocol */
  protocol: 'szafa.volumes.1',
  /** The server reports progress after this many bytes or milliseconds. */
  tellBytes: 1024 * 1024,
  tellMs: 200,
} as const;

/** From the server: how many bytes of the body it has received, or its response to the PUT. */
export type SocketMessage = { taken: number } | { status: number; body: unknown };
