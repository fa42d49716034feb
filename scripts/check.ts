/**
 * Checks everything that needs no running server: format, lint, types, imports, mutants, tables of the documentation.
 * `--report` prints the size and the shape of the source trees instead.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { circles, importFaults, readSources, report } from './imports.ts';
import { lockFaults } from './lock.ts';
import { migrationFaults } from './migrations.ts';
import { allMutants, mutantFaults } from './mutants.ts';
import { versionFaults } from './version.ts';

const bin = (name: string) => `node_modules/.bin/${name}`;

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

const sources = readSources();
if (process.argv.includes('--report')) {
  console.log(report(sources));
  process.exit();
}
const faults = [
  ...importFaults(sources),
  ...circles(sources),
  ...longFiles(),
  ...lockFaults(readFileSync('package-lock.json', 'utf8')),
  ...migrationFaults(),
  ...versionFaults(),
  ...mutantFaults(await allMutants()),
];
for (const fault of faults) console.error(fault);
/** Runs a program and prints its output in one piece. */
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
