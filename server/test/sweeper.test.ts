import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { Sweeper } from '../src/domain/sweeper.ts';
import { InProcess } from './in-process.ts';

test('a clone whose end a failover lost has a manifest: it stays; one that is cut off before goes', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const file_id = await service.upload([randomBytes(100)]);
  const source = (await metadata.files.get(file_id))!;
  const begun = async (dirId: number, manifest: boolean) => {
    const fileId = randomBytes(16).toString('hex');
    await metadata.files.beginClone(source, { fileId, owner: 'admin', dirId, leaseUntil: 1 });
    await volumes.copy(file_id, fileId);
    if (manifest) await volumes.file({ ...(await volumes.documents(file_id)).manifest!, file_id: fileId });
    return fileId;
  };
  const { json } = await service.call('POST', pathOf('createDir'), { name: 'd' });
  const [whole, cut] = [await begun(0, true), await begun(Number(json['dir_id']), false)];
  await new Sweeper({ ...service.services, shared: false }).sweep();
  const groups = await Array.fromAsync(volumes.groups(), ({ id }) => id);
  assert.deepEqual(groups.sort(), [file_id, whole].sort());
  assert.ok(!groups.includes(cut));
  assert.equal(await metadata.marks.garbageGroups(), 0);
});

test('another database that comes to have the store while much is removed ends the removal', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const ids = Array.from({ length: 150 }, () => randomBytes(16).toString('hex'));
  await Promise.all(ids.map((id) => metadata.orphans.doom(id, 1)));
  const sweeper = new Sweeper({ ...service.services, shared: false });
  const remove = volumes.remove.bind(volumes);
  t.mock.method(volumes, 'remove', async (id: string) => {
    await volumes.writeNote('store-mark', 'f'.repeat(32));
    await remove(id);
  });
  await sweeper.sweep();
  assert.equal(await metadata.marks.garbageGroups(), 50);
});
