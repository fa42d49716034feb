/** Packs the command into one file: `npm run pack -w szafa [-- FILE]`, by default dist/szafa.cjs. */
import { chmod } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, build } from 'esbuild';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const outfile = process.argv[2] ?? at('../dist/szafa.cjs');

const shared = {
  bundle: true,
  platform: 'node',
  // Old enough for an old Node to read as far as the message that it is too old.
  target: 'node20',
  minify: true,
  legalComments: 'none',
  logLevel: 'warning',
} satisfies BuildOptions;

// The worker thread of the SDK travels as text inside the one file.
const worker = await build({
  ...shared,
  entryPoints: [at('../../client/src/node/worker.ts')],
  format: 'esm',
  write: false,
});

await build({
  ...shared,
  entryPoints: [at('../src/packed.ts')],
  // CommonJS runs from the top, and asks for nothing an old Node lacks before that message.
  format: 'cjs',
  outfile,
  banner: { js: '#!/usr/bin/env node' },
  define: {
    SZAFA_WORKER: JSON.stringify(worker.outputFiles[0]!.text),
    'import.meta.url': '"file:///szafa"',
  },
});
await chmod(outfile, 0o755);
