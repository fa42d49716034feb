/** Answers the browser's requests for a file or a zip with plaintext, through the service worker. */
import type { DownloadProgress } from '@szafa/client';
import { PIECE_SIZE, safeSegments } from '@szafa/client';
import { extentOf, volumeAt } from '@szafa/format';
import { parseRange } from '@szafa/protocol';
import {
  HARMLESS,
  type LocalHead,
  type LocalPart,
  type LocalPull,
  type LocalRequest,
} from '../core/bridge/messages.ts';
import { Packer, type Pieces } from '../core/tasks.worker.ts';
import { shownType } from '../files/preview/types.worker.ts';
import type { ReadableFile } from './file-opener.worker.ts';

/** The browser stopped reading: it refused the download, or the user cancelled it there. */
export class RefusedError extends Error {
  override name = 'RefusedError';
  readonly code = 'refused';
}

const COMMON = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };

function disposition(how: 'attachment' | 'inline', name: string): string {
  const encoded = encodeURIComponent(safeSegments(name).at(-1)!).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16)}`,
  );
  return `${how}; filename*=UTF-8''${encoded}`;
}

/** Headers of a download with this file name. */
function savedAs(name: string): Record<string, string> {
  return {
    ...COMMON,
    'content-type': 'application/octet-stream',
    'content-disposition': disposition('attachment', name),
    'content-security-policy': HARMLESS,
  };
}

function headersOf(remote: ReadableFile, attachment: boolean): Record<string, string> {
  const { name, type } = remote.metadata;
  if (attachment) return savedAs(name);
  const shown = shownType(name, type) || 'application/octet-stream';
  return {
    ...COMMON,
    'content-type': shown,
    // The browser's own viewers show this name, and use it to save the file.
    'content-disposition': disposition('inline', name),
    'accept-ranges': 'bytes',
    // In a sandbox the browser's PDF viewer would not start. A PDF cannot access the page.
    ...(shown === 'application/pdf' ? {} : { 'content-security-policy': HARMLESS }),
  };
}

/** Limits the memory for a range in an unusually large volume. */
const MOST_OF_RANGE = 16 * 1024 * 1024;

/** Answers a range with at most the rest of its volume, so that a video fetches only the part that it plays. */
export function answerTo(
  remote: ReadableFile,
  request: LocalRequest,
): { head: LocalHead; from: number; to: number } {
  const { size } = remote.layout;
  const headers = headersOf(remote, request.attachment);
  const range = request.attachment ? undefined : parseRange(request.range, size);
  if (range === 'unsatisfiable') {
    return { head: { status: 416, headers: { 'content-range': `bytes */${size}` } }, from: 0, to: 0 };
  }
  if (!range) {
    return { head: { status: 200, headers: { ...headers, 'content-length': `${size}` } }, from: 0, to: size };
  }
  const { start: from } = range;
  const volume = extentOf(remote.layout, volumeAt(remote.layout, from));
  const to = Math.min(range.end, volume.offset + volume.length, from + MOST_OF_RANGE);
  headers['content-range'] = `bytes ${from}-${to - 1}/${size}`;
  headers['content-length'] = `${to - from}`;
  return { head: { status: 206, headers }, from, to };
}

async function* range(remote: ReadableFile, from: number, to: number, signal: AbortSignal): Pieces {
  const bytes = await remote.readRange(from, to - from, { signal });
  for (let at = 0; at < bytes.length; at += PIECE_SIZE) yield bytes.subarray(at, at + PIECE_SIZE);
}

/** Sends one part for each message on the port, until the end, an error, or a `cancel` message. */
async function send(
  head: LocalHead,
  begin: (signal: AbortSignal) => Pieces,
  port: MessagePort,
  signal: AbortSignal,
): Promise<void> {
  const cancelled = new AbortController();
  const packer = new Packer(begin(AbortSignal.any([signal, cancelled.signal])));
  const say = (part: LocalPart, transfer: Transferable[] = []) => port.postMessage(part, transfer);
  const ended = Promise.withResolvers<void>();

  async function next(memory = new ArrayBuffer(PIECE_SIZE)): Promise<void> {
    try {
      const filled = await packer.fill(new Uint8Array(memory, 0, PIECE_SIZE));
      if (filled > 0) say({ chunk: new Uint8Array(memory, 0, filled) }, [memory]);
      else {
        say({ end: true });
        ended.resolve();
      }
    } catch (error) {
      say({ error: (error as Error).message });
      ended.reject(error);
    }
  }

  port.onmessage = ({ data }: MessageEvent<LocalPull>) => {
    if (data !== 'cancel') void next(data.memory);
    else cancelled.abort(new RefusedError('the browser stopped reading'));
  };
  cancelled.signal.addEventListener('abort', () => ended.reject(cancelled.signal.reason), { once: true });
  say({ head });
  try {
    await ended.promise;
  } finally {
    port.close();
    await packer.close();
  }
}

export function serveFile(
  remote: ReadableFile,
  request: LocalRequest,
  port: MessagePort,
  signal: AbortSignal,
  onProgress: (progress: DownloadProgress) => void,
): Promise<void> {
  const { head, from, to } = answerTo(remote, request);
  const whole = head.status === 200 && from !== to;
  const begin = (either: AbortSignal) =>
    whole ? remote.pieces({ signal: either, onProgress }) : range(remote, from, to, either);
  return send(head, begin, port, signal);
}

/** Sends no content-length, because the size of a zip is not known before it is written. */
export function serveZip(
  name: string,
  pieces: (signal: AbortSignal) => Pieces,
  port: MessagePort,
  signal: AbortSignal,
): Promise<void> {
  return send({ status: 200, headers: savedAs(name) }, pieces, port, signal);
}
