import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { stat, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileSource, Szafa } from '@szafa/client/node';
import { Visitor } from '../../bench/src/visitor.ts';
import { freshName, useService } from '../harness/index.ts';
import { PASSWORD, until, useChromium } from './browser.ts';

const service = useService();
const browser = useChromium();
const MIB = 1024 * 1024;

test('a large download takes little memory, whichever way it goes to disk', async (t) => {
  const size = 384 * MIB;
  const username = freshName();
  const path = await browser.file('large.bin', '');
  await truncate(path, size);
  const szafa = await Szafa.register({ server: service.url }, { username, password: PASSWORD });
  await szafa.upload(await fileSource(path), { name: 'large.bin' });
  const folder = join(browser.folder, 'saved');
  for (const way of ['browser', 'picker'] as const) {
    // One that no test watches: what a browser shows to those who watch, it keeps in memory for them.
    const visitor = await Visitor.enter(service.url, username, PASSWORD, way);
    try {
      const [before, ...during] = await visitor.download(folder);
      const more = Math.max(...during) - before!;
      t.diagnostic(`${way}: ${Math.round(before! / MIB)} MiB before, ${Math.round(more / MIB)} more`);
      // A collector's mood explains half of it, however large the file is.
      assert.ok(more < (size * 2) / 3, `${more} bytes more for a file of ${size}`);
      if (way === 'browser') await until(() => existsSync(join(folder, 'large.bin')));
    } finally {
      await visitor.stop();
    }
  }
  assert.equal((await stat(join(folder, 'large.bin'))).size, size);
});
