import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { AccountDeletion } from '../src/accounts/deletion.ts';
import { Sweeper } from '../src/upkeep/sweeper.ts';
import { InProcess } from './in-process.ts';
import { begin } from './metadata.fixture.ts';

test('a clone whose end a failover lost has a manifest: it stays; one that is cut off before goes', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const file_id = await service.upload([randomBytes(100)]);
  const source = (await metadata.files.get(file_id))!;
  const begun = async (dirId: number, manifest: boolean) => {
    const fileId = randomBytes(16).toString('hex');
    await metadata.fileChanges.beginClone(source, { fileId, owner: 'admin', dirId, leaseUntil: 1 });
    await volumes.copy(file_id, fileId, await metadata.files.volumes(file_id));
    if (manifest) await volumes.writeManifest({ ...(await volumes.manifest(file_id))!, file_id: fileId });
    return fileId;
  };
  const { json } = await service.call('POST', pathOf('createDir'), { name: 'd' });
  const [whole, cut] = [await begun(0, true), await begun(Number(json['dir_id']), false)];
  await new Sweeper({ ...service.services, shared: false }).sweep();
  const groups = await Array.fromAsync(volumes.groups(), ({ id }) => id);
  assert.deepEqual(groups.sort(), [file_id, whole].sort());
  assert.ok(!groups.includes(cut));
  assert.equal(await metadata.garbage.count(), 0);
});

test('sessions and uploads are kept as long as each of them is set to', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes, config } = service.services;
  const [gone, filed] = [await service.begin([randomBytes(9)]), await service.begin([randomBytes(9)])];
  const [goneGroup, filedGroup] = await Promise.all(
    [gone, filed].map(async (id) => (await metadata.transfers.get(id))!.file_id),
  );
  const manifest = await volumes.manifest(await service.upload([randomBytes(9)]));
  for (const id of [goneGroup!, filedGroup!])
    await volumes
      .put(id, (await metadata.files.volumes(id))[0]!, { pour: async () => undefined })
      .catch(() => undefined);
  await volumes.writeManifest({ ...manifest!, file_id: filedGroup! });
  const open = () =>
    metadata.accounts.openSession('alice', 'h', { tokenHash: 'hash', device: '' }, Date.now());
  await metadata.accounts.create('alice', 'h', 0);
  await open();
  const sweepInHour = async (ttl: { sessionTtlMs: number; transferTtlMs: number }) => {
    const now = () => Date.now() + 3_600_000;
    await new Sweeper({ ...service.services, config: { ...config, ...ttl }, now, shared: false }).sweep();
    const groups = await Array.fromAsync(volumes.groups(), ({ id }) => id);
    return {
      session: (await metadata.sessions.get('hash')) !== undefined,
      transfer: (await metadata.transfers.get(gone)) !== undefined,
      groups: [groups.includes(goneGroup!), groups.includes(filedGroup!)],
    };
  };
  const [short, long] = [1000, 86_400_000];
  assert.deepEqual(await sweepInHour({ sessionTtlMs: short, transferTtlMs: long }), {
    session: false,
    transfer: true,
    groups: [true, true],
  });
  await open();
  // What has a manifest is a file of another database, and its volumes stay.
  assert.deepEqual(await sweepInHour({ sessionTtlMs: long, transferTtlMs: short }), {
    session: true,
    transfer: false,
    groups: [false, true],
  });
});

test('an upload that somebody goes on with while the sweeper looks at it stays', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes, config } = service.services;
  const volume = randomBytes(9);
  const [used, unused] = [await service.begin([volume]), await service.begin([volume])];
  const now = () => Date.now() + 2 * config.transferTtlMs;
  const group = (await metadata.transfers.get(used))!.file_id;
  const hasManifest = volumes.hasManifest.bind(volumes);
  t.mock.method(volumes, 'hasManifest', async (id: string) => {
    if (id === group) await metadata.transfers.touch(used, now());
    return hasManifest(id);
  });
  await new Sweeper({ ...service.services, now, shared: false }).sweep();
  assert.ok(await metadata.transfers.get(used));
  assert.equal(await metadata.transfers.get(unused), undefined);
});

test('a group that cannot be removed keeps no other one waiting', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const [bad, good] = ['1'.repeat(32), '2'.repeat(32)];
  for (const id of [bad, good]) await metadata.orphans.makeGarbage(id, 1);
  const remove = volumes.remove.bind(volumes);
  t.mock.method(volumes, 'remove', async (id: string) => {
    if (id === bad) throw new Error('not now');
    await remove(id);
  });
  await assert.rejects(new Sweeper({ ...service.services, shared: false }).sweep(), /sweep: 1 groups/);
  assert.deepEqual(
    [await metadata.garbage.isKnown(bad), await metadata.garbage.isKnown(good)],
    [true, false],
  );
});

test('another database that comes to have the store while much is removed ends the removal', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const ids = Array.from({ length: 150 }, () => randomBytes(16).toString('hex'));
  await Promise.all(ids.map((id) => metadata.orphans.makeGarbage(id, 1)));
  const sweeper = new Sweeper({ ...service.services, shared: false });
  const remove = volumes.remove.bind(volumes);
  t.mock.method(volumes, 'remove', async (id: string) => {
    await volumes.writeNote('store-mark', 'f'.repeat(32));
    await remove(id);
  });
  await sweeper.sweep();
  assert.equal(await metadata.garbage.count(), 50);
});

