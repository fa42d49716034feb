/** Measures how long the command takes to start: `npm run startup -w @szafa/cli`. The results are in docs/cli.md. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROUNDS = 21;
const at = (path: string) => fileURLToPath(new URL(path, import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'szafa-startup-'));
const packed = join(folder, 'szafa.cjs');
const env = { ...process.env, SZ_CONFIG: folder };

function once(args: string[]): number {
  const began = performance.now();
  spawnSync(process.execPath, args, { env, stdio: 'ignore' });
  return performance.now() - began;
}

try {
  spawnSync(process.execPath, [at('./pack.ts'), packed], { stdio: ['ignore', 'ignore', 'inherit'] });
  const launcher = at('../bin/szafa.mjs');
  const rows: [string, string[]][] = [
    ['node -e 0, for comparison', ['-e', '0']],
    ['packed: szafa --version', [packed, '--version']],
    ['packed: szafa put --help', [packed, 'put', '--help']],
    ['packed: szafa ls, up to "not logged in"', [packed, 'ls', '--server', 'http://127.0.0.1:1']],
    ['checkout: szafa --version', [launcher, '--version']],
    ['checkout: szafa put --help', [launcher, 'put', '--help']],
    ['checkout: szafa ls, up to "not logged in"', [launcher, 'ls', '--server', 'http://127.0.0.1:1']],
  ];
  // Warm up: the first run fills the compile cache.
  for (const [, args] of rows) once(args);
  const times = rows.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, args]] of rows.entries()) times[i]!.push(once(args));
  }
  for (const [i, [name]] of rows.entries()) {
    const sorted = times[i]!.sort((a, b) => a - b);
    console.log(`| ${name} | ${sorted[ROUNDS >> 1]!.toFixed(0)} ms |`);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
