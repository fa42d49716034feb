/**
 * The server in one file, for whole runs of the tests: it starts with little more than half the CPU, and they start it hundreds of
 * times. Packed anew by each run, so it is never older than the sources.
 */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));

/** What a module finds beside itself stays where it is. */
const places: Plugin = {
  name: 'places',
  transform: {
    filter: { code: 'import.meta.url' },
    handler: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)),
  },
};

const COST = 'const COST = { memory: 19 * 1024, passes: 2, parallelism: 1 };';

/** Nearly every test registers somebody; the cost itself is tested in server/test/passwords. No setting lowers it, so it is done here. */
const cheapPasswords: Plugin = {
  name: 'cheap-passwords',
  transform: {
    filter: { id: /\/server\/src\/domain\/passwords\.ts$/ },
    handler: (code) => {
      if (!code.includes(COST)) throw new Error('passwords.ts: what a password costs is written otherwise');
      return code.replace(COST, 'const COST = { memory: 64, passes: 1, parallelism: 1 };');
    },
  },
};

/** Where it is then. */
export async function packServer(passwordsCost: 'usual' | 'little'): Promise<string> {
  const bundle = await rolldown({
    input: at('../server/src/main.ts'),
    platform: 'node',
    // Never installed: pg asks for it only where somebody wants it.
    external: ['pg-native'],
    plugins: passwordsCost === 'little' ? [places, cheapPasswords] : [places],
    onLog: (_, log) => {
      throw new Error(log.message);
    },
  });
  try {
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false });
    const folder = at('../node_modules/.cache');
    mkdirSync(folder, { recursive: true });
    const file = `${folder}/szafa-server${passwordsCost === 'little' ? '' : '-long'}.mjs`;
    // In one step: another run may be starting it.
    writeFileSync(`${file}.${process.pid}`, output[0].code);
    renameSync(`${file}.${process.pid}`, file);
    return file;
  } finally {
    await bundle.close();
  }
}
