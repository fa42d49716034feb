/** Bundles the command into one CommonJS file that needs only Node. */
import { fileURLToPath } from 'node:url';
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from 'rolldown';

/** Lets an old Node parse the file and print that it is too old. */
const TARGET = { target: 'node20' };
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Loads Node's modules only when they are needed. Rolldown would load all of them at startup, which would double the startup time. */
const whenNeeded: Plugin = {
  name: 'when-needed',
  resolveId: (id, importer) =>
    id.startsWith('node:') && !importer?.startsWith('\0') ? `\0${id}` : undefined,
  load: (id) => (id.startsWith('\0node:') ? `module.exports = require('${id.slice(1)}');` : undefined),
};

async function oneFile(input: InputOptions, output: OutputOptions): Promise<string> {
  const bundle = await rolldown({
    platform: 'node',
    transform: TARGET,
    ...input,
    // Fail on every warning: the bundle is released.
    onLog: (_, log) => {
      throw new Error(log.message);
    },
  });
  try {
    const { output: chunks } = await bundle.generate({ minify: true, codeSplitting: false, ...output });
    return chunks[0].code;
  } finally {
    await bundle.close();
  }
}

export async function bundleCommand(): Promise<string> {
  // Embed the SDK's worker as text, so that it needs no second file.
  const worker = await oneFile({ input: at('../../client/src/node/engine/worker.ts') }, { format: 'esm' });
  const define = { SZAFA_WORKER: JSON.stringify(worker), 'import.meta.url': '"file:///szafa"' };
  return oneFile(
    { input: at('../src/packed.ts'), plugins: [whenNeeded], transform: { ...TARGET, define } },
    // CommonJS runs from the top, so an old Node gets to the version check before any code that it does not support.
    { format: 'cjs', banner: '#!/usr/bin/env node' },
  );
}
