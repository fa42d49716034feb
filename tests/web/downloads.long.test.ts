import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { bytesSource } from '@szafa/client/node';
import { Disk } from '../faults/mounts.ts';
import { useService } from '../harness/index.ts';
import { until } from './browser.ts';
import { SlowLine } from './slow-line.ts';
import { registerAt, visiting } from './visiting.ts';

const service = useService();
const MIB = 1024 * 1024;
const NAME = 'large.bin';
const QUIET_MS = 2_000;
const LIMIT_MS = 120_000;

test('what the disk does not take is not fetched', async (t) => {
  await using disk = await Disk.create('ext4', 192 * MIB);
  const line = await SlowLine.start(t, () => service.url);
  const szafa = await registerAt(service.url);
  const content = randomBytes(128 * MIB);
  await szafa.upload(bytesSource(content), { path: NAME });
  const written = async () =>
    (await readdir(disk.path)).some(
      (name) => name.startsWith(NAME) && statSync(join(disk.path, name)).size > 0,
    );
  await visiting(line.url, szafa.username, 'browser', async (visitor) => {
    line.bytesPerSecond = 8 * MIB;
    const end = performance.now() + LIMIT_MS;
    let isFrozen = false;
    let wasFrozen = false;
    let fetched = 0;
    let more = 0;
    let quietSince = 0;
    try {
      await visitor.download(disk.path, async () => {
        if (!wasFrozen && (await written())) {
          disk.freeze();
          isFrozen = true;
          wasFrozen = true;
          fetched = line.brought;
          quietSince = performance.now();
          line.bytesPerSecond = Number.POSITIVE_INFINITY;
        }
        if (!isFrozen) return;
        assert.ok(performance.now() < end, 'the page does not stop to fetch');
        if (line.brought - fetched !== more) quietSince = performance.now();
        more = line.brought - fetched;
        if (performance.now() - quietSince < QUIET_MS) return;
        disk.thaw();
        isFrozen = false;
      });
    } finally {
      if (isFrozen) disk.thaw();
    }
    assert.ok(wasFrozen, 'the download did not end before');
    t.diagnostic(`${more / MIB} MiB were fetched for a disk that took nothing`);
    // Four volumes are fetched ahead, and one is being passed on.
    assert.ok(more < 48 * MIB, `${more} bytes were fetched for a disk that took nothing`);
    const saved = join(disk.path, NAME);
    await until(() => existsSync(saved));
    assert.ok(content.equals(await readFile(saved)), 'the same bytes');
  });
});
