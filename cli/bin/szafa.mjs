#!/usr/bin/env node
// The command in a checkout, on any Node from 18.20 on: it needs a newer one, which the workspace brings along.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module, { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import v8 from 'node:v8';

const LEAST_MAJOR = 26;
const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** The Node of the checkout. */
function pinnedNode() {
  const require = createRequire(import.meta.url);
  const name = `node-${process.platform}-${process.arch}/bin/node`;
  for (const folder of require.resolve.paths(name) ?? []) {
    const file = `${folder}/${name}`;
    if (existsSync(file)) return file;
  }
  return undefined;
}

function runWith(node) {
  // The channel tells the other process when this one is gone, however it ended.
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
  // A command lives for seconds, in which thousands of small files may pass: what V8 learns about code it learns from
  // the first call on, and the young generation grows in one step.
  v8.setFlagsFromString('--no-lazy-feedback-allocation');
  v8.setFlagsFromString('--semi-space-growth-factor=16');
  // Compiled once: half of the time to start is spent on reading TypeScript.
  const cache = at('../../node_modules/.cache/szafa');
  module.enableCompileCache?.(cache);
  // For the threads, which else read TypeScript by themselves: 17 MB each.
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
