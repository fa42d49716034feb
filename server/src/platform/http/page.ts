/** Serves the web app, and the command beside it, as the build left them: a handful of files, read once and kept in memory. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { CONFINED, PAGE_HEADERS } from './page-headers.ts';

const BUILT = fileURLToPath(new URL('../../../../web/dist', import.meta.url));

const TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.cjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webmanifest': 'application/manifest+json',
};

/** Nothing from elsewhere, no inline script; WebAssembly is Argon2id. What is previewed comes from the page's own worker. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "media-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "frame-src 'self'",
  "manifest-src 'self'",
  ...CONFINED,
  "require-trusted-types-for 'script'",
  'trusted-types szafa',
].join('; ');

const HEADERS = { 'content-security-policy': POLICY, ...PAGE_HEADERS, vary: 'Accept-Encoding' };

/** Pages have addresses of their own. What fits the shape of the id of a link or a request is answered alike, whether there is such a one or not. */
const PAGES: Record<string, string> = {
  'index.html': '/',
  'share.html': '/s/:id([A-Za-z0-9_-]{22})',
  'request.html': '/r/:id([A-Za-z0-9_-]{22})',
};

interface PageFile {
  url: string;
  type: string;
  etag: string;
  cacheControl: string;
  /** By content coding; the plain bytes under `identity`. */
  bodies: Map<string, Buffer>;
}

function readFiles(folder: string): PageFile[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const present = new Set(names);
  return names
    .filter((name) => TYPES[extname(name)] !== undefined)
    .map((name) => {
      const read = (path: string) => readFileSync(join(folder, path));
      const bodies = new Map([['identity', read(name)]]);
      for (const [coding, suffix] of Object.entries({ br: '.br', gzip: '.gz' })) {
        if (present.has(name + suffix)) bodies.set(coding, read(name + suffix));
      }
      const hashed = name.startsWith('assets/');
      return {
        url: PAGES[name] ?? `/${name}`,
        type: TYPES[extname(name)]!,
        etag: `"${createHash('sha256').update(bodies.get('identity')!).digest('base64url').slice(0, 22)}"`,
        cacheControl: hashed ? 'public, max-age=31536000, immutable' : 'no-cache',
        bodies,
      };
    });
}

function codingFor(file: PageFile, accepted: string | undefined): string {
  const wanted = (accepted ?? '')
    .split(',')
    .filter((part) => !/;\s*q=0(\.0+)?\s*$/.test(part))
    .map((part) => part.split(';')[0]!.trim());
  return ['br', 'gzip'].find((coding) => wanted.includes(coding) && file.bodies.has(coding)) ?? 'identity';
}

function send(file: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  reply.headers(HEADERS).type(file.type).header('etag', file.etag).header('cache-control', file.cacheControl);
  if (request.headers['if-none-match'] === file.etag) return reply.code(304).send();
  const coding = codingFor(file, request.headers['accept-encoding']);
  if (coding !== 'identity') reply.header('content-encoding', coding);
  return reply.send(file.bodies.get(coding));
}

/** Why there is no page, and what to do; undefined where there is one. */
export function missingPage(folder = BUILT): string | undefined {
  if (existsSync(join(folder, 'index.html'))) return undefined;
  const fault = join(folder, '.fault');
  const reason = existsSync(fault) ? `its build failed: ${readFileSync(fault, 'utf8')}` : 'it was not built';
  return `there is no web app here, only the API: ${reason}. "npm start" builds it anew`;
}

export function addPage(app: FastifyInstance, folder = BUILT): void {
  const missing = missingPage(folder);
  if (missing !== undefined) {
    for (const url of [...Object.values(PAGES), '/szafa.cjs']) {
      app.get(url, async (_, reply) =>
        reply.code(503).headers(HEADERS).type('text/plain; charset=utf-8').send(`szafa: ${missing}\n`),
      );
    }
    return;
  }
  for (const file of readFiles(folder)) {
    // Clients take links with a slash before the # as well.
    for (const url of file.url.includes(':id') ? [file.url, `${file.url}/`] : [file.url]) {
      app.route({
        method: ['GET', 'HEAD'],
        url,
        handler: async (request, reply) => send(file, request, reply),
      });
    }
  }
}
