/**
 * Volumes over WebSockets: the PUTs of the fast lane, framed as in `protocol/src/transfers/volume-socket.ts`. A browser needs
 * a third less CPU for this than for request bodies.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type SocketMessage, volumeSocket, writeHead } from '@szafa/protocol';
import { DRAIN_BYTES, endWithin, MOST_UNREAD_BYTES } from '../platform/http/connection.ts';
import type { Answer } from '../platform/http/errors.ts';
import { newRequestId, REQUEST_ID, type RequestIds } from '../platform/http/request-log.ts';
import { Disconnected } from '../platform/volumes/body.ts';
import type { VolumeHandler } from '../transfers/put.ts';
import { HEAD_BYTES, parseVolumeHead, type VolumeHead } from './head.ts';
import { Intake, type OnBytes } from './intake.ts';
import { SocketPut } from './socket-put.ts';
import { acceptOf, BadFrame, type Frame, FrameHeads, frameOf, OPCODES, unmask } from './websocket.ts';

const READ_BYTES = 64 * 1024;
/** Close codes 1001 and 1002. */
const GOING_AWAY = Buffer.from([0x03, 0xe9]);
const PROTOCOL_ERROR = Buffer.from([0x03, 0xea]);

/** Accepts only upgrades to the volume protocol; any other is answered as a plain request. */
export function isVolumeSocket({ method, url, headers }: IncomingMessage): boolean {
  const offered = headers['sec-websocket-protocol']?.split(',').map((one) => one.trim());
  return (
    method === 'GET' &&
    url === volumeSocket.path &&
    headers.upgrade?.toLowerCase() === 'websocket' &&
    headers['sec-websocket-version'] === '13' &&
    /^[A-Za-z0-9+/]{22}==$/.test(headers['sec-websocket-key'] ?? '') &&
    offered?.includes(volumeSocket.protocol) === true
  );
}

/** Handles the server's upgrades. `takesOver`: reads connections with an intake where possible. */
export function acceptVolumeSockets(
  server: Server,
  handle: VolumeHandler,
  idleMs: number,
  takesOver: boolean,
  idOf: RequestIds = newRequestId,
): { close(): void } {
  const sockets = new Set<VolumeSocket>();
  let closing = false;
  server.on('upgrade', (request: IncomingMessage, socket: HttpSocket, early: Buffer) => {
    // Node has removed its own listener.
    socket.on('error', () => socket.destroy());
    // Must wait until the current read has returned, because its return value would stop the new reader.
    setImmediate(() => {
      // An earlier unanswered request on this connection would never be answered.
      if (closing || socket.destroyed || socket._httpMessage) {
        socket.destroy();
        return;
      }
      const { readableLength } = socket;
      // Later bytes are buffered in the socket, which is about to lose its readers.
      const waiting: Buffer[] = readableLength > 0 ? [socket.read(readableLength)] : [];
      const first = Buffer.concat([early, ...waiting]);
      const open = (onBytes: OnBytes) =>
        (takesOver && openIntake(socket, onBytes)) || readWithNode(socket, onBytes);
      const id = idOf(request.headers[REQUEST_ID], socket.remoteAddress);
      const added = new VolumeSocket(request, id, open, handle, idleMs);
      sockets.add(added);
      added.socket.once('close', () => sockets.delete(added));
      if (added.take(first)) added.socket.resume();
    });
  });
  return {
    /** Closes idle sockets now and the others after their current answer. */
    close() {
      closing = true;
      for (const socket of sockets) socket.endWhenIdle();
    },
  };
}

/** Undocumented property of a socket of Node's HTTP server. */
interface HttpSocket extends Socket {
  /** The unfinished answer. */
  _httpMessage?: object | null;
}

/**
 * Reads all pieces into the same memory: allocating memory for each would cost the server more than WebSockets save the
 * browser. Not possible with TLS, or while answers wait to be sent.
 */
function openIntake(socket: Socket, onBytes: OnBytes): Socket | undefined {
  const found = Intake.of(socket);
  if (found) {
    found.onBytes = onBytes;
    return readWithNode(socket);
  }
  if (socket instanceof TLSSocket || socket.writableLength > 0) return undefined;
  return Intake.takeOver(socket, onBytes, READ_BYTES).socket;
}

