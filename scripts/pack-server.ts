/**
 * Bundles the server into one file for complete test runs, which start it hundreds of times: a bundle needs little more than half the
 * CPU time to start. Each run bundles again, so it is never older than the sources.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { lowerCost, PASSWORDS } from './cheap-passwords.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** Replaces `import.meta.url` by the original location, so that modules still find the files next to them. */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/** Whether passwords.ts was patched. If the file were moved, tests would only become slow, and nobody would notice. */
let isCheap = false;
const cheapPasswords: Plugin = {
  name: 'cheap-passwords',
  transform: {
    filter: { id: PASSWORDS },
    handler: (code) => {
      isCheap = true;
      return lowerCost(code);
    },
  },
};

/** Returns the path of the bundle. */
export async function packServer(): Promise<string> {
  const bundle = await rolldown({
    input: at('../server/src/main.ts'),
    platform: 'node',
    // An optional dependency of pg that is not installed.
    external: ['pg-native'],
    plugins: [places, cheapPasswords],
    onLog: (_, log) => {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
    if (!isCheap) throw new Error('scripts/cheap-passwords.ts names a file that is not there');
    const folder = at('../node_modules/.cache');
    mkdirSync(folder, { recursive: true });
    const file = `${folder}/szafa-server.mjs`;
    // Replace it atomically: another test run may be starting it.
    writeFileSync(`${file}.${process.pid}`, output[0].code);
    renameSync(`${file}.${process.pid}`, file);
    return file;
  } finally {
    await bundle.close();
  }
}
