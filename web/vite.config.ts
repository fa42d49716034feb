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
  // The SDK imports all of hash-wasm; the page bundles only the functions that it uses.
  resolve: { alias: [{ find: /^hash-wasm$/, replacement: at('src/core/engine/argon2.worker.ts') }] },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2023',
    assetsInlineLimit: 0,
    // Preload only from the HTML, where every file has its digest; preloads by scripts would have none.
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
        codeSplitting: {
          groups: chunksOf(at('src/page/main.tsx'), at('src/visitor/main.tsx'), at('src/sender/main.tsx')),
        },
        // The service worker needs a fixed address at the root: its scope is the folder that it is in.
        entryFileNames: ({ name }) => (name === 'sw' ? 'sw.js' : 'assets/[name]-[hash].js'),
      },
    },
  },
  // ES modules, so that workers can load parts on demand, such as Argon2id.
  worker: { format: 'es', plugins: () => [shortenSchemas()] },
  plugins: [shortenSchemas(), command(), finish(outDir)],
});
