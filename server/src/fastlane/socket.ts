/**
 * Volumes along WebSockets: the PUTs of the fast lane, wrapped as `protocol/src/volume-socket.ts` says. A browser sends a gigabyte
 * this way with two thirds of the work that the bodies of requests cost it.
 */
import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { type SocketMessage, volumeSocket, writeHead } from '@szafa/protocol';
import { DRAIN_BYTES, endWithin, MOST_UNREAD_BYTES } from '../platform/http/connection.ts';
import { newRequestId, REQUEST_ID, type RequestIds } from '../platform/http/request-log.ts';
import { Disconnected } from '../platform/volumes/body.ts';
import type { VolumeHandler } from '../transfers/put.ts';
import { HEAD_BYTES, parseVolumeHead } from './head.ts';
import { Intake, type OnBytes } from './intake.ts';
import { SocketPut } from './socket-put.ts';
import { acceptOf, BadFrame, type Frame, FrameHeads, frameOf, OPCODES, unmask } from './websocket.ts';

const READ_BYTES = 64 * 1024;
/** Codes 1001 and 1002. */
const GOING_AWAY = Buffer.from([0x03, 0xe9]);
const PROTOCOL_ERROR = Buffer.from([0x03, 0xea]);

/** Whatever else asks to become something else is answered as a plain request. */
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

export class VolumeSockets {
  readonly #sockets = new Set<VolumeSocket>();
  #closing = false;

  /** `takesOver`: connections are taken out of Node's hands, where they can be. */
  constructor(
    server: Server,
    handle: VolumeHandler,
    idleMs: number,
    takesOver: boolean,
    idOf: RequestIds = newRequestId,
  ) {
    server.on('upgrade', (request: IncomingMessage, socket: HttpSocket, early: Buffer) => {
      // Node listens no more.
      socket.on('error', () => socket.destroy());
      // Only after the read that brought this has ended completely: its end would stop the new reader.
      setImmediate(() => {
        // An earlier request that is not answered would never be, nor know that nobody waits for it.
        if (this.#closing || socket.destroyed || socket._httpMessage) {
          socket.destroy();
          return;
        }
        const { readableLength } = socket;
        // What came since then waits in the socket, whose own readers are about to go.
        const waiting: Buffer[] = readableLength > 0 ? [socket.read(readableLength)] : [];
        const first = Buffer.concat([early, ...waiting]);
        const open = (onBytes: OnBytes) =>
          (takesOver && opened(socket, onBytes)) || listening(socket, onBytes);
        const id = idOf(request.headers[REQUEST_ID], socket.remoteAddress);
        const added = new VolumeSocket(request, id, open, handle, idleMs);
        this.#sockets.add(added);
        added.socket.once('close', () => this.#sockets.delete(added));
        if (added.take(first)) added.socket.resume();
      });
    });
  }

  /** Idle ones end now, the others after their answer. */
  close(): void {
    this.#closing = true;
    for (const socket of this.#sockets) socket.endWhenIdle();
  }
}

/** A socket of Node's HTTP server, which does not document this. */
interface HttpSocket extends Socket {
  /** The answer that is under way. */
  _httpMessage?: object | null;
}

/**
 * New memory for every piece would cost the service more than the socket spares the browser, so all are read into the same. Not
 * what TLS decrypts, nor where answers wait to be sent.
 */
function opened(socket: Socket, onBytes: OnBytes): Socket | undefined {
  const found = Intake.of(socket);
  if (found) {
    found.onBytes = onBytes;
    return listening(socket);
  }
  if (socket instanceof TLSSocket || socket.writableLength > 0) return undefined;
  return Intake.takeOver(socket, onBytes, READ_BYTES).socket;
}

/** The socket as Node left it, for whoever gets its bytes now. */
function listening(socket: Socket, onBytes?: OnBytes): Socket {
  socket.removeAllListeners('timeout');
  // Not before what came along with the request has been read.
  socket.pause();
  if (onBytes)
    socket.on('data', (bytes: Buffer) => {
      if (!onBytes(bytes)) socket.pause();
    });
  return socket;
}

class VolumeSocket {
  readonly socket: Socket;
  readonly #handle: VolumeHandler;
  readonly #idleMs: number;
  readonly #forwardedFor: string | undefined;
  readonly #id: string;
  /** PUTs so far. */
  #count = 0;
  readonly #heads = new FrameHeads();
  #frame: Frame | undefined;
  /** How much of the frame has been read. */
  #position = 0;
  /** What the message is whose frames come in. */
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
    this.#handle = handle;
    this.#forwardedFor = request.headers['x-forwarded-for']?.toString();
    this.#id = id;
    this.#idleMs = idleMs;
    socket.setTimeout(idleMs);
    socket.on('timeout', () => {
      const working = this.#sinkIsFull || this.#put?.remaining === 0;
      if (working) socket.setTimeout(idleMs);
      else socket.destroy();
    });
    socket.setNoDelay(true);
    socket.on('error', () => socket.destroy());
    socket.on('end', () => socket.destroy());
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

  /** False: the bytes are still needed, and no more of them before that changes. */
  take(bytes: Buffer): boolean {
    if (!this.socket.writable) this.#throwAway(bytes.length);
    const room = this.#read(bytes);
    if (!room) return true;
    this.#sinkIsFull = true;
    room.then(() => {
      this.#sinkIsFull = false;
      this.socket.resume();
    });
    return false;
  }

  /** A promise where it has to wait; it never rejects. */
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

  #readPiece(frame: Frame, piece: Buffer): { used: number; wait?: Promise<void> | undefined } {
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

  #readBody({ mask }: Frame, piece: Buffer): { used: number; wait?: Promise<void> | undefined } {
    const put = this.#put;
    if (put && !put.sink && !put.isOver) return { used: 0, wait: put.wanted.promise };
    if (!put?.sink) {
      this.#throwAway(piece.length);
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
        this.#tell(put, part.length);
        if (put.remaining === 0) put.end(wait);
        else if (wait) return { used, wait: wait.catch((error: unknown) => put.fail(error)) };
      }
    } catch (error) {
      put.fail(error);
      return { used: piece.length };
    }
    return { used };
  }

  #throwAway(bytes: number): void {
    this.#unwanted += bytes;
    if (this.#unwanted > DRAIN_BYTES) this.socket.destroy();
  }

  #tell(put: SocketPut, bytes: number): void {
    put.taken += bytes;
    const now = performance.now();
    if (put.taken - put.told < volumeSocket.tellBytes && now - put.toldAt < volumeSocket.tellMs) return;
    put.told = put.taken;
    put.toldAt = now;
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
    const begin = () => undefined;
    // A proxy has written its headers into the request, and cannot see this one.
    this.#handle(
      { ...head, forwardedFor: this.#forwardedFor },
      put,
      begin,
      this.socket.remoteAddress ?? '',
      `${this.#id}.${++this.#count}`,
    ).then(({ status, body }) => {
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
