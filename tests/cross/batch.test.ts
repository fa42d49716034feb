import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { assertBytes } from '../harness/bytes.ts';
import { useService } from '../harness/index.ts';
import { useDevice } from './account.ts';

const service = useService({ env: { SZ_WORKERS: '1' } });
const FILES = 200;

/** How many requests for several files there were. */
async function batches(): Promise<number> {
  const { text } = await service.call({ path: pathOf('metrics'), token: service.systemToken });
  const counts = text.matchAll(/^szafa_requests_total\{[^}]*route="\/api\/transfer\/files"[^}]*\} (\d+)/gm);
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

suite('szafa: many small files', () => {
  const shared = useDevice(service);

  test('a folder of many small files goes up in few requests, and comes back as it was', async () => {
    const { device } = shared;
    const before = await batches();
    const files = new Map<string, Buffer>();
    for (let at = 0; at < FILES; at++) files.set(`d${at % 7}/f${at}`, randomBytes((at * 977) % 70_000));
    for (const [name, bytes] of files) {
      await mkdir(join(device.path('many'), name, '..'), { recursive: true });
      await writeFile(join(device.path('many'), name), bytes);
    }
    const put = await device.ok(['put', 'many', '--json']);
    assert.equal(put.line('summary')['files'], FILES);
    const sent = (await batches()) - before;
    assert.ok(sent >= FILES / 32 - 1 && sent < FILES / 4, `${sent} requests`);
    await mkdir(device.path('back'));
    await device.ok(['get', 'many'], { cwd: device.path('back') });
    for (const [name, bytes] of files)
      assertBytes(await readFile(join(device.path('back/many'), name)), bytes);
    const again = await device.ok(['put', 'many', '--json']);
    assert.equal(again.line('summary')['skipped'], FILES);
  });
});
