import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';
import { chunksOf } from './build/chunks.ts';
import { command } from './build/command.ts';
import { finish } from './build/finish.ts';
import { shortenSchemas } from './build/schemas.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const outDir = process.env['SZAFA_WEB_OUT'] ?? at('dist');

export default defineConfig({
  root: at('.'),
  logLevel: 'warn',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  // The SDK loads it whole when it is first needed; here only Argon2id of it is.
  resolve: { alias: [{ find: /^hash-wasm$/, replacement: at('src/core/engine/argon2.worker.ts') }] },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    // What a page is made of is named in the page itself, with its digest; nothing is fetched ahead later.
    modulePreload: {
      polyfill: false,
      resolveDependencies: (_file, parts, { hostType }) => (hostType === 'html' ? parts : []),
    },
    rolldownOptions: {
      input: {
        page: at('index.html'),
        share: at('share.html'),
        request: at('request.html'),
        sw: at('src/sw/main.ts'),
      },
      output: {
        // A service worker is found by its address, and its scope is the folder it lies in.
        codeSplitting: {
          groups: chunksOf(at('src/page/main.tsx'), at('src/visitor/main.tsx'), at('src/sender/main.tsx')),
        },
        entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
      },
    },
  },
  // In files of their own parts as well: Argon2id comes when a password is asked for.
  worker: { format: 'es', plugins: () => [shortenSchemas()] },
  plugins: [shortenSchemas(), command(), finish(outDir)],
});
