import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function built(folder: string): Promise<Map<string, string>> {
  const names = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile() && entry.name !== '.sources');
  const digests = files.map(async (entry) => {
    const path = join(entry.parentPath, entry.name);
    const digest = createHash('sha256')
      .update(await readFile(path))
      .digest('hex');
    return [path.slice(folder.length), digest] as const;
  });
  return new Map((await Promise.all(digests)).sort());
}

test('built twice, byte for byte the same', async (t) => {
  const place = await mkdtemp(join(tmpdir(), 'szafa-built-'));
  t.after(() => rm(place, { recursive: true }));
  const [first, second] = [join(place, 'one'), join(place, 'two')];
  for (const folder of [first, second]) {
    const vite = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
    const env = { ...process.env, SZAFA_WEB_OUT: folder };
    const result = spawnSync(process.execPath, [vite, 'build', join(root, 'web')], { env, encoding: 'utf8' });
    assert.equal(result.status, 0, result.stderr);
  }
  const files = await built(first);
  assert.ok(files.size > 5);
  assert.deepEqual(files, await built(second));
  assert.deepEqual(
    files,
    await built(join(root, 'web', 'dist')),
    'what the service serves is built from these sources',
  );
});
