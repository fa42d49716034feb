/** Checks the import rules: what each package, and each folder of the server, may import. */
import { globSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join } from 'node:path';

const PACKAGES = ['protocol', 'format', 'client', 'server', 'cli', 'web'] as const;

/** Workspace packages that each package may import. `bench` and `tests` may import everything. */
const PACKAGE_IMPORTS: Record<string, string[]> = {
  protocol: [],
  format: ['@szafa/protocol'],
  client: ['@szafa/format', '@szafa/format/segments', '@szafa/protocol'],
  server: ['@szafa/protocol'],
  cli: ['@szafa/client', '@szafa/client/node', '@szafa/client/strength', '@szafa/format', '@szafa/protocol'],
  web: ['@szafa/client', '@szafa/client/qr', '@szafa/client/strength', '@szafa/format', '@szafa/protocol'],
};

/** Source that must also run in a browser, so it must not import Node modules. */
const BROWSER_SAFE = [/^(protocol|format|web)\/src\//, /^client\/src\/(?!node\/)/];

/** Files of the web app that run in a worker. All others run in the page, except for the bridge, which both sides import. */
const IN_WORKER = /\.worker\.ts$|^web\/src\/(worker|sealer|reader|sw)\//;
const BRIDGE = /^web\/src\/core\/bridge\//;

/** Whether an import mixes page and worker code. `?worker&url` only returns the script's address, so it is allowed. */
function crossesBridge(file: string, imported: string): boolean {
  if (!file.startsWith('web/src/') || imported.endsWith('?worker&url') || BRIDGE.test(imported)) return false;
  return BRIDGE.test(file) || IN_WORKER.test(file) !== IN_WORKER.test(imported);
}

interface Import {
  from: string;
  /** Path of the imported file. Undefined unless the import is relative. */
  file: string | undefined;
  isType: boolean;
}

interface Source {
  file: string;
  lines: number;
  imports: Import[];
}

const IMPORT = /(?:(import|export)\s+(type\s)?[^'"();]*?from|\bimport)\s*\(?\s*'([^']+)'/g;

export function readSources(): Source[] {
  return globSync(`{${PACKAGES.join(',')}}/src/**/*.{ts,tsx}`).map((file) => {
    const text = readFileSync(file, 'utf8');
    const imports = Array.from(text.matchAll(IMPORT), ([, , type, from = '']) => ({
      from,
      file: from.startsWith('.') ? join(dirname(file), from) : undefined,
      isType: type !== undefined,
    }));
    return { file, lines: text.split('\n').length - 1, imports };
  });
}

const packageOf = (file: string) => file.split('/')[0]!;

/** Returns the layer of a server file. Feature folders ("nouns") build on the platform; the fast lane is beside them, the top level above. */
function layerOf(file: string): 'platform' | 'noun' | 'command' | 'fastlane' | 'top' | undefined {
  const [, folder = '', rest] = /^server\/src\/([^/]+)(\/commands)?/.exec(file) ?? [];
  if (folder === '') return undefined;
  if (folder.endsWith('.ts')) return 'top';
  if (folder === 'platform' || folder === 'fastlane') return folder;
  return rest === undefined ? 'noun' : 'command';
}

/** Returns why a server file must not import another one; undefined if it may. */
function whyAgainstTree(file: string, imported: string, isType: boolean): string | undefined {
  const [from, to] = [layerOf(file), layerOf(imported)];
  if (from === undefined || to === undefined || from === 'top') return undefined;
  if (to === 'fastlane' && from !== 'fastlane') return 'only top-level files import the fast lane';
  if (from === 'platform' && to !== 'platform') return 'the platform knows nothing of what stands on it';
  // Commands are entry points like main.ts, so they may import the top level.
  if (to === 'top' && from !== 'command' && !isType && !imported.endsWith('/version.ts'))
    return 'only types come from the top level';
  return undefined;
}

/** Lists imports that break a rule. */
export function importFaults(sources: Source[]): string[] {
  const faults: string[] = [];
  for (const { file, imports } of sources) {
    const name = packageOf(file);
    for (const { from, file: imported, isType } of imports) {
      if (from.startsWith('@szafa/') && !PACKAGE_IMPORTS[name]!.includes(from))
        faults.push(`${file}: ${name} must not import ${from}`);
      if (imported !== undefined && packageOf(imported) !== name)
        faults.push(`${file}: ${from} leaves the package; import it by its name`);
      if (imported !== undefined && crossesBridge(file, imported))
        faults.push(`${file}: ${from} runs on the other side of the worker; share it in web/src/core/bridge`);
      const why = imported && whyAgainstTree(file, imported, isType);
      if (why) faults.push(`${file}: must not import ${from}: ${why}`);
      const isNode = from.startsWith('node:') || builtinModules.includes(from);
      if (isNode && BROWSER_SAFE.some((folder) => folder.test(file)))
        faults.push(`${file}: ${from} does not exist in a browser`);
      if (name === 'server' && from === 'node:http' && !isType)
        faults.push(
          `${file}: importing ${from} slows every start; see server/src/platform/http/node-http.ts`,
        );
    }
  }
  return faults;
}

/** Lists circular imports. Types and dynamic imports count: even then neither file can be understood without the other. */
export function circles(sources: Source[]): string[] {
  const imports = new Map(
    sources.map(({ file, imports }) => [file, imports.flatMap((one) => one.file ?? [])]),
  );
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

/** Formats the report: size of each package, folder with the most files, circular imports, and broken rules. */
export function report(sources: Source[]): string {
  const sizes = PACKAGES.map((name) => {
    const own = sources.filter(({ file }) => packageOf(file) === name);
    return [name, own.length, own.reduce((sum, { lines }) => sum + lines, 0)] as const;
  });
  const folders = Map.groupBy(sources, ({ file }) => dirname(file));
  const [widest, files] = [...folders].reduce((one, other) =>
    other[1].length > one[1].length ? other : one,
  );
  const rows = [
    ...sizes.map(([name, count, lines]) => [`lines in ${name}`, `${lines} in ${count} files`]),
    ['lines in all', String(sizes.reduce((sum, [, , lines]) => sum + lines, 0))],
    ['widest folder', `${files.length} files in ${widest}`],
    ['circles, dynamic imports included', String(circles(sources).length)],
    ['imports against the tree', String(importFaults(sources).length)],
  ];
  const width = Math.max(...rows.map(([name]) => name!.length));
  return rows.map(([name, value]) => `${name!.padEnd(width)}  ${value}`).join('\n');
}
