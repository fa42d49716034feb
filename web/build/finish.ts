import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { Plugin } from 'vite';

const COMPRESSED = /\.(html|js|css|svg|webmanifest)$/;

/** Adds digests to scripts and styles, so that the page runs only files from the same build. */
function withIntegrity(html: string, folder: string): string {
  return html.replace(/<(script|link)\b([^>]*?)\s(src|href)="(\/assets\/[^"]+)"([^>]*)>/g, (...found) => {
    const [, tag, before, key, url, after] = found as string[];
    const digest = createHash('sha384')
      .update(readFileSync(join(folder, url!)))
      .digest('base64');
    return `<${tag}${before} ${key}="${url}" integrity="sha384-${digest}"${after}>`;
  });
}

/** Adds Subresource Integrity to the pages after the build, and compresses every file once instead of at each request. */
export function finish(folder: string): Plugin {
  return {
    name: 'szafa-finish',
    apply: 'build',
    enforce: 'post',
    closeBundle() {
      for (const name of readdirSync(folder).filter((one) => one.endsWith('.html'))) {
        const page = join(folder, name);
        writeFileSync(page, withIntegrity(readFileSync(page, 'utf8'), folder));
      }
      for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
        if (!COMPRESSED.test(name)) continue;
        const bytes = readFileSync(join(folder, name));
        const params = { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
        writeFileSync(join(folder, `${name}.br`), brotliCompressSync(bytes, { params }));
        writeFileSync(join(folder, `${name}.gz`), gzipSync(bytes, { level: 9 }));
      }
    },
  };
}
