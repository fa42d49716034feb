import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { lockFaults } from '../../scripts/lock.ts';

const lock = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');

test('the lock has every platform package that a locked package names', () => {
  assert.deepEqual(lockFaults(lock), []);
});

interface Lock {
  packages: Record<string, object>;
}

test('one that an older Node would not install is named', () => {
  const parsed = JSON.parse(lock) as Lock;
  const path = 'node_modules/@rolldown/binding-linux-arm64-gnu';
  Object.assign(parsed.packages[path]!, { engines: { node: '^20.19.0 || >=22.12.0' } });
  assert.deepEqual(lockFaults(JSON.stringify(parsed)), [
    `package-lock.json: remove "engines" of ${path}: npm on an older Node would not install it`,
  ]);
});

test('one that is missing is named', () => {
  const parsed = JSON.parse(lock) as Lock;
  delete parsed.packages['node_modules/@rolldown/binding-linux-arm64-gnu'];
  assert.deepEqual(lockFaults(JSON.stringify(parsed)), [
    'package-lock.json: @rolldown/binding-linux-arm64-gnu, which node_modules/rolldown names, is not locked',
  ]);
});
