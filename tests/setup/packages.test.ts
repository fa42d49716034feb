import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const RUN = fileURLToPath(new URL('../../scripts/run.mjs', import.meta.url));

test('packages are installed by apt only by root, who is told what and how to prevent it', {
  skip: process.getuid?.() !== 0,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-apt-'));
  const called = join(folder, 'called');
  try {
    // There is no aria2 beside them. What apt-get is asked for is noted; the launcher needs readlink.
    await symlink('/usr/bin/readlink', join(folder, 'readlink'));
    await writeFile(join(folder, 'apt-get'), `#!/bin/sh\necho "$@" >> ${called}\n`);
    await chmod(join(folder, 'apt-get'), 0o755);
    const start = (env: Record<string, string>) =>
      spawnSync(process.execPath, [RUN, 'start'], {
        encoding: 'utf8',
        timeout: 120_000,
        stdio: ['ignore', 'pipe', 'pipe'],
        // Refused at once, by the service.
        env: { PATH: folder, HOME: folder, SZ_DATA: join(folder, 'data'), SZ_PORT: 'none', ...env },
      });
    const prevented = start({ SZ_NO_APT: '1' });
    assert.equal(prevented.status, 2, prevented.stderr);
    assert.match(prevented.stderr, /package aria2 is missing.*apt-get install aria2/);
    assert.match(prevented.stderr, /SZ_PORT/);
    assert.ok(!existsSync(called), 'apt was called');
    const told = start({});
    assert.match(told.stderr, /running, as root, apt-get install .*aria2.*SZ_NO_APT=1 prevents this/);
    assert.match(await readFile(called, 'utf8'), /^install -y --no-install-recommends .*aria2/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
