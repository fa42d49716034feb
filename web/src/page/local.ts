/** Addresses under which the browser itself can read a file: for downloads, images, sound, film. */
import type { LocalRequest, ToServiceWorker } from '../bridge.ts';
import { CoreError, call, callWith, scriptUrl, workerUrl } from './core.ts';

interface Question {
  local: string;
  request: LocalRequest;
}
interface Offer {
  fileId: string;
  /** The id of a download; previews have none. */
  transfer: string | undefined;
  asked(): void;
  settled(error?: unknown): void;
}

const offers = new Map<string, Offer>();
const PING_MS = 10_000;
/** The service worker asks at once, unless it has to be started first. */
const ASKED_MS = 30_000;
/** A busy browser may have all bytes of a small file before it begins the download; without its frame it would not. */
const TAKEN_MS = 60_000;
let ready: Promise<boolean> | undefined;

/** Whether the browser runs our service worker. */
export function localReady(): Promise<boolean> {
  ready ??= register();
  return ready;
}

async function register(): Promise<boolean> {
  const container = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (!container) return false;
  container.addEventListener('message', ({ data, ports }: MessageEvent<Question>) => {
    const offer = offers.get(data.local);
    const [port] = ports;
    if (!port) return;
    if (!offer) {
      port.postMessage(null);
      return;
    }
    offer.asked();
    const id = offer.transfer ?? crypto.randomUUID();
    callWith(port, 'serve', id, offer.fileId, data.request).then(
      () => offer.settled(),
      (error: unknown) => offer.settled(error),
    );
  });
  try {
    await container.register(scriptUrl('/sw.js'));
    const { active } = await container.ready;
    if (!container.controller) {
      const taken = new Promise((resolve) =>
        container.addEventListener('controllerchange', resolve, { once: true }),
      );
      active!.postMessage('claim' satisfies ToServiceWorker);
      await taken;
    }
    keepShell(active!);
    return true;
  } catch {
    return false; // private windows of some browsers have none
  }
}

/** What this page is made of came before the service worker did, at least at the first visit. */
function keepShell(worker: ServiceWorker): void {
  const loaded = performance.getEntriesByType('resource').map(({ name }) => new URL(name).pathname);
  const parts = loaded.filter((path) => path.startsWith('/assets/'));
  const message: ToServiceWorker = { keep: ['/', workerUrl, ...parts] };
  worker.postMessage(message);
}

/** An address for previews, until `close`. */
export function offerPreview(fileId: string): { url: string; close(): void } {
  const id = crypto.randomUUID();
  // A film stops reading whenever it has enough; that is no failure.
  offers.set(id, { fileId, transfer: undefined, asked: () => {}, settled: () => {} });
  return { url: `/local/${id}`, close: () => offers.delete(id) };
}

/** Has the browser download a file; resolves when its last byte was handed over. */
export async function saveByBrowser(transfer: string, fileId: string): Promise<void> {
  const frame = document.createElement('iframe');
  // Nothing else keeps a service worker awake while a stream of it is read slowly.
  const awake = setInterval(() => void fetch('/local/ping'), PING_MS);
  let unasked: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const refused = () => {
        reject(new CoreError({ code: 'refused', message: 'the browser did not begin the download' }));
        void call('stop', transfer);
      };
      unasked = setTimeout(refused, ASKED_MS);
      offers.set(transfer, {
        fileId,
        transfer,
        asked: () => clearTimeout(unasked),
        settled: (error) => (error ? reject(error) : resolve()),
      });
      // A frame loads what is shown in it, such as an error; what is downloaded never loads.
      frame.onload = () => {
        if (frame.contentDocument?.URL !== 'about:blank') refused();
      };
      frame.hidden = true;
      frame.src = `/local/${transfer}?save`;
      document.body.append(frame);
    });
  } finally {
    clearInterval(awake);
    clearTimeout(unasked);
    offers.delete(transfer);
    setTimeout(() => frame.remove(), TAKEN_MS);
  }
}
