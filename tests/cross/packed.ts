import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

let file: string | undefined;

/** The command as it is given away, in one file; it also starts in half the time. Packed once for a test file. */
export function packedCommand(): string {
  if (file) return file;
  const folder = mkdtempSync(join(tmpdir(), 'szafa-packed-'));
  const made = join(folder, 'szafa');
  const script = fileURLToPath(new URL('../../cli/scripts/pack.ts', import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [script, made], { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  file = made;
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  return made;
}
