// Builds the web app, and the command that it offers for download, if their sources have changed since the last build. Plain JavaScript
// for Node 18.20 or later; run directly ("npm run build"), it needs the pinned Node.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Files that the build depends on. The lock file stands for all installed packages. */
const SOURCES = [
  'web/src',
  'web/public',
  'web/build',
  'web/index.html',
  'web/share.html',
  'web/request.html',
  'web/vite.config.ts',
  'cli/src',
  'cli/scripts/bundle.ts',
  'client/src',
  'format/src',
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
        .update(`${relative(root, file)}\0`)
        .update(readFileSync(file))
        .update('\0');
    }
  }
  return hash.digest('hex');
}

/** Extracts the line of Vite's output that names the error, without the path of the checkout. */
function faultOf(root, { error, stderr }) {
  const lines = (error ? error.message : stderr).replaceAll(root, '.').split('\n');
  const telling = lines.find((line) => /error|cannot|failed/i.test(line)) ?? lines[0] ?? '';
  return (
    telling
      .replace(/\x1b\[[0-9;]*m/g, '')
      .trim()
      .slice(0, 300) || 'the build ended without a word'
  );
}

/** Returns the folder of the built web app if it is up to date. */
export function builtPage(root, digest = digestOf(root)) {
  const built = join(root, 'web', 'dist');
  const mark = join(built, '.sources');
  return existsSync(mark) && readFileSync(mark, 'utf8') === digest ? built : undefined;
}

/**
 * Builds the web app if needed. If the build fails, returns the reason and writes it to a file for the server. Deletes the old build
 * then: it may not match the server.
 */
export function buildPage(root, node, say) {
  const digest = digestOf(root);
  if (builtPage(root, digest) !== undefined) return undefined;
  const built = join(root, 'web', 'dist');
  say('building the web app');
  const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
  const build = spawnSync(node, [vite, 'build', join(root, 'web')], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'pipe'],
    encoding: 'utf8',
  });
  if (build.status === 0) {
    writeFileSync(join(built, '.sources'), digest);
    return undefined;
  }
  process.stderr.write(build.stderr ?? '');
  const fault = faultOf(root, build);
  rmSync(built, { recursive: true, force: true });
  mkdirSync(built, { recursive: true });
  writeFileSync(join(built, '.fault'), fault);
  return fault;
}

if (import.meta.main) {
  const say = (text) => console.error(`szafa: ${text}`);
  const fault = buildPage(fileURLToPath(new URL('..', import.meta.url)), process.execPath, say);
  if (fault !== undefined) {
    say(`the web app could not be built: ${fault}`);
    process.exitCode = 1;
  }
}
