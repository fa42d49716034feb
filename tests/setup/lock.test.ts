import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { lockFaults } from '../../scripts/lock.ts';

const lock = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');

test('the lock has every platform package that a locked package names', () => {
  assert.deepEqual(lockFaults(lock), []);
});

test('one that is missing is named', () => {
  const parsed = JSON.parse(lock) as { packages: Record<string, unknown> };
  delete parsed.packages['node_modules/@rolldown/binding-linux-arm64-gnu'];
  assert.deepEqual(lockFaults(JSON.stringify(parsed)), [
    'package-lock.json: @rolldown/binding-linux-arm64-gnu, which node_modules/rolldown names, is not locked',
  ]);
});
