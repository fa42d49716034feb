/**
 * The service worker has two tasks. Requests of the browser itself for `/local/<id>/<name>` (a download, an image, a film) are
 * answered by the tab that gave the id out. And the page itself is kept (shell.ts), so that it opens where the server cannot be
 * reached. It holds no state, since the browser may end it at any time. Everything else
 * that a tab fetches, volumes too, is shown to it and goes on untouched: routes of `addRoutes` do not hold for what a
 * tab's worker fetches. Sockets pass it by.
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
  // For a tab without one: at its first visit, and after a reload that bypassed the service worker.
  if (data === 'claim') event.waitUntil(worker.clients.claim());
  else event.waitUntil(keep(data.keep));
});
worker.addEventListener('fetch', (event) => {
  const { pathname, origin, search } = new URL(event.request.url);
  if (origin !== globalThis.location.origin) return;
  if (isShell(event.request, pathname)) event.respondWith(shell(event.request));
  if (!pathname.startsWith('/local/')) return;
  // A name may follow the id, for viewers that show the address.
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

/** Asks one tab; rejects when the file is not one of its own. */
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

/** Requests a part when the browser wants one: by then the previous part is copied, and its memory can be filled again. */
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
