import {
  fetchTransport,
  NetworkError,
  type Transport,
  type TransportRequest,
  type TransportResponse,
} from '@szafa/client';
import { reportReachable } from './reachable.worker.ts';
import { VolumeSockets } from './volume-socket.worker.ts';

/** Browsers allow six connections per host for requests without credentials, and only volumes are sent that way. */
export const VOLUMES_AT_ONCE = 6;
/** Volumes sent by `watched` share the six connections with credentials, which all other calls need too. */
const WATCHED_AT_ONCE = 4;
/** If a volume takes longer than this, the next one is sent by `watched`, so that progress shows within the volume. */
const SLOW_MS = 1_000;

/** Checks the path too, because thumbnails are also sent as bytes. */
const isVolume = ({ body, url }: TransportRequest) =>
  typeof body === 'object' && new URL(url).pathname.startsWith('/api/transfer/');

/** Reports progress while the body is sent, which `fetch` cannot; costs the server and the browser more. */
function watched(request: TransportRequest): Promise<TransportResponse> {
  return new Promise((resolve, reject) => {
    const { signal, onBytes } = request;
    const body = request.body as Uint8Array<ArrayBuffer>;
    const size = body.length;
    const exchange = new XMLHttpRequest();
    let told = 0;
    const tell = (loaded: number) => {
      const sent = Math.min(loaded, size);
      onBytes?.(sent - told);
      told = sent;
    };
    const abort = () => exchange.abort();
    const fail = (message: string) => () => {
      signal?.removeEventListener('abort', abort);
      if (signal?.aborted) reject(signal.reason);
      else reject(new NetworkError(message));
    };
    exchange.open(request.method, request.url);
    exchange.responseType = 'arraybuffer';
    exchange.timeout = request.timeoutMs;
    for (const [name, value] of Object.entries(request.headers)) exchange.setRequestHeader(name, value);
    exchange.upload.onprogress = (event) => tell(event.loaded);
    exchange.onerror = fail('the server cannot be reached');
    exchange.onabort = exchange.onerror;
    exchange.ontimeout = fail('the server did not answer in time');
    exchange.onload = () => {
      signal?.removeEventListener('abort', abort);
      if (exchange.status >= 200 && exchange.status < 300) tell(size);
      resolve({
        status: exchange.status,
        header: (name) => exchange.getResponseHeader(name) ?? undefined,
        body: new Uint8Array(exchange.response as ArrayBuffer),
      });
    };
    signal?.addEventListener('abort', abort, { once: true });
    exchange.send(body);
  });
}

export function pageTransport(onReachable: (reachable: boolean) => void): Transport {
  let running = 0;
  const waiting: (() => void)[] = [];
  /** Whether the last volume was slow. Starts true: on a slow line, progress within the first volume matters. */
  let slow = true;
  const sockets = new VolumeSockets();

  const room = () => (slow && sockets.refused ? WATCHED_AT_ONCE : VOLUMES_AT_ONCE) - running;

  async function volume(request: TransportRequest): Promise<TransportResponse> {
    while (room() <= 0) await new Promise<void>((resolve) => waiting.push(resolve));
    running++;
    try {
      request.signal?.throwIfAborted();
      const answered = await sockets.send(request, request.body as Uint8Array<ArrayBuffer>);
      if (answered) return answered;
      const began = performance.now();
      const response = await (slow ? watched(request) : fetchTransport(request));
      slow = performance.now() - began > SLOW_MS;
      return response;
    } finally {
      running--;
      for (const next of waiting.splice(0, Math.max(0, room()))) next();
    }
  }

  return reportReachable(
    (request) => (isVolume(request) ? volume(request) : fetchTransport(request)),
    onReachable,
  );
}
