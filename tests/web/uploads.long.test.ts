import { rm, truncate } from 'node:fs/promises';
import { test } from 'node:test';
import { useService } from '../harness/index.ts';
import { useChromium } from './browser.ts';
import { assertFlat, registerAt, visiting } from './visiting.ts';

const service = useService();
const browser = useChromium();

test('an upload takes the same memory for 512 MiB and for 4 GiB', async (t) => {
  await assertFlat(t, async (size, look) => {
    const szafa = await registerAt(service.url);
    const path = await browser.file('large.bin', '');
    await truncate(path, size);
    await visiting(service.url, szafa.username, 'browser', async (visitor) => {
      look(visitor);
      await visitor.upload(path, () => look(visitor));
    });
    await rm(path);
  });
});
