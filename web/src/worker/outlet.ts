/** Answers the browser's own requests for a file (a download, a film) with its plaintext, through the service worker. */
import type { DownloadProgress, RemoteFile } from '@szafa/client';
import { PIECE_SIZE, safeSegments } from '@szafa/client';
import { extentOf, volumeAt } from '@szafa/client/format';
import { parseRange } from '@szafa/protocol';
import type { LocalHead, LocalPart, LocalPull, LocalRequest } from '../bridge.ts';
import { shownType } from './types.ts';

/** Content from a person's file under our address: it gets no powers here, whatever it is. */
const HARMLESS = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";

/** The browser stopped reading: it refused a download, or the person broke it off there. */
export class RefusedError extends Error {
  override name = 'RefusedError';
  readonly code = 'refused';
}

/** Up to PIECE_SIZE bytes each, good until the next is asked for. */
type Pieces = AsyncGenerator<Uint8Array, void>;

function headersOf(remote: RemoteFile, attachment: boolean): Record<string, string> {
  const { name, type } = remote.metadata;
  const common = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' };
  if (attachment) {
    const saved = safeSegments(name).at(-1)!;
    const encoded = encodeURIComponent(saved).replace(
      /['()*]/g,
      (char) => `%${char.charCodeAt(0).toString(16)}`,
    );
    return {
      ...common,
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename*=UTF-8''${encoded}`,
      'content-security-policy': HARMLESS,
    };
  }
  const shown = shownType(name, type) || 'application/octet-stream';
  return {
    ...common,
    'content-type': shown,
    'accept-ranges': 'bytes',
    // A sandbox would keep the browser's own PDF viewer from starting; a PDF cannot reach the page.
    ...(shown === 'application/pdf' ? {} : { 'content-security-policy': HARMLESS }),
  };
}

/** What to answer: a range gets no more than the rest of its volume, so that a film fetches only what it plays. */
export function answerTo(
  remote: RemoteFile,
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
  const to = Math.min(range.end, volume.offset + volume.length);
  headers['content-range'] = `bytes ${from}-${to - 1}/${size}`;
  headers['content-length'] = `${to - from}`;
  return { head: { status: 206, headers }, from, to };
}

async function* range(remote: RemoteFile, from: number, to: number, signal: AbortSignal): Pieces {
  const bytes = await remote.readRange(from, to - from, { signal });
  for (let at = 0; at < bytes.length; at += PIECE_SIZE) yield bytes.subarray(at, at + PIECE_SIZE);
}

/** Sends one part for each message of the port, until the end, an error, or the other side's `cancel`. */
export async function serveFile(
  remote: RemoteFile,
  request: LocalRequest,
  port: MessagePort,
  signal: AbortSignal,
  tell: (done: number, total: number) => void,
): Promise<void> {
  const { head, from, to } = answerTo(remote, request);
  const whole = head.status === 200;
  const cancelled = new AbortController();
  const either = AbortSignal.any([signal, cancelled.signal]);
  const onProgress = ({ done, total }: DownloadProgress) => tell(done, total);
  const pieces = whole ? remote.pieces({ signal: either, onProgress }) : range(remote, from, to, either);
  const say = (part: LocalPart, transfer: Transferable[] = []) => port.postMessage(part, transfer);
  const ended = Promise.withResolvers<void>();

  async function next(memory = new ArrayBuffer(PIECE_SIZE)): Promise<void> {
    try {
      const { done, value } = from === to ? { done: true, value: undefined } : await pieces.next();
      if (value) {
        const chunk = new Uint8Array(memory, 0, value.length);
        chunk.set(value);
        say({ chunk }, [memory]);
      }
      if (!done) return;
      say({ end: true });
      ended.resolve();
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
    await pieces.return();
  }
}
