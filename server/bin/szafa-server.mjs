#!/usr/bin/env node
// Runs on any Node from 20 on: the service itself needs a newer one, which the workspace brings along.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

const LEAST_MAJOR = 26;
const main = fileURLToPath(new URL('../src/main.ts', import.meta.url));

/** The Node of the checkout. */
function pinnedNode() {
  const name = `node-${process.platform}-${process.arch}/bin/node`;
  const folders = createRequire(import.meta.url).resolve.paths(name) ?? [];
  return folders.map((folder) => `${folder}/${name}`).find((file) => existsSync(file));
}

const isNew = Number(process.versions.node.split('.')[0]) >= LEAST_MAJOR;
const node = isNew ? process.execPath : pinnedNode();
if (node) {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 1);
  });
} else {
  process.stderr.write(
    `szafa-server: this is Node ${process.versions.node}, Node ${LEAST_MAJOR} is needed\n`,
  );
  process.stderr.write('hint: run "npm ci" in the checkout, which brings it along\n');
  process.exitCode = 1;
}
