/** Local addresses from which the browser itself reads a file, for downloads, media and rendered texts. */
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
/** Time for the service worker to ask for a download. It asks at once, unless the browser must start it first. */
const ASKED_MS = 30_000;
/** A busy browser may have read a whole small file before it begins the download. Removing the frame would cancel it. */
const TAKEN_MS = 60_000;
/** The same headers as in outlet.worker.ts: a user's file must not get the rights of our origin. */
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
    return false; // private windows of some browsers have no service workers
  }
}

interface LocalAddress {
  url: string;
  close(): void;
}

/** The name in the address is for viewers that show it, such as the browser's PDF viewer. */
function offer(name: string, answer: Answer): LocalAddress {
  const id = crypto.randomUUID();
  offers.set(id, answer);
  return { url: `/local/${id}/${encodeURIComponent(name)}`, close: () => offers.delete(id) };
}

/** Offers a file for a preview, until `close`. */
export function offerPreview(fileId: string, name: string): LocalAddress {
  return offer(name, async (port, request) => {
    // A video player stops reading when it has buffered enough, which is not a failure.
    await callWith(port, 'serve', crypto.randomUUID(), fileId, request).catch(() => {});
  });
}

/** Offers a rendered text, until `close`. Its headers keep it from running scripts, fetching and accessing our origin. */
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

/** Lets the browser download the data from `serve`. Resolves when the last byte was handed over. */
export async function saveByBrowser(transfer: string, serve: Answer): Promise<void> {
  const frame = document.createElement('iframe');
  // Without requests, the browser would stop the service worker while its stream is read slowly.
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
      // A frame fires `load` only for content that it shows, such as an error, and never for a download.
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
