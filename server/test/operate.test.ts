import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from '../src/operator/commands/main.ts';
import { Report, UsageError } from '../src/operator/commands/report.ts';
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

test('progress shows how much there is, the rate and the time left; the last line has no riddle', async () => {
  const [out, progress]: string[][] = [[], []];
  const report = new Report(
    true,
    (line) => void out!.push(line),
    (line) => void progress!.push(line),
  );
  report.expect({ files: 4, bytes: 4000 });
  report.count('bytes already there', 1000);
  report.count('files');
  await new Promise((resolve) => setTimeout(resolve, 1100));
  report.count('bytes', 1000);
  await new Promise((resolve) => setTimeout(resolve, 1100));
  report.count('files');
  const shown = progress!.map((line) => (JSON.parse(line) as { progress: Record<string, number> }).progress);
  assert.deepEqual([shown.at(-1)!['files_total'], shown.at(-1)!['bytes_total']], [4, 4000]);
  const { bytes_per_second: rate = 0, seconds_left: left = 0 } = shown.at(-1)!;
  assert.ok(rate > 100 && rate < 1000, String(rate));
  assert.ok(left >= 2 && left <= 60, String(left));
  assert.equal(report.end(), 0);
  const words: string[] = [];
  new Report(false, (line) => void words.push(line)).end();
  assert.deepEqual(words, ['ok']);
});

test('as text, lists are tables and sizes are readable; JSON has every field as it is', () => {
  const show = (json: boolean) => {
    const lines: string[] = [];
    const report = new Report(json, (line) => void lines.push(line));
    const addRow = report.table<{ name: string; bytes: number }>({
      NAME: ({ name }) => name,
      SIZE: ({ bytes }) => ({ bytes }),
    });
    addRow({ name: 'ann', bytes: 5 });
    addRow({ name: 'benedict', bytes: 3 * 1024 ** 3 });
    report.end();
    report.details({ used_bytes: 2048, disabled_at: null, limits: { upload_rate: 1024, pulls: null } });
    return lines;
  };
  assert.deepEqual(show(false), [
    'NAME          SIZE',
    'ann            5 B',
    'benedict  3.00 GiB',
    'ok',
    'used:                2.00 KiB',
    'disabled at:         none',
    'limits upload rate:  1.00 KiB per second',
    'limits pulls:        default',
  ]);
  assert.deepEqual(show(true).slice(0, 3), [
    '{"name":"ann","bytes":5}',
    '{"name":"benedict","bytes":3221225472}',
    '{"ok":true}',
  ]);
});
