/** A new master key: all that is under the old one goes under it, whatever is in between. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { epochOfShareRecord, newRecoveryKey, openFileName, parseHeader } from '@szafa/format';
import { readTrashed, trashFiles } from '../src/files/calls.ts';
import { bytesSource, RequestVisit, Szafa } from '../src/index.ts';
import { proxy, service } from './hostile.ts';
import { byName, epochsOf, more, NAMES, said, sent, setUp, visiting } from './resealing.ts';
import { content, optionsFor, password, quick, readAll } from './service.ts';

test('everything is under the new key, nothing is uploaded again, and a second run has nothing to do', async () => {
  const { user, there } = await setUp(5);
  const before = await said(user);
  const key = newRecoveryKey(quick);
  await there.replaceMaster({ password }, key);
  proxy.requests.length = 0;
  const { failed, ...result } = await there.reseal();
  assert.deepEqual([result, failed], [{ epoch: 2, files: 7, dirs: 1, shares: 0, requests: 0 }, []]);
  assert.ok(!proxy.requests.some(({ path }) => path.startsWith('/api/transfer')));
  assert.deepEqual(await said(there), before);
  assert.deepEqual(await epochsOf(there), Array(7).fill(2));
  // Of the old master key nothing is needed any more, but it is kept.
  const [current, earlier, ...rest] = await there.keys.masters();
  assert.deepEqual([current!.epoch, earlier!.epoch, rest.length], [2, 1, 0]);
  for (const { record } of await there.list()) {
    const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
    assert.equal(await openFileName(quick, earlier!.key, record.file_name, binding), undefined);
  }
  assert.deepEqual(
    (await there.dirs()).map(({ name, verified }) => [name, verified]),
    [
      ['papers', true],
      ['shown', false],
    ],
  );
  // On another device, by the password and by the new recovery key.
  const device = await Szafa.login(optionsFor(service.url, more), { username: user.username, password });
  for (const { fileId, record } of await device.list()) {
    const bytes = await readAll((await device.openFile(fileId, { record })).stream());
    assert.equal(bytes.length, (await device.openFile(fileId)).metadata.size);
  }
  proxy.requests.length = 0;
  assert.deepEqual(await there.reseal(), { epoch: 2, files: 0, dirs: 0, shares: 0, requests: 0, failed: [] });
  assert.equal(sent(), 0);
  await there.replaceMaster({ password }, key);
  assert.equal((await there.reseal()).files, 7, 'and once more');
  const back = await Szafa.recover(optionsFor(service.url, more), {
    username: user.username,
    recoveryKey: key,
    renew: async () => ({ password: 'another horse and battery', recoveryKey: newRecoveryKey(quick) }),
  });
  assert.deepEqual(await said(back), before);
});

test('cut off in the middle, both keys open what they sealed, and the next run does the rest', async () => {
  const { user, there } = await setUp(3);
  const before = await said(user);
  // The answer is lost: the bag is there.
  proxy.hostility = ({ path }) => (path === '/api/auth/password' ? 'cut' : undefined);
  await there.replaceMaster({ password }, newRecoveryKey(quick));
  // Nothing of the names arrives; the request has ended before.
  const asked = { folder: 'in', files: 9, size: 1000 };
  const { link } = await user.requestLink(asked);
  await RequestVisit.begin(link, visiting).then((visit) =>
    visit.upload(bytesSource(content(7)), { name: 'came' }),
  );
  proxy.hostility = () => undefined;
  proxy.before = (_method, path) => (path === NAMES ? 'cut' : undefined);
  await assert.rejects(there.reseal(), { code: 'network' });
  proxy.before = undefined;
  const device = await Szafa.login(optionsFor(service.url, more), { username: user.username, password });
  assert.deepEqual(await said(device), before);
  await device.upload(bytesSource(content(1)), { path: 'later' });
  assert.deepEqual(new Set(await epochsOf(device)), new Set([1, 2]));
  await device.makeDir('papers too');
  // The names arrive, but the answer is lost; the second attempt must not be taken for somebody else's change.
  let lost = 0;
  proxy.hostility = ({ path }) => (path === NAMES && lost++ === 0 ? 'cut' : undefined);
  assert.deepEqual(await there.reseal(), { epoch: 2, files: 5, dirs: 1, shares: 0, requests: 0, failed: [] });
  proxy.hostility = () => undefined;
  assert.deepEqual(new Set(await epochsOf(device)), new Set([2]));
  assert.equal((await said(there)).length, before.length + 1);
  // Whoever has the first key reads nothing more by that link; what came is there, and a new one stays.
  await assert.rejects(RequestVisit.begin(link, visiting), { code: 'link-over', why: 'ended' });
  const { id } = await there.requestLink(asked);
  assert.equal((await there.reseal()).requests, 0);
  assert.deepEqual(
    (await there.requests()).map((one) => [one.id, one.ended]),
    [[id, null]],
  );
  const [came] = await there.deliveries();
  assert.equal(await there.takeOver(came!, { folder: 'in' }), 'in/came');
});

test('a file that changes or goes meanwhile keeps nobody else, and one that does not open is told', async () => {
  const { user, there } = await setUp(4);
  await there.replaceMaster({ password }, undefined);
  // The session of before has ended with the old key.
  const second = await Szafa.login(optionsFor(service.url, more), { username: user.username, password });
  const [gone, swapped, other] = (await second.list()).filter(({ name }) => name.startsWith('file'));
  proxy.requests.length = 0;
  let removed = false;
  proxy.before = (_method, path) => {
    if (path !== NAMES || removed) return undefined;
    removed = true;
    return 'cut'; // as if it was on its way while the other device works
  };
  const resealing = there.reseal();
  await second.remove(gone!.fileId);
  assert.deepEqual((await resealing).failed, []);
  proxy.before = undefined;
  // The name of one file on another: neither is taken over.
  await there.replaceMaster({ password }, undefined);
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const list = JSON.parse(body.toString()) as { files: { file_id: string; file_name: string }[] };
    const nameOf = (id: string) => list.files.find(({ file_id }) => file_id === id)!.file_name;
    const files = list.files.map((file) =>
      file.file_id === swapped!.fileId ? { ...file, file_name: nameOf(other!.fileId) } : file,
    );
    return { body: Buffer.from(JSON.stringify({ ...list, files })) };
  };
  const { files, failed } = await there.reseal();
  assert.equal(files, 4);
  assert.deepEqual(
    failed.map(({ about, error }) => [about, error.code]),
    [[swapped!.fileId, 'tampered']],
  );
  // Another wrong one each time is no more likely another device's.
  let lists = 0;
  proxy.hostility = ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const list = JSON.parse(body.toString()) as { files: { file_id: string; file_name: string }[] };
    const file_name = Buffer.alloc(60, lists++).toString('base64url');
    const files = list.files.map((file) =>
      file.file_id === swapped!.fileId ? { ...file, file_name } : file,
    );
    return { body: Buffer.from(JSON.stringify({ ...list, files })) };
  };
  const again = await there.reseal();
  assert.equal(lists, 2);
  assert.deepEqual(
    again.failed.map(({ about, error }) => [about, error.code]),
    [[swapped!.fileId, 'tampered']],
  );
  proxy.hostility = () => undefined;
  assert.equal((await there.reseal()).files, 1);
  assert.deepEqual(new Set(await epochsOf(there)), new Set([3]));
});

test('what is in the trash is under the new key there, and is restored and read; one on its way is not missed', async () => {
  const { user, there } = await setUp(4);
  const before = await said(user);
  const thrown = (await user.list()).filter(({ name }) => /file [12]|long/.test(name));
  await user.trash(thrown);
  await there.replaceMaster({ password }, undefined);
  const second = await Szafa.login(optionsFor(service.url, more), { username: user.username, password });
  // The first is restored, and another one thrown away, just before their headers are read.
  const [back] = thrown;
  const late = (await second.list()).find(({ name }) => name.endsWith('file 4'))!;
  let moved = false;
  const move = async () => {
    await second.restore([back!]);
    await second.trash([late]);
  };
  proxy.before = async (_method, path) => {
    if (moved || !path.startsWith('/api/trash/')) return undefined;
    moved = true;
    await move();
    return undefined;
  };
  assert.deepEqual(await there.reseal(), { epoch: 2, files: 6, dirs: 1, shares: 0, requests: 0, failed: [] });
  proxy.before = undefined;
  assert.ok(moved);
  const [current] = await there.keys.masters();
  for (const { record } of await there.listTrash()) {
    const binding = { totalSha256: record.sha256, storedSize: record.size, count: record.chunk_count };
    assert.ok(await openFileName(quick, current!.key, record.file_name, binding));
    assert.equal(parseHeader((await readTrashed(there.api, record.file_id)).encParams).epoch, 2);
  }
  assert.equal((await there.reseal()).files, 0);
  await there.restore(await there.listTrash());
  assert.deepEqual(await said(there), before);
  assert.deepEqual(await epochsOf(there), Array(6).fill(2));
  for (const { fileId, record } of await there.list())
    await readAll((await there.openFile(fileId, { record })).stream());
});

test('what is kept beside shares is under the new key; a lost answer and a text that is not ours are no end', async () => {
  const { user, there } = await setUp(1);
  // Listed for each: the first share seals the header again, and a long name in the list is cut.
  const item = async () => ({ entry: (await user.list())[0]!, name: 'one' });
  const first = await user.shareLink([await item()], { title: 'the first', note: 'said' });
  const second = await user.shareLink([await item()], { title: 'the second' });
  const ownEpochs = async () =>
    (await there.api.call('listShares')).shares.map(({ own }) =>
      epochOfShareRecord(new Uint8Array(Buffer.from(own, 'base64url'))),
    );
  const shown = await user.links();
  await there.replaceMaster({ password }, undefined);
  // The answer to one is lost; of the other the service shows what stood beside the first.
  let lost = 0;
  proxy.hostility = ({ path, body }) => {
    if (path.endsWith('/own') && lost++ === 0) return 'cut';
    if (path !== '/api/shares') return undefined;
    const list = JSON.parse(body.toString()) as { shares: { id: string; own: string }[] };
    const { own } = list.shares.find(({ id }) => id === first.id)!;
    const shares = list.shares.map((share) => (share.id === second.id ? { ...share, own } : share));
    return { body: Buffer.from(JSON.stringify({ shares })) };
  };
  const { shares, failed } = await there.reseal();
  proxy.hostility = () => undefined;
  assert.deepEqual([shares, failed.map(({ about }) => about)], [1, [second.id]]);
  assert.deepEqual(new Set(await ownEpochs()), new Set([1, 2]));
  assert.equal((await there.reseal()).shares, 1);
  assert.deepEqual(await ownEpochs(), [2, 2]);
  assert.equal((await there.reseal()).shares, 0);
  assert.deepEqual(
    await there.links(),
    shown.map((link) => ({ ...link, link: link.link?.replace(service.url, proxy.url) })),
  );
});

test('what another command renames under the earlier key meanwhile is looked at again, not called tampered', async () => {
  const { user, there } = await setUp(4);
  const [plain, , first] = (await user.list()).sort(byName).reverse();
  const renamed = [first!, plain!];
  await there.replaceMaster({ password }, undefined);
  // A command of the same session that has read its keys before: in the list it is as it was, its header is the new one.
  let done: Promise<void> | undefined;
  proxy.before = async (method, path) => {
    if (method !== 'HEAD' || !renamed.some(({ fileId }) => path.includes(fileId))) return undefined;
    done ??= user.rename(renamed.map((entry) => ({ entry, path: `moved/${entry.name}` })));
    await done;
    return undefined;
  };
  const { files, failed } = await there.reseal().finally(() => {
    proxy.before = undefined;
  });
  assert.ok(done);
  assert.deepEqual([files, failed], [6, []]);
  assert.deepEqual(new Set(await epochsOf(there)), new Set([2]));
  const tree = await there.tree();
  for (const { name } of renamed) assert.ok(tree.file(`moved/${name}`), name);
});

test('a delivery in the trash stays as it is, and is restored and taken over under the new key', async () => {
  const { user, there } = await setUp(0);
  const { link, id } = await user.requestLink({ folder: 'in', files: 2, size: 1000 });
  const visit = await RequestVisit.begin(link, visiting);
  await visit.upload(bytesSource(content(7)), { name: 'came' });
  const files = (await user.deliveries()).map(({ fileId }) => fileId);
  await trashFiles(user.api, 'trashFiles', files);
  await there.replaceMaster({ password }, undefined);
  const first = await there.reseal();
  assert.deepEqual(first, { epoch: 2, files: 2, dirs: 1, shares: 0, requests: 1, failed: [] });
  assert.equal((await there.reseal()).files, 0);
  assert.deepEqual(await there.deliveries(), []);
  await there.restore(await there.listTrash());
  const [came] = await there.deliveries();
  assert.deepEqual([came!.requestId, came!.problem], [id, undefined]);
  await there.takeOver(came!, { folder: 'in' });
  const taken = (await there.tree()).file('in/came')!.entry;
  const remote = await there.openFile(taken.fileId, { record: taken.record });
  assert.deepEqual([remote.header.epoch, await readAll(remote.stream())], [2, content(7)]);
});
