/**
 * Caches the page for when the server cannot be reached. The cached page is used only if the server does not answer.
 * Cached scripts and styles are never outdated, because their names contain their digest.
 */
const CACHE = 'szafa-shell';
const PAGE = '/';
/** Statuses of a proxy whose server is down. */
const AWAY = [502, 503, 504];

const isPart = (path: string) => path.startsWith('/assets/');

export function isShell({ method, mode }: Request, path: string): boolean {
  return method === 'GET' && ((path === PAGE && mode === 'navigate') || isPart(path));
}

export async function shell(request: Request): Promise<Response> {
  return request.mode === 'navigate' ? page(request) : part(request);
}

/** Undefined in a browser without cache storage: the page must load anyway. */
const opened = () => caches.open(CACHE).catch(() => undefined);

async function page(request: Request): Promise<Response> {
  const kept = await (await opened())?.match(PAGE);
  try {
    const found = await fetch(request);
    if (kept && AWAY.includes(found.status)) return kept;
    if (found.ok) await renew(kept, found.clone());
    return found;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

/** Stores a changed page and deletes the scripts and styles of the old one. */
async function renew(kept: Response | undefined, found: Response): Promise<void> {
  if (kept && kept.headers.get('etag') === found.headers.get('etag')) return;
  await caches.delete(CACHE);
  await (await opened())?.put(PAGE, found).catch(() => {});
}

async function part(request: Request): Promise<Response> {
  const cache = await opened();
  const kept = await cache?.match(request.url);
  if (kept) return kept;
  const found = await fetch(request);
  // Nothing is cached for visitors of links: their page is not cached either.
  if (found.ok && (await cache?.match(PAGE))) await cache?.put(request.url, found.clone()).catch(() => {});
  return found;
}

/** Adds missing files. They are in the browser's HTTP cache, so little is loaded twice. */
export async function keep(paths: string[]): Promise<void> {
  const cache = await opened();
  for (const path of new Set(paths)) {
    if (!cache || !(path === PAGE || isPart(path)) || (await cache.match(path))) continue;
    const found = await fetch(path).catch(() => undefined);
    if (found?.ok) await cache.put(path, found).catch(() => {});
  }
}
