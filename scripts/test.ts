/** All tests: the checks, then the fast suites, then those that start and kill services. */
import { spawnSync } from 'node:child_process';
import { globSync } from 'node:fs';

const SUITES = [
  [
    'protocol/test/**/*.test.ts',
    'server/test/**/*.test.ts',
    'client/test/**/*.test.ts',
    'cli/test/**/*.test.ts',
    'bench/test/**/*.test.ts',
  ],
  ['tests/{blackbox,cross,engines,faults,nodes,web}/**/*.test.ts'],
];
/** Those that take a minute or two by themselves begin first, so that nothing waits for them at the end. */
const LONG = /^tests\/(nodes\/|faults\/kills|blackbox\/settings|engines\/)/;
const byLength = (a: string, b: string) => Number(LONG.test(b)) - Number(LONG.test(a)) || a.localeCompare(b);

/** Each test file is a process of its own, and reads the same TypeScript as the others. */
const env = { NODE_COMPILE_CACHE: 'node_modules/.cache/compile', ...process.env };

function run(args: string[]): void {
  const result = spawnSync(process.execPath, args, { stdio: 'inherit', env });
  if (result.status !== 0) process.exit(result.status ?? 1);
}

run(['scripts/check.ts']);
for (const patterns of SUITES) {
  const files = globSync(patterns).sort(byLength);
  if (files.length > 0) run(['--test', '--test-concurrency=4', '--test-timeout=300000', ...files]);
}
// The whole interface once more on PostgreSQL and S3; --all adds the two mixed pairs, which take minutes more.
run(['tests/engines/pairs.ts', ...process.argv.slice(2), ...globSync('tests/blackbox/**/*.test.ts').sort()]);
