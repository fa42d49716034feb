import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { builtPage } from '../../scripts/page.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
let file: string | undefined;
let quick: string | undefined;

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

const COST = '{m:65536,t:3,p:1}';

/**
 * The same, but that it derives keys from a password in no time, where it would take most of what a command does. Its passwords open
 * nothing for the command as it is given away, for the SDK or for the page, nor theirs for it.
 */
export function quickCommand(): string {
  if (quick) return quick;
  const made = join(dirname(packedCommand()), 'szafa-quick');
  const [before, after, ...more] = readFileSync(packedCommand(), 'utf8').split(COST);
  assert.ok(after !== undefined && more.length === 0, 'the command says otherwise what deriving keys costs');
  writeFileSync(made, `${before}{m:64,t:1,p:1}${after}`, { mode: 0o755 });
  quick = made;
  return made;
}
