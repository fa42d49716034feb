// Builds the web app, and the command beside it, when their sources are not those of the last build. Plain JavaScript for any Node from
// 18.20 on; as a program of its own ("npm run build") it needs the pinned Node.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Everything that is built here depends on these; the lock stands for the packages. */
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

/** What went wrong, for a person: the line of vite's that names the error, without the checkout's place. */
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

/** The folder of a page that was built from these very sources, if it is there. */
export function builtPage(root, digest = digestOf(root)) {
  const built = join(root, 'web', 'dist');
  const mark = join(built, '.sources');
  return existsSync(mark) && readFileSync(mark, 'utf8') === digest ? built : undefined;
}

/**
 * The reason when the build failed; the service reads it from where the page would be. Silent when there is nothing to do.
 * An older page does not stay: it would speak to a service that it was not made for.
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
