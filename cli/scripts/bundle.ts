/** The command in one file, as text: CommonJS that needs Node and nothing else. */
import { fileURLToPath } from 'node:url';
import { type InputOptions, type OutputOptions, type Plugin, rolldown } from 'rolldown';

/** Old enough for an old Node to read as far as the message that it is too old. */
const TARGET = { target: 'node20' };
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Node's modules are loaded when the part that needs them is: rolldown would load all of them first, which takes as long as the rest. */
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
    // What is doubtful is no bundle to give away.
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
  // The worker thread of the SDK travels as text inside the one file.
  const worker = await oneFile({ input: at('../../client/src/node/engine/worker.ts') }, { format: 'esm' });
  const define = { SZAFA_WORKER: JSON.stringify(worker), 'import.meta.url': '"file:///szafa"' };
  return oneFile(
    { input: at('../src/packed.ts'), plugins: [whenNeeded], transform: { ...TARGET, define } },
    // CommonJS runs from the top, and asks for nothing an old Node lacks before that message.
    { format: 'cjs', banner: '#!/usr/bin/env node' },
  );
}
