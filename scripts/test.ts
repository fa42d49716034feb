/** All tests: the checks, then the fast suites, then those that start and kill services. */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

const SUITES = [
  [
    'protocol/test/**/*.test.ts',
    'server/test/**/*.test.ts',
    'client/test/**/*.test.ts',
    'cli/test/**/*.test.ts',
  ],
  ['tests/blackbox/**/*.test.ts', 'bench/test/**/*.test.ts'],
  ['tests/faults/**/*.test.ts', 'tests/cross/**/*.test.ts'],
  ['tests/engines/**/*.test.ts', 'tests/nodes/**/*.test.ts', 'tests/web/**/*.test.ts'],
];

function run(args: string[]): void {
  const result = spawnSync(process.execPath, args, { stdio: 'inherit' });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

run(['scripts/check.ts']);
for (const patterns of SUITES) {
  const files = globSync(patterns).sort();
  if (files.length > 0) run(['--test', '--test-concurrency=3', '--test-timeout=300000', ...files]);
}
// The whole interface once more on PostgreSQL and S3; --all adds the two mixed pairs, which take minutes more.
run(['tests/engines/pairs.ts', ...process.argv.slice(2), ...globSync('tests/blackbox/**/*.test.ts').sort()]);
