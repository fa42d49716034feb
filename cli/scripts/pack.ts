/**
 * Packs the command for release: `npm run pack -w @szafa/cli [-- FILE | --sea]`
 *   no argument    dist/szafa-cli-VERSION.tgz, a package without dependencies
 *   FILE           only the bundled file, which Node 26 can run
 *   --sea          dist/szafa, an executable that contains the running Node, for this platform only
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { npmPack } from '../../scripts/npm-pack.ts';
import { bundleCommand } from './bundle.ts';

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const dist = at('../dist');

async function writeBundle(file: string): Promise<string> {
  writeFileSync(file, await bundleCommand(), { mode: 0o755 });
  return file;
}

async function makePackage(): Promise<string> {
  const folder = join(dist, 'package');
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  await writeBundle(join(folder, 'szafa.cjs'));
  const { name, version, license, description } = JSON.parse(readFileSync(at('../package.json'), 'utf8'));
  const manifest = {
    ...{ name, version, license, description },
    engines: { node: '>=26' },
    bin: { szafa: 'szafa.cjs' },
    man: 'szafa.1',
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, undefined, 2));
  cpSync(at('../README.md'), join(folder, 'README.md'));
  cpSync(at('../man/szafa.1'), join(folder, 'szafa.1'));
  cpSync(at('../../LICENSE'), join(folder, 'LICENSE'));
  return npmPack([folder], dist)[0]!;
}

async function makeExecutable(): Promise<string> {
  const output = join(dist, process.platform === 'win32' ? 'szafa.exe' : 'szafa');
  const main = await writeBundle(join(dist, 'szafa.cjs'));
  const config = join(dist, 'sea.json');
  writeFileSync(config, JSON.stringify({ main, output, disableExperimentalSEAWarning: true }));
  const { status } = spawnSync(process.execPath, [`--build-sea=${config}`], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status !== 0) throw new Error(`${process.execPath} made no executable`);
  return output;
}

const [how] = process.argv.slice(2);
mkdirSync(dist, { recursive: true });
console.log(await (how === '--sea' ? makeExecutable() : how ? writeBundle(how) : makePackage()));
