/** Addresses under which the browser itself can read a file: for downloads, images, sound, film. */
import type { LocalRequest } from '../bridge.ts';
import { callWith, scriptUrl } from './core.ts';

interface Question {
  local: string;
  request: LocalRequest;
}
interface Offer {
  fileId: string;
  /** The id of a download; previews have none. */
  transfer: string | undefined;
  settled(error?: unknown): void;
}

const offers = new Map<string, Offer>();
const PING_MS = 10_000;
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
      active!.postMessage('claim');
      await taken;
    }
    return true;
  } catch {
    return false; // private windows of some browsers have none
  }
}

/** An address for previews, until `close`. */
export function offerPreview(fileId: string): { url: string; close(): void } {
  const id = crypto.randomUUID();
  // A film stops reading whenever it has enough; that is no failure.
  offers.set(id, { fileId, transfer: undefined, settled: () => {} });
  return { url: `/local/${id}`, close: () => offers.delete(id) };
}

/** Has the browser download a file; resolves when its last byte was handed over. */
export async function saveByBrowser(transfer: string, fileId: string): Promise<void> {
  const frame = document.createElement('iframe');
  // Nothing else keeps a service worker awake while a stream of it is read slowly.
  const awake = setInterval(() => void fetch('/local/ping'), PING_MS);
  try {
    await new Promise<void>((resolve, reject) => {
      offers.set(transfer, { fileId, transfer, settled: (error) => (error ? reject(error) : resolve()) });
      frame.hidden = true;
      frame.src = `/local/${transfer}?save`;
      document.body.append(frame);
    });
  } finally {
    clearInterval(awake);
    offers.delete(transfer);
    // The browser has taken the download over by now.
    setTimeout(() => frame.remove(), 1_000);
  }
}
