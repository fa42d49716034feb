import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtPage } from '../../scripts/page.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let file: string | undefined;

/**
 * The command as it is given away, in one file; it also starts in half the time. The one beside the page where that was built
 * from these sources, as in every whole run; else packed once for a process of tests.
 */
export function packedCommand(): string {
  if (file) return file;
  const folder = mkdtempSync(join(tmpdir(), 'szafa-packed-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const made = join(folder, 'szafa');
  const page = builtPage(ROOT);
  if (page !== undefined) {
    copyFileSync(join(page, 'szafa.cjs'), made);
    chmodSync(made, 0o755);
  } else {
    const { status, stderr } = spawnSync(process.execPath, [join(ROOT, 'cli/scripts/pack.ts'), made], {
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  }
  file = made;
  return made;
}
