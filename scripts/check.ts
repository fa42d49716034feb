/**
 * Runs all checks that need no running server: format, lint, types, imports, mutants, generated documentation.
 * `--report` prints the size and structure of the source trees instead.
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

/** Lists files that are too long and do not explain in a comment why they are one file. */
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
/** Runs a program and prints its output at the end, so that parallel checks do not mix their lines. */
async function passes(program: string, args: string[]): Promise<boolean> {
  // GOGC: tsc spends a third of its three seconds in the garbage collector by default.
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
  // One checker: several would repeat work, and the other cores are busy with the other checks.
  passes(bin('tsc'), ['-p', '.', '--checkers', '1']),
  passes(bin('biome'), ['check', '--error-on-warnings', '.']),
  passes(process.execPath, ['scripts/docs.ts', '--check']),
]);
process.exitCode = faults.length === 0 && results.every(Boolean) ? 0 : 1;
