/**
 * Runs test files on PostgreSQL and S3, with --all also on the two mixed pairs of stores, with the real engines behind
 * them. The default pair, SQLite and a folder, is what the same files run on by themselves. The pairs run side by
 * side: their tests wait for time limits as often as they compute.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

const all = process.argv.includes('--all');
const files = process.argv.slice(2).filter((arg) => arg !== '--all');
const [postgres, ceph] = await Promise.all([Postgres.start({ max_connections: '400' }), Ceph.start()]);
const database = { SZ_TEST_DATABASE: `${postgres.url}?schema={id}` };
const volumes = { SZ_TEST_VOLUMES: ceph.url('{id}'), ...ceph.environment };
const pairs = {
  'PostgreSQL and S3': { ...database, ...volumes },
  ...(all && { 'PostgreSQL and a folder': database, 'SQLite and S3': volumes }),
};

/** Its output comes at the end, in one piece; false when a test has failed. */
async function runOn(name: string, stores: Record<string, string>): Promise<boolean> {
  const args = [
    '--test',
    `--test-concurrency=${all ? 2 : 4}`,
    '--test-timeout=300000',
    '--test-reporter=dot',
    ...files,
  ];
  // One worker: that any of several does is tested with the default pair.
  const env = { ...process.env, ...stores, SZ_TEST_WORKERS: '1' };
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'], env });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = await once(child, 'close');
  console.log(`stores: ${name}\n${output}`);
  return code === 0;
}

try {
  const results = await Promise.all(Object.entries(pairs).map(([name, stores]) => runOn(name, stores)));
  process.exitCode = results.every(Boolean) ? 0 : 1;
} finally {
  await Promise.all([postgres.stop(), ceph.stop()]);
}
