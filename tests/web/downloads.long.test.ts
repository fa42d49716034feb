import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, statSync } from 'node:fs';
import { readdir, readFile, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { before, describe, test } from 'node:test';
import { bytesSource, fileSource, Szafa } from '@szafa/client/node';
import { Visitor } from '../../bench/src/visitor.ts';
import { Disk } from '../faults/mounts.ts';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD, until, useChromium } from './browser.ts';
import { SlowLine } from './slow-line.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;
const NAME = 'large.bin';
const QUIET_MS = 2_000;
const LIMIT_MS = 120_000;

/** A browser that no test watches: what a browser shows to those who watch, it keeps in memory for them. */
async function visiting<T>(
  url: string,
  username: string,
  way: 'browser' | 'picker',
  work: (visitor: Visitor) => Promise<T>,
): Promise<T> {
  const visitor = await Visitor.enter(url, username, PASSWORD, way);
  try {
    return await work(visitor);
  } finally {
    await visitor.stop();
  }
}

async function register(): Promise<Szafa> {
  return Szafa.register({ server: service.url }, { username: freshName(), password: PASSWORD });
}

describe('a download takes the same memory for 512 MiB and for 4 GiB', () => {
  const sizes = [512 * MIB, 4096 * MIB];
  const users: string[] = [];

  before(async () => {
    for (const size of sizes) {
      const szafa = await register();
      const path = await browser.file(NAME, '');
      await truncate(path, size);
      await szafa.upload(await fileSource(path), { name: NAME });
      users.push(szafa.username);
    }
  });

  for (const way of ['browser', 'picker'] as const) {
    test(way === 'browser' ? 'as the browser’s own' : 'into a file that the person names', async (t) => {
      const folder = join(browser.folder, 'saved');
      const most: number[] = [];
      for (const [at, size] of sizes.entries()) {
        const looks: number[] = [];
        await visiting(service.url, users[at]!, way, async (visitor) => {
          await visitor.download(folder, () => void looks.push(visitor.bytes));
          if (way === 'picker') return;
          const saved = join(folder, NAME);
          await until(() => existsSync(saved));
          assert.equal(statSync(saved).size, size);
          await rm(saved);
        });
        most.push(Math.max(...looks));
        t.diagnostic(`${size / MIB} MiB: ${looks[0]! / MIB} MiB before, at most ${most[at]! / MIB}`);
      }
      const [least, largest] = most as [number, number];
      assert.ok(largest - least < 100_000_000, `${largest - least} bytes more for the larger file`);
    });
  }
});

test('what the disk does not take is not fetched', async (t) => {
  await using disk = await Disk.create('ext4', 192 * MIB);
  const line = await SlowLine.start(t, () => service.url);
  const szafa = await register();
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
