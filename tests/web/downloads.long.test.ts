import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bytesSource, fileSource } from '@szafa/client/node';
import { Disk } from '../faults/mounts.ts';
import { useService } from '../harness/index.ts';
import { until, useChromium } from './browser.ts';
import { SlowLine } from './slow-line.ts';
import { assertFlat, registerAt, SIZES, visiting } from './visiting.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;
const NAME = 'large.bin';
const QUIET_MS = 2_000;
const LIMIT_MS = 120_000;

describe('a download takes the same memory for 512 MiB and for 4 GiB', () => {
  const users = new Map<number, string>();

  before(async () => {
    for (const size of SIZES) {
      const szafa = await registerAt(service.url);
      const path = await browser.file(NAME, '');
      await truncate(path, size);
      await szafa.upload(await fileSource(path), { name: NAME });
      users.set(size, szafa.username);
    }
  });

  for (const way of ['browser', 'picker'] as const) {
    test(way === 'browser' ? 'as the browser’s own' : 'into a file that the person names', async (t) => {
      const folder = join(browser.folder, 'saved');
      await assertFlat(t, (size, look) =>
        visiting(service.url, users.get(size)!, way, async (visitor) => {
          await visitor.download(folder, () => look(visitor));
          if (way === 'picker') return;
          const saved = join(folder, NAME);
          await until(() => existsSync(saved));
          assert.equal(statSync(saved).size, size);
          await rm(saved);
        }),
      );
    });
  }
});

test('what the disk does not take is not fetched', async (t) => {
  await using disk = await Disk.create('ext4', 192 * MIB);
  const line = await SlowLine.start(t, () => service.url);
  const szafa = await registerAt(service.url);
  const content = randomBytes(128 * MIB);
  await szafa.upload(bytesSource(content), { name: NAME });
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
