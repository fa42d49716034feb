import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../src/admin/main.ts';
import { UsageError } from '../src/admin/report.ts';
import { InProcess, TOKEN } from './in-process.ts';

test('commands of operators that cannot be meant are refused before anything is done', async (t) => {
  const { folder } = await InProcess.start(t);
  const env = { SZ_DATA: folder, SZ_SYSTEM_TOKEN: TOKEN };
  const wrong = [
    ['account'],
    ['account', 'remove', 'ann'],
    ['account', 'show'],
    ['account', 'show', 'ann', 'bob'],
    ['account', 'show', 'ann', '--days', '3'],
    ['account', 'show', 'ann', '--nothing'],
    ['account', 'quota', 'ann', '5X'],
    ['account', 'quota', 'ann', '9999999999T'],
    ['account', 'quota', 'ann', ''],
    ['account', 'limits', 'ann', '--upload-rate', '5'],
    ['account', 'limits', 'ann', '--pulls', '0'],
    ['account', 'list', '--limit', '0'],
    ['account', 'invite', '--days', '400'],
    ['account', 'invite', '--note', 'x'.repeat(201)],
    ['transfers', 'cancel'],
    ['status', 'all'],
    ['read-only'],
    ['read-only', 'maybe'],
    ['audit', '--limit', 'x'],
  ];
  for (const [name = '', ...args] of wrong) {
    await assert.rejects(
      runCommand(name, args, env),
      (error) => error instanceof UsageError && /^[^\n]+$/.test(error.message),
      `${name} ${args.join(' ')}`,
    );
  }
});
