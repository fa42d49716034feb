/**
 * Runs test files on PostgreSQL and S3, the real engines behind them; with --all also on each of the two beside the
 * other's default. The default pair, SQLite and a folder, is what the same files run on by themselves.
 */
import { spawnSync } from 'node:child_process';
import { Ceph } from './ceph.ts';
import { Postgres } from './postgres.ts';

const all = process.argv.includes('--all');
const files = process.argv.slice(2).filter((argument) => argument !== '--all');
const [postgres, ceph] = await Promise.all([Postgres.start({ max_connections: '400' }), Ceph.start()]);
const database = { SZ_TEST_DATABASE: `${postgres.url}?schema={id}` };
const volumes = { SZ_TEST_VOLUMES: ceph.url('{id}'), ...ceph.environment };
const pairs = {
  'PostgreSQL and S3': { ...database, ...volumes },
  ...(all ? { 'PostgreSQL and a folder': database, 'SQLite and S3': volumes } : {}),
};
let failed = false;
try {
  for (const [name, stores] of Object.entries(pairs)) {
    console.log(`stores: ${name}`);
    const args = ['--test', '--test-concurrency=2', '--test-timeout=300000', '--test-reporter=dot', ...files];
    const result = spawnSync(process.execPath, args, {
      stdio: 'inherit',
      env: { ...process.env, ...stores },
    });
    failed ||= result.status !== 0;
  }
} finally {
  await Promise.all([postgres.stop(), ceph.stop()]);
}
process.exitCode = failed ? 1 : 0;