/** Reads the socket through Node. */
function readWithNode(socket: Socket, onBytes?: OnBytes): Socket {
  socket.removeAllListeners('timeout');
  // Paused so that the bytes that arrived with the request are handled first.
  socket.pause();
  if (onBytes)
    socket.on('data', (bytes: Buffer) => {
      if (!onBytes(bytes)) socket.pause();
    });
  return socket;
}

interface PieceRead {
  used: number;
  wait?: Promise<void> | undefined;
}

class VolumeSocket {
  readonly socket: Socket;
  readonly #idleMs: number;
  readonly #answer: (head: VolumeHead, put: SocketPut) => Promise<Answer>;
  readonly #heads = new FrameHeads();
  #frame: Frame | undefined;
  /** Bytes of the frame read so far. */
  #position = 0;
  /** The opcode of the current message. */
  #message: number | undefined;
  #text: Buffer[] = [];
  #textBytes = 0;
  #control: Buffer[] = [];
  #put: SocketPut | undefined;
  #sinkIsFull = false;
  #unwanted = 0;
  #ending = false;

  constructor(
    request: IncomingMessage,
    id: string,
    open: (onBytes: OnBytes) => Socket,
    handle: VolumeHandler,
    idleMs: number,
  ) {
    const socket = open((bytes) => this.take(bytes));
    this.socket = socket;
    this.#idleMs = idleMs;
    // Proxies add their headers to the upgrade request only.
    const forwardedFor = request.headers['x-forwarded-for']?.toString();
    const begin = () => undefined;
    let count = 0;
    this.#answer = (head, put) =>
      handle({ ...head, forwardedFor }, put, begin, socket.remoteAddress ?? '', `${id}.${++count}`);
    socket.setTimeout(idleMs);
    socket.on('timeout', () => {
      const working = this.#sinkIsFull || this.#put?.remaining === 0;
      if (working) socket.setTimeout(idleMs);
      else socket.destroy();
    });
    socket.setNoDelay(true);
    const drop = () => socket.destroy();
    socket.on('error', drop).on('end', drop);
    socket.on('close', () => this.#put?.fail(new Disconnected('the client disconnected')));
    socket.write(
      writeHead('HTTP/1.1 101 Switching Protocols', {
        Upgrade: 'websocket',
        Connection: 'Upgrade',
        'Sec-WebSocket-Accept': acceptOf(request.headers['sec-websocket-key']!),
        'Sec-WebSocket-Protocol': volumeSocket.protocol,
        'X-Request-Id': id,
      }),
    );
  }

  endWhenIdle(): void {
    this.#ending = true;
    if (!this.#put) this.#end(GOING_AWAY);
  }

  /** Returns false if the bytes are still in use; the socket resumes later. */
  take(bytes: Buffer): boolean {
    if (!this.socket.writable) this.#discard(bytes.length);
    const wait = this.#read(bytes);
    if (!wait) return true;
    this.#sinkIsFull = true;
    wait.then(() => {
      this.#sinkIsFull = false;
      this.socket.resume();
    });
    return false;
  }

  /** Returns a promise if reading has to wait; the promise never rejects. */
  #read(bytes: Buffer): Promise<void> | undefined {
    try {
      for (let at = 0; at < bytes.length && this.socket.writable; ) {
        if (!this.#frame) {
          const { used, frame } = this.#heads.read(bytes.subarray(at));
          at += used;
          if (frame) this.#begin(frame);
          continue;
        }
        const piece = bytes.subarray(at, at + this.#frame.length - this.#position);
        const { used, wait } = this.#readPiece(this.#frame, piece);
        at += used;
        this.#position += used;
        if (this.#position === this.#frame.length) this.#endFrame(this.#frame);
        if (wait) return wait.then(() => this.#read(bytes.subarray(at)));
      }
    } catch (error) {
      if (!(error instanceof BadFrame)) throw error;
      this.#end(PROTOCOL_ERROR);
    }
    return undefined;
  }

  #begin(frame: Frame): void {
    const { opcode } = frame;
    if (opcode === OPCODES.text || opcode === OPCODES.binary) {
      if (this.#message !== undefined) throw new BadFrame('a message inside another');
      this.#message = opcode;
    } else if (opcode === OPCODES.continuation) {
      if (this.#message === undefined) throw new BadFrame('a continuation of nothing');
    } else if (opcode !== OPCODES.close && opcode !== OPCODES.ping && opcode !== OPCODES.pong) {
      throw new BadFrame(`a frame of kind ${opcode}`);
    }
    this.#frame = frame;
    this.#position = 0;
    if (frame.length === 0) this.#endFrame(frame);
  }

  #readPiece(frame: Frame, piece: Buffer): PieceRead {
    const isControl = frame.opcode >= OPCODES.close;
    if (!isControl && this.#message === OPCODES.binary) return this.#readBody(frame, piece);
    const plain = Buffer.allocUnsafe(piece.length);
    unmask(piece, plain, frame.mask, this.#position);
    if (isControl) {
      this.#control.push(plain);
    } else {
      this.#textBytes += plain.length;
      if (this.#textBytes > HEAD_BYTES) throw new BadFrame('a long text');
      this.#text.push(plain);
    }
    return { used: piece.length };
  }

  #readBody({ mask }: Frame, piece: Buffer): PieceRead {
    const put = this.#put;
    if (put && !put.sink && !put.isOver) return { used: 0, wait: put.wanted.promise };
    if (!put?.sink) {
      this.#discard(piece.length);
      return { used: piece.length };
    }
    if (piece.length > put.remaining) throw new BadFrame('more bytes than Content-Length says');
    let used = 0;
    try {
      while (used < piece.length) {
        const target = put.sink.target();
        const part = piece.subarray(used, used + target.length);
        unmask(part, target, mask, this.#position + used);
        used += part.length;
        put.remaining -= part.length;
        const wait = put.sink.advance(part.length);
        this.#reportProgress(put, part.length);
        if (put.remaining === 0) put.end(wait);
        else if (wait) return { used, wait: wait.catch((error: unknown) => put.fail(error)) };
      }
    } catch (error) {
      put.fail(error);
      return { used: piece.length };
    }
    return { used };
  }

  #discard(bytes: number): void {
    this.#unwanted += bytes;
    if (this.#unwanted > DRAIN_BYTES) this.socket.destroy();
  }

  #reportProgress(put: SocketPut, bytes: number): void {
    put.taken += bytes;
    const now = performance.now();
    if (put.taken - put.reported < volumeSocket.tellBytes && now - put.reportedAt < volumeSocket.tellMs)
      return;
    put.reported = put.taken;
    put.reportedAt = now;
    this.#send({ taken: put.taken });
  }

  #endFrame({ opcode, final }: Frame): void {
    this.#frame = undefined;
    if (opcode >= OPCODES.close) {
      const payload = Buffer.concat(this.#control.splice(0));
      if (opcode === OPCODES.ping) this.#write(frameOf(OPCODES.pong, payload));
      if (opcode === OPCODES.close) this.#end(payload.subarray(0, 2));
      return;
    }
    if (!final) return;
    const isText = this.#message === OPCODES.text;
    this.#message = undefined;
    if (!isText) return;
    const text = Buffer.concat(this.#text.splice(0)).toString('latin1');
    this.#textBytes = 0;
    this.#serve(text);
  }

  #serve(text: string): void {
    const head = parseVolumeHead(text);
    if (!head || this.#put) throw new BadFrame(head ? 'a PUT before the last one was answered' : 'not a PUT');
    const put = new SocketPut(head.length);
    this.#put = put;
    this.#unwanted = 0;
    this.#answer(head, put).then(({ status, body }) => {
      this.#put = undefined;
      put.end();
      this.#send({ status, body });
      if (this.#ending) this.#end(GOING_AWAY);
    });
  }

  #send(message: SocketMessage): void {
    this.#write(frameOf(OPCODES.text, Buffer.from(JSON.stringify(message))));
  }

  #write(frame: Buffer): void {
    if (this.socket.writable) this.socket.write(frame);
    if (this.socket.writableLength > MOST_UNREAD_BYTES) this.socket.destroy();
  }

  #end(reason: Buffer): void {
    if (!this.socket.writable) return;
    endWithin(this.socket, this.#idleMs, frameOf(OPCODES.close, reason));
    this.socket.destroySoon();
  }
}
