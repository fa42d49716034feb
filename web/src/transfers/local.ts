/** Addresses under which the browser itself can read a file: for downloads, images, sound, film, and documents made of texts. */
import {
  HARMLESS,
  type LocalPart,
  type LocalPull,
  type LocalRequest,
  type ToServiceWorker,
} from '../core/bridge/messages.ts';
import { CallError, call, callWith, scriptUrl } from '../core/call.ts';

interface Question {
  local: string;
  request: LocalRequest;
}
/** Answers one request over its port. */
type Answer = (port: MessagePort, request: LocalRequest) => Promise<void>;

const offers = new Map<string, Answer>();
const PING_MS = 10_000;
/** The service worker asks at once, unless it has to be started first. */
const ASKED_MS = 30_000;
/** A busy browser may have all bytes of a small file before it begins the download; without its frame it would not. */
const TAKEN_MS = 60_000;
/** As in `worker/outlet.ts`: a person's file gets no powers here. Its scheme of colours is the page's. */
const DOCUMENT = {
  'content-type': 'text/html; charset=utf-8',
  'x-content-type-options': 'nosniff',
  'cache-control': 'no-store',
  'content-security-policy': HARMLESS,
};
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
    const [port] = ports;
    if (!port) return;
    const answer = offers.get(data.local);
    if (answer) void answer(port, data.request);
    else port.postMessage(null);
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
    return true;
  } catch {
    return false; // private windows of some browsers have none
  }
}

interface LocalAddress {
  url: string;
  close(): void;
}

/** The name is for those who read addresses, as the browser's viewer of PDFs does. */
function offer(name: string, answer: Answer): LocalAddress {
  const id = crypto.randomUUID();
  offers.set(id, answer);
  return { url: `/local/${id}/${encodeURIComponent(name)}`, close: () => offers.delete(id) };
}

/** An address for a preview, until `close`. */
export function offerPreview(fileId: string, name: string): LocalAddress {
  return offer(name, async (port, request) => {
    // A film stops reading whenever it has enough; that is no failure.
    await callWith(port, 'serve', crypto.randomUUID(), fileId, request).catch(() => {});
  });
}

/** An address for a page made here, until `close`. It is a document of its own: whatever is in it runs nothing, fetches nothing and reaches nothing of ours. */
export function offerDocument(html: string): LocalAddress {
  const bytes = new TextEncoder().encode(html);
  return offer('', async (port) => {
    const say = (part: LocalPart) => port.postMessage(part);
    let given = false;
    port.onmessage = ({ data }: MessageEvent<LocalPull>) => {
      if (data === 'cancel') port.close();
      else say(given ? { end: true } : { chunk: bytes });
      given = true;
    };
    say({ head: { status: 200, headers: DOCUMENT } });
  });
}

/** Has the browser download what `serve` gives; resolves when its last byte was handed over. */
export async function saveByBrowser(transfer: string, serve: Answer): Promise<void> {
  const frame = document.createElement('iframe');
  // Nothing else keeps a service worker awake while a stream of it is read slowly.
  const awake = setInterval(() => void fetch('/local/ping'), PING_MS);
  let unasked: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      const refused = () => {
        reject(new CallError({ code: 'refused', message: 'the browser did not begin the download' }));
        void call('stop', transfer);
      };
      unasked = setTimeout(refused, ASKED_MS);
      offers.set(transfer, async (port, request) => {
        clearTimeout(unasked);
        await serve(port, request).then(resolve, reject);
      });
      // A frame fires `load` for content that is shown, such as an error, and never for a download.
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
