/** The command with its Node inside, on a machine that has no other. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { assertBytes } from '../harness/bytes.ts';
import { freshName, useService } from '../harness/index.ts';

const PACK = fileURLToPath(new URL('../../cli/scripts/pack.ts', import.meta.url));
const service = useService();

test('a single executable registers, uploads and downloads without Node', () => {
  const made = spawnSync(process.execPath, [PACK, '--sea'], { encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  const executable = made.stdout.trim();
  const folder = mkdtempSync(join(tmpdir(), 'szafa-executable-'));
  try {
    // Of several volumes, each of them large enough for a thread of its own.
    writeFileSync(join(folder, 'file'), Buffer.alloc(3_000_000, 'szafa'));
    const env = {
      ...{ PATH: folder, SZ_CONFIG: join(folder, 'config'), SZ_SERVER: service.url },
      ...{ SZ_USER: freshName(), SZ_PASSWORD: 'a long and quiet evening' },
    };
    const put = ['put', 'file', '--volume-size', '1M'];
    for (const args of [['register'], put, ['get', 'file', '--output', 'copy']]) {
      const { status, stderr } = spawnSync(executable, args, { cwd: folder, env, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
    }
    assertBytes(readFileSync(join(folder, 'copy')), readFileSync(join(folder, 'file')));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
