/**
 * Makes the package of the SDK as others install it: `npm run pack -w @szafa/client`, dist/szafa-client-VERSION.tgz.
 * In the workspace it runs from its sources; here they are compiled, with those of the format and the protocol beside them.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmPack } from '../../scripts/npm-pack.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const dist = join(root, 'client', 'dist');
const folder = join(dist, 'package');
const manifestOf = (name: string) => JSON.parse(readFileSync(join(root, name, 'package.json'), 'utf8'));

/** Specifiers as the compiled files need them. Done before compiling, so that source maps and declarations are exact. */
function forCompiled(text: string, file: string): string {
  return text
    .replace(/'(\.\.?\/[^']*)\.ts'/g, "'$1.js'")
    .replace(
      /'@szafa\/(protocol|format)(?:\/(\w+))?'/g,
      (_, name: string, module = 'index') => `'${relative(dirname(file), `${name}/${module}.js`)}'`,
    );
}

rmSync(folder, { recursive: true, force: true });
for (const name of ['client', 'format', 'protocol']) {
  for (const path of globSync('**/*.ts', { cwd: join(root, name, 'src') })) {
    const file = join(name, path);
    const text = readFileSync(join(root, name, 'src', path), 'utf8');
    mkdirSync(join(folder, 'src', dirname(file)), { recursive: true });
    writeFileSync(join(folder, 'src', file), forCompiled(text, file));
  }
}

const tsconfig = join(dist, 'tsconfig.json');
const compilerOptions = {
  noEmit: false,
  allowJs: false,
  allowImportingTsExtensions: false,
  rootDir: 'package/src',
  outDir: 'package/lib',
  declaration: true,
  declarationMap: true,
  sourceMap: true,
};
writeFileSync(
  tsconfig,
  JSON.stringify({ extends: '../../tsconfig.json', compilerOptions, include: ['package/src'] }),
);
const tsc = spawnSync(join(root, 'node_modules/.bin/tsc'), ['-p', tsconfig], { stdio: 'inherit' });
if (tsc.status !== 0) process.exit(1);

const { name, version, license, description, sideEffects, exports, dependencies } = manifestOf('client');
const others = Object.entries({ ...dependencies, ...manifestOf('protocol').dependencies }).filter(
  ([dependency]) => !dependency.startsWith('@szafa/'),
);
const sources: Record<string, string> = { ...exports, './format': './lib/format/index.ts' };
const compiled = Object.entries(sources).map(([path, source]) => {
  const file = source.replace('./src/', './lib/client/').replace(/\.ts$/, '');
  return [path, { types: `${file}.d.ts`, default: `${file}.js` }];
});
writeFileSync(
  join(folder, 'package.json'),
  JSON.stringify(
    {
      name,
      version,
      license,
      description,
      type: 'module',
      sideEffects,
      engines: { node: '>=26' },
      exports: Object.fromEntries(compiled),
      dependencies: Object.fromEntries(others),
    },
    undefined,
    2,
  ),
);
for (const file of ['client/README.md', 'LICENSE'])
  cpSync(join(root, file), join(folder, file.replace(/.*\//, '')));
console.log(npmPack([folder], dist)[0]);
