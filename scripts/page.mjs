// Builds the web app when its sources are not those of the last build. Plain JavaScript for any Node from 20 on.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Everything the built page depends on; the lock stands for the packages. */
const SOURCES = [
  'web/src',
  'web/public',
  'web/build',
  'web/index.html',
  'web/vite.config.ts',
  'client/src',
  'protocol/src',
  'package-lock.json',
];

function filesOf(root, path) {
  const whole = join(root, path);
  try {
    return readdirSync(whole, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
      .sort();
  } catch (error) {
    if (error.code === 'ENOTDIR') return [whole];
    throw error;
  }
}

function digestOf(root) {
  const hash = createHash('sha256');
  for (const path of SOURCES) {
    for (const file of filesOf(root, path)) {
      hash
        .update(`${file.slice(root.length)}\0`)
        .update(readFileSync(file))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

/** False when the build failed. Silent when there is nothing to do. */
export function buildPage(root, node, say) {
  const mark = join(root, 'web', 'dist', '.sources');
  const digest = digestOf(root);
  if (existsSync(mark) && readFileSync(mark, 'utf8') === digest) return true;
  say('building the web app');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const { status } = spawnSync(node, [vite, 'build', join(root, 'web')], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  if (status === 0) writeFileSync(mark, digest);
  return status === 0;
}
