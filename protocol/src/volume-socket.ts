/**
 * Beyond the specification: volumes along a WebSocket, for browsers, which send the body of a request in pieces of
 * 16 KiB through three processes. A text message is the head of a PUT of a volume, word for word as it would stand in a
 * request; binary messages after it are its body; a text message of JSON answers, as the PUT would have been answered. One PUT
 * at a time on each socket.
 */
export const volumeSocket = {
  path: '/api/volumes',
  /** Sec-WebSocket-Protocol */
  protocol: 'szafa.volumes.1',
  /** The service says how much it has taken whenever it was so much more, or so long since it did. */
  tellBytes: 1024 * 1024,
  tellMs: 200,
} as const;

/** What the service says: how many bytes of the body it has taken, or its answer to the PUT. */
export type SocketMessage = { taken: number } | { status: number; body: unknown };
