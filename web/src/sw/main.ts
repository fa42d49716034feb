/**
 * The service worker has two tasks. It forwards the browser's requests for `/local/<id>/<name>` (a download, an image, a
 * video) to the tab that issued the id. And it caches the page (shell.ts), so that the page opens even if the server
 * cannot be reached. It holds no state, because the browser may stop it at any time.
 *
 * It sees all other requests of a tab too, volumes included, and leaves them alone. `addRoutes` could not exclude them:
 * its routes do not apply to requests of a tab's worker. Sockets bypass it.
 */
import type {
  LocalHead,
  LocalPart,
  LocalPull,
  LocalRequest,
  ToServiceWorker,
} from '../core/bridge/messages.ts';
import { isShell, keep, shell } from './shell.ts';

interface Client {
  postMessage(message: unknown, transfer: Transferable[]): void;
}
interface Worker {
  addEventListener(name: string, listener: (event: WorkerEvent) => void): void;
  skipWaiting(): Promise<void>;
  clients: {
    claim(): Promise<void>;
    matchAll(options: { type: 'window'; includeUncontrolled: true }): Promise<Client[]>;
  };
}
interface WorkerEvent {
  request: Request;
  data: ToServiceWorker;
  waitUntil(promise: Promise<unknown>): void;
  respondWith(response: Promise<Response>): void;
}

const PATIENCE_MS = 10_000;
const worker = globalThis as unknown as Worker;

worker.addEventListener('install', (event) => event.waitUntil(worker.skipWaiting()));
worker.addEventListener('message', (event) => {
  const { data } = event;
  // A tab has no service worker on its first visit, and after a reload that bypassed the service worker.
  if (data === 'claim') event.waitUntil(worker.clients.claim());
  else event.waitUntil(keep(data.keep));
});
worker.addEventListener('fetch', (event) => {
  const { pathname, origin, search } = new URL(event.request.url);
  if (origin !== globalThis.location.origin) return;
  if (isShell(event.request, pathname)) event.respondWith(shell(event.request));
  if (!pathname.startsWith('/local/')) return;
  // After the id comes a name, for viewers that show the address.
  const [id = ''] = pathname.slice('/local/'.length).split('/');
  if (id === 'ping') event.respondWith(Promise.resolve(new Response(null, { status: 204 })));
  else
    event.respondWith(
      answer(id, { range: event.request.headers.get('range'), attachment: search === '?save' }),
    );
});

async function answer(id: string, request: LocalRequest): Promise<Response> {
  const tabs = await worker.clients.matchAll({ type: 'window', includeUncontrolled: true });
  const first = await Promise.any(tabs.map((tab) => ask(tab, id, request))).catch(() => undefined);
  if (!first) return new Response('Not here any more', { status: 404 });
  const { head, port } = first;
  const hasBody = head.status === 200 || head.status === 206;
  return new Response(hasBody ? bodyFrom(port) : null, head);
}

/** Asks one tab; rejects if the tab did not issue the id. */
function ask(
  tab: Client,
  id: string,
  request: LocalRequest,
): Promise<{ head: LocalHead; port: MessagePort }> {
  const { port1: port, port2 } = new MessageChannel();
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS);
    port.onmessage = ({ data }: MessageEvent<LocalPart | null>) => {
      clearTimeout(late);
      if (data && 'head' in data) resolve({ head: data.head, port });
      else reject(new Error('not of this tab'));
    };
    tab.postMessage({ local: id, request }, [port2]);
  });
}

/** Requests a part when the browser wants one. By then the previous part has been copied, so its memory can be reused. */
function bodyFrom(port: MessagePort): ReadableStream<Uint8Array> {
  const say = (pull: LocalPull, transfer: Transferable[] = []) => port.postMessage(pull, transfer);
  let memory: ArrayBuffer | undefined;
  return new ReadableStream(
    {
      pull(controller) {
        return new Promise((resolve) => {
          port.onmessage = ({ data }: MessageEvent<LocalPart>) => {
            if ('chunk' in data) {
              memory = data.chunk.buffer;
              controller.enqueue(data.chunk);
            } else if ('error' in data) controller.error(new Error(data.error));
            else controller.close();
            resolve();
          };
          say({ memory }, memory && [memory]);
        });
      },
      cancel() {
        say('cancel');
      },
    },
    { highWaterMark: 0 },
  );
}
