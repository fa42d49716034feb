import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { InProcess, TOKEN } from './in-process.ts';

/** Volumes that this process has open. */
async function openVolumes(folder: string): Promise<string[]> {
  const numbers = await readdir('/proc/self/fd');
  const places = await Promise.all(numbers.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return places.filter((place) => place.startsWith(join(folder, 'volumes')));
}

test('no volume stays open, however it was asked for', async (t) => {
  const service = await InProcess.start(t);
  const file_id = await service.upload([randomBytes(300_000)]);
  const path = pathOf('readVolume', { file_id, idx: 1 });
  const ask = async (method: string, more: Record<string, string> = {}) => {
    const answer = await fetch(service.url + path, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, ...more },
    });
    await answer.arrayBuffer();
    return answer;
  };
  const etag = String((await ask('GET')).headers.get('etag'));
  const statuses = [
    await ask('HEAD'),
    await ask('GET', { range: 'bytes=5-9' }),
    await ask('GET', { range: 'bytes=300000-' }),
    await ask('GET', { 'if-none-match': etag }),
  ].map(({ status }) => status);
  assert.deepEqual(statuses, [200, 206, 416, 304]);
  for (let tries = 0; tries < 100 && (await openVolumes(service.folder)).length > 0; tries++)
    await ask('HEAD');
  assert.deepEqual(await openVolumes(service.folder), []);
});