test('of what landed for pulls that are no more, only what is ours goes', async (t) => {
  const service = await InProcess.start(t);
  const landing = join(service.folder, 'landing');
  const open = (await service.services.metadata.transfers.get(await service.begin([randomBytes(9)])))!
    .file_id;
  for (const name of [open, '1'.repeat(32), 'of-somebody-else'])
    await mkdir(join(landing, name), { recursive: true });
  await service.services.pulls.removeUnused();
  assert.deepEqual((await readdir(landing)).sort(), [open, 'of-somebody-else'].sort());
});

test('a mark is known to the database before the store shows it', async (t) => {
  const { metadata, volumes, custody } = (await InProcess.start(t)).services;
  const known: boolean[] = [];
  const write = volumes.writeNote.bind(volumes);
  t.mock.method(volumes, 'writeNote', async (name: 'store-mark', text: string) => {
    known.push((await metadata.store.get()).marks.includes(text));
    await write(name, text);
  });
  assert.ok(await custody.keep());
  assert.deepEqual(known, [true]);
});

test('documents of a contested store stay as they are', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const fileId = await service.upload([randomBytes(9)]);
  const revIn = async () => (await volumes.manifest(fileId))!.rev;
  const sweep = () => new Sweeper({ ...service.services, shared: false }).sweep();
  await metadata.documents.markStale(fileId);
  await sweep();
  assert.equal(await revIn(), 1);
  await metadata.store.contest(Date.now());
  await metadata.documents.markStale(fileId);
  await sweep();
  assert.equal(await revIn(), 1);
});

test('an account that cannot be cleared keeps nothing else waiting; while the service is read-only none is', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes } = service.services;
  const leave = async (username: string) => {
    await metadata.accounts.create(username, 'h', 0);
    await metadata.dirs.create(username, 'd', 0);
    await metadata.deletions.begin(username, { actor: 'account', now: 1 });
  };
  const left = async () => (await metadata.deletions.listPending(9)).map(({ username }) => username);
  for (const name of ['ann', 'bob', 'eve']) await leave(name);
  await metadata.store.setReadOnly(true, 1, 'operator');
  const deletion = new AccountDeletion(metadata, volumes);
  for (const fault of await deletion.resumeAll()) assert.equal((fault as { status?: number }).status, 503);
  assert.equal((await left()).length, 3);
  assert.equal((await metadata.dirs.list('ann')).length, 1);
  await metadata.store.setReadOnly(false, 1, 'operator');

  // Its transfer cannot be looked at.
  const { fileId: file_id } = await begin(metadata, 'bob', { now: Date.now() });
  const fault = Object.assign(new Error('broken'), { code: 'EIO', syscall: 'stat' });
  const hasManifest = async (id: string) =>
    id === file_id ? Promise.reject(fault) : volumes.hasManifest(id);
  const gone = await service.upload([randomBytes(9)]);
  await metadata.fileChanges.remove(gone, 0);
  const stores = { ...service.services, volumes: Object.assign(Object.create(volumes), { hasManifest }) };
  await assert.rejects(
    new Sweeper({ ...stores, shared: false }).sweep(),
    (error) => error instanceof AggregateError && error.errors.includes(fault),
  );
  assert.deepEqual(await left(), ['bob']);
  assert.equal(await metadata.garbage.count(), 0, 'what waits behind it is done');
});

test('the trash is emptied when its time is over, with the bytes, and not in a contested store', async (t) => {
  const service = await InProcess.start(t);
  const { metadata, volumes, config } = service.services;
  const [old, young, kept] = [
    await service.upload([randomBytes(9)]),
    await service.upload([randomBytes(9)]),
    await service.upload([randomBytes(9)]),
  ];
  const day = 86_400_000;
  const now = Date.now() + 100 * day;
  await metadata.trash.put('admin', [old], now - config.trashMs - 1);
  await metadata.trash.put('admin', [young], now - config.trashMs + day);
  const sweep = () => new Sweeper({ ...service.services, shared: false, now: () => now }).sweep();
  const groups = async () => (await Array.fromAsync(volumes.groups(), ({ id }) => id)).sort();
  await sweep();
  assert.equal(await metadata.files.get(old), undefined);
  assert.ok(await metadata.files.get(young));
  assert.deepEqual(await groups(), [young, kept].sort());
  assert.ok((await volumes.manifest(young))?.trashed_at, 'the manifest says where it is');
  assert.deepEqual(await metadata.trash.restore('admin', [young]), []);
  await sweep();
  assert.equal((await volumes.manifest(young))?.trashed_at, undefined);
  await metadata.trash.put('admin', [young], now - config.trashMs - 1);
  await metadata.store.contest(Date.now());
  await sweep();
  assert.ok(await metadata.files.get(young));
  assert.deepEqual(await groups(), [young, kept].sort());
});
