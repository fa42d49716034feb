import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Results } from '../src/results.ts';

const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

test('the cell that fills PostgreSQL writes rows that the service works with', {
  timeout: 300_000,
}, async () => {
  const args = [main, '--quick', '--only', 'accounts', '--peers', 'szafa', '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: 290_000 });
  const { accounts } = JSON.parse(stdout) as Results;
  assert.deepEqual(
    accounts.map(({ question }) => question),
    ['login', 'page', 'quota', 'init', 'complete', 'rmdir', 'sweep', 'scrape'],
  );
  for (const { few, many } of accounts) {
    assert.deepEqual([few.accounts, few.files, many.accounts, many.files], [2, 40, 20, 400]);
    assert.ok(few.ms > 0 && many.ms > 0);
  }
});
