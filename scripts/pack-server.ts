/**
 * The server in one file, for whole runs of the tests: it starts with little more than half the CPU, and they start it hundreds of
 * times. Packed anew by each run, so it is never older than the sources.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { lowerCost, PASSWORDS } from './cheap-passwords.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What a module finds beside itself stays where it is. */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

/** A moved file would make the tests slow, and nothing else would tell. */
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

/** Where it is then. */
export async function packServer(): Promise<string> {
  const bundle = await rolldown({
    input: at('../server/src/main.ts'),
    platform: 'node',
    // Never installed: pg asks for it only where somebody wants it.
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
    // In one step: another run may be starting it.
    writeFileSync(`${file}.${process.pid}`, output[0].code);
    renameSync(`${file}.${process.pid}`, file);
    return file;
  } finally {
    await bundle.close();
  }
}
