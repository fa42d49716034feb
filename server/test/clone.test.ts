import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf, type Volume } from '@szafa/protocol';
import { InProcess } from './in-process.ts';

for (const moment of ['before its volumes are copied', 'when its volumes have been copied'] as const) {
  test(`the source of a clone vanishes ${moment}: 404, and nothing is left of the copy`, async (t) => {
    const service = await InProcess.start(t);
    const { volumes } = service.services;
    const fileId = await service.upload([randomBytes(1000), randomBytes(10)]);
    const vanish = async () => {
      const gone = await service.call('DELETE', pathOf('deleteFile', { file_id: fileId }));
      assert.equal(gone.status, 200);
    };
    const copy = volumes.copy.bind(volumes);
    t.mock.method(volumes, 'copy', async (from: string, to: string, specs: Volume[]) => {
      if (moment === 'before its volumes are copied') await vanish();
      await copy(from, to, specs);
      if (moment === 'when its volumes have been copied') await vanish();
    });
    const answer = await service.call('POST', pathOf('cloneFile', { file_id: fileId }));
    assert.equal(answer.status, 404, JSON.stringify(answer.json));
    assert.deepEqual(Object.keys(answer.json), ['error']);
    const listed = await service.call('GET', pathOf('listFiles'));
    assert.deepEqual(listed.json, { files: [] });
    assert.deepEqual(await Array.fromAsync(volumes.groups()), []);
    assert.equal(await service.services.metadata.garbage.count(), 0);
  });
}

test('a source that lacks a volume is not cloned: 409, and nothing is left of the copy', async (t) => {
  const service = await InProcess.start(t);
  const fileId = await service.upload([randomBytes(1000), randomBytes(10)]);
  const folder = join(service.folder, 'volumes', fileId.slice(0, 2), fileId);
  const second = (await readdir(folder)).find((name) => name.startsWith('2-'))!;
  await rm(join(folder, second));
  const refused = await service.call('POST', pathOf('cloneFile', { file_id: fileId }));
  assert.deepEqual([refused.status, Object.keys(refused.json)], [409, ['error']]);
  const groups = await Array.fromAsync(service.services.volumes.groups(), ({ id }) => id);
  assert.deepEqual(groups, [fileId]);
  assert.equal(await service.services.metadata.garbage.count(), 0);
});

test('a copy that fails while its source stands is 409', async (t) => {
  const service = await InProcess.start(t);
  const fileId = await service.upload([randomBytes(1000)]);
  const fault = Object.assign(new Error('EIO: i/o error'), { code: 'EIO', syscall: 'copyfile' });
  const failing = t.mock.method(service.services.volumes, 'copy', () => Promise.reject(fault));
  const path = pathOf('cloneFile', { file_id: fileId });
  const refused = await service.call('POST', path);
  assert.deepEqual([refused.status, Object.keys(refused.json)], [409, ['error']]);
  failing.mock.restore();
  assert.equal((await service.call('POST', path)).status, 200);
});
