import assert from 'node:assert/strict';
import { existsSync, statSync } from 'node:fs';
import { rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { useService } from '../harness/index.ts';
import { until, useChromium } from './browser.ts';
import { assertFlat, registerAt, visiting } from './visiting.ts';

const service = useService();
const browser = useChromium();
const NAME = 'large.bin';

describe('the page takes the same memory for 512 MiB and for 4 GiB', () => {
  /** Whose file has which size. What one test uploads, the next ones download. */
  const users = new Map<number, string>();

  test('an upload', async (t) => {
    await assertFlat(t, async (size, look) => {
      const { username } = await registerAt(service.url);
      const path = await browser.file(NAME, '');
      await truncate(path, size);
      await visiting(service.url, username, 'browser', async (visitor) => {
        look(visitor);
        await visitor.upload(path, () => look(visitor));
      });
      await rm(path);
      users.set(size, username);
    });
  });

  for (const way of ['browser', 'picker'] as const) {
    const where = way === 'browser' ? 'as the browser’s own' : 'into a file that the person names';
    test(`a download ${where}`, async (t) => {
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
