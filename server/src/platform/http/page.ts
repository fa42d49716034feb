/** Serves the built web app and the command-line client: a handful of files, read once and kept in memory. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

/** Headers of every page. */
export const PAGE_HEADERS = {
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};

/** The part of the content security policy that all pages share. */
export const CONFINED = ["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"];

/** For a server with its own TLS: tells browsers to use only HTTPS for a year. */
export const STRICT_TRANSPORT = { 'strict-transport-security': 'max-age=31536000' };

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

/**
 * Allows nothing from other origins and no inline script. WebAssembly is needed for Argon2id; previews come from the page's
 * own worker.
 */
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

/** The paths of the pages. Any id of a link or file request gets the same page, so that nobody can probe which ids exist. */
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
  /** Bodies by content coding; the plain bytes are under `identity`. */
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

/** Returns why there is no web app and how to fix it; undefined if there is one. */
export function missingPage(folder = BUILT): string | undefined {
  if (existsSync(join(folder, 'index.html'))) return undefined;
  const fault = join(folder, '.fault');
  const reason = existsSync(fault) ? `its build failed: ${readFileSync(fault, 'utf8')}` : 'it was not built';
  return `there is no web app here, only the API: ${reason}. "npm start" builds it again`;
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
    // Some clients insert a slash before the #.
    for (const url of file.url.includes(':id') ? [file.url, `${file.url}/`] : [file.url]) {
      app.route({
        method: ['GET', 'HEAD'],
        url,
        handler: async (request, reply) => send(file, request, reply),
      });
    }
  }
}
