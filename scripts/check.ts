/** Everything that can be said without running the service: format, lint, types, imports, mutants, tables of the documentation. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';
import { lockFaults } from './lock.ts';
import { allMutants, mutantFaults } from './mutants.ts';

const bin = (name: string) => `node_modules/.bin/${name}`;

/** The import rule: what each package may import of ours. `bench` and `tests` may import everything. */
const MAY_IMPORT: Record<string, string[]> = {
  protocol: [],
  format: ['@szafa/protocol'],
  server: ['@szafa/protocol'],
  client: ['@szafa/format', '@szafa/format/segments', '@szafa/protocol'],
  cli: ['@szafa/client', '@szafa/client/node', '@szafa/client/strength', '@szafa/format', '@szafa/protocol'],
  web: ['@szafa/client', '@szafa/client/qr', '@szafa/client/strength', '@szafa/format', '@szafa/protocol'],
};
/** Folders that must also run in a browser: no Node module there. */
const BROWSER_SAFE = [/^(protocol|format)\/src\//, /^client\/src\/(?!node\/)/, /^web\/src\//];

/** Files of the web app that run in a worker; all others run in the page, but for the bridge, which both sides import. */
const IN_WORKER = /\.worker\.ts$|^web\/src\/(worker|sealer|reader|sw)\//;
const BRIDGE = /^web\/src\/core\/bridge\//;

/** A script that is only named, to be started as a worker, is not imported. */
function crossesBridge(file: string, from: string): boolean {
  if (!file.startsWith('web/src/') || !from.startsWith('.') || from.endsWith('?worker&url')) return false;
  const target = join(dirname(file), from);
  if (BRIDGE.test(target)) return false;
  return BRIDGE.test(file) || IN_WORKER.test(file) !== IN_WORKER.test(target);
}

function importFaults(): string[] {
  const faults: string[] = [];
  for (const file of globSync('{protocol,format,server,client,cli,web}/src/**/*.{ts,tsx}')) {
    const [name = ''] = file.split('/');
    const text = readFileSync(file, 'utf8');
    for (const [, isOfTypes, from = ''] of text.matchAll(
      /(import\s+type\s[^'"]*)?(?:from|import)\s*\(?\s*'([^']+)'/g,
    )) {
      const ours = from.startsWith('@szafa/');
      if (ours && !MAY_IMPORT[name]?.includes(from)) faults.push(`${file}: ${name} must not import ${from}`);
      if (from.startsWith('.') && new URL(from, `file:///${file}`).pathname.split('/')[1] !== name) {
        faults.push(`${file}: ${from} leaves the package; import it by its name`);
      }
      if (crossesBridge(file, from)) {
        faults.push(`${file}: ${from} runs on the other side of the worker; share it in web/src/core/bridge`);
      }
      const node = from.startsWith('node:') || builtinModules.includes(from);
      if (name === 'server' && from === 'node:http' && !isOfTypes) {
        faults.push(
          `${file}: an import of ${from} makes every start slower; see server/src/platform/http/node-http.ts`,
        );
      }
      if (node && BROWSER_SAFE.some((folder) => folder.test(file))) {
        faults.push(`${file}: ${from} does not exist in a browser`);
      }
    }
  }
  return faults;
}

/** Files that import each other, types included: neither can be read without the other. An `import()` waits until it is asked for. */
function circles(): string[] {
  const imports = new Map<string, string[]>();
  for (const file of globSync('{protocol,format,server,client,cli,web}/src/**/*.{ts,tsx}')) {
    const found = readFileSync(file, 'utf8').matchAll(/(?:from|^import)\s+'(\.[^']+)'/gm);
    imports.set(
      file,
      [...found].map(([, from = '']) => join(dirname(file), from)),
    );
  }
  const faults: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, path: string[]) => {
    if (path.includes(file))
      faults.push(`a circle: ${[...path.slice(path.indexOf(file)), file].join(' -> ')}`);
    else if (!done.has(file)) for (const next of imports.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of imports.keys()) visit(file, []);
  return faults;
}

const MOST_LINES = 350;

/** A long file says why it is one. */
function longFiles(): string[] {
  const exclude = (path: string) => /(^|\/)(node_modules|dist|artefacts)$/.test(path);
  return globSync('{protocol,format,server,client,cli,web,bench,scripts,tests}/**/*.{ts,tsx,mjs}', {
    exclude,
  }).flatMap((file) => {
    const text = readFileSync(file, 'utf8');
    const lines = text.split('\n').length - 1;
    if (lines <= MOST_LINES || /\bOne (file|list)\b/.test(text)) return [];
    return `${file} has ${lines} lines: split it, or say at its head why it is "One file"`;
  });
}

const faults = [
  ...importFaults(),
  ...circles(),
  ...longFiles(),
  ...lockFaults(readFileSync('package-lock.json', 'utf8')),
  ...mutantFaults(await allMutants()),
];
for (const fault of faults) console.error(fault);
/** What it says comes in one piece. */
async function passes(program: string, args: string[]): Promise<boolean> {
  // tsc computes for three seconds, a third of them to keep its memory small.
  const child = spawn(program, args, {
    env: { GOGC: '400', ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (part: Buffer) => said.push(part));
  const [code] = await once(child, 'close');
  process.stdout.write(Buffer.concat(said));
  return code === 0;
}
const results = await Promise.all([
  // Several checkers look at the same types several times, and the other cores have work.
  passes(bin('tsc'), ['-p', '.', '--checkers', '1']),
  passes(bin('biome'), ['check', '--error-on-warnings', '.']),
  passes(process.execPath, ['scripts/docs.ts', '--check']),
]);
process.exitCode = faults.length === 0 && results.every(Boolean) ? 0 : 1;
