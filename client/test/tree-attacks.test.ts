/** A service that lies about the tree: earlier names, older versions, swapped folders. */

import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FileRecord } from '@szafa/protocol';
import { bytesSource, type ConnectOptions, type Szafa } from '../src/index.ts';
import { fileRevs } from '../src/node/index.ts';
import { completeTransfer, readVolumeHeaders, writeVolume } from '../src/transfers/calls.ts';
import { proxy, service } from './hostile.ts';
import type { Hostility } from './proxy.ts';
import { content, newUser, quick, sameUser } from './service.ts';

const more: Partial<ConnectOptions> = { engine: quick };

const onList =
  (change: (file: FileRecord) => FileRecord, order = (files: FileRecord[]) => files): Hostility =>
  ({ path, body }) => {
    if (!path.startsWith('/api/files?')) return undefined;
    const { files, ...rest } = JSON.parse(body.toString()) as { files: FileRecord[] };
    return { body: Buffer.from(JSON.stringify({ ...rest, files: order(files.map(change)) })) };
  };

test('a rename that is taken back by the service is noticed by whoever has seen it, in a later session as well', async () => {
  const folder = mkdtempSync(join(service.folder, 'revs-'));
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(content(9)), { path: 'a/before' });
  const [before] = await owner.list();
  const { record, fileId } = before!;
  const head = await readVolumeHeaders(owner.api, fileId, 1);
  await owner.rename([{ entry: before!, path: 'b/after' }]);
  const device = () => sameUser(owner, proxy.url, { ...more, revs: fileRevs(folder, service.url) });
  assert.deepEqual(
    (await (await device()).list()).map(({ path, problem }) => [path, problem]),
    [['b/after', undefined]],
  );
  const earlier = onList((file) => ({ ...file, file_name: record.file_name, dir_name: record.dir_name }));
  proxy.hostility = (passing) =>
    passing.path.includes('/chunk/')
      ? { headers: { ...passing.headers, 'x-enc-params': head.encParamsText } }
      : earlier(passing);
  const again = await device();
  const [replayed] = await again.list();
  assert.equal(replayed!.path, 'a/before');
  assert.deepEqual(
    [replayed!.problem?.code, (replayed!.problem as { stage?: string }).stage],
    ['tampered', 'rev'],
  );
  for (const options of [{ record }, { record, headOnly: true }, {}]) {
    await assert.rejects(again.openFile(fileId, options), { code: 'tampered', stage: 'rev' });
  }
  // The one that renamed it knows without a list.
  const renamer = await sameUser(owner, proxy.url, more);
  proxy.hostility = () => undefined;
  const [now] = await renamer.list();
  await renamer.rename([{ entry: now!, path: 'c' }]);
  proxy.hostility = onList((file) => ({ ...file, file_name: now!.record.file_name }));
  const [back] = await renamer.list();
  assert.equal(back!.problem?.code, 'tampered');
  // Nothing is done to it by a path that it has no more.
  await assert.rejects(renamer.removeFolder('b'), { code: 'tampered', stage: 'rev' });
  await assert.rejects(renamer.rename([{ entry: back!, path: 'd' }]), { code: 'tampered', stage: 'rev' });
  await assert.rejects(renamer.copyTo(back!, 'd'), { code: 'tampered', stage: 'rev' });
  await assert.rejects(renamer.shareLink([{ entry: back!, name: 'd' }]), { code: 'tampered', stage: 'rev' });
  proxy.hostility = () => undefined;
  assert.equal((await renamer.list())[0]!.problem, undefined);
});

test('what is remembered of renames only grows, is shared by processes, and a damaged file keeps nobody from their files', async () => {
  const folder = mkdtempSync(join(service.folder, 'revs-'));
  const [one, two] = [fileRevs(folder, 's').of('u'), fileRevs(folder, 's').of('u')];
  await one.save(new Map([['x', 3]]));
  await two.save(
    new Map([
      ['x', 2],
      ['y', 5],
    ]),
  );
  assert.deepEqual(
    await one.load(),
    new Map([
      ['x', 3],
      ['y', 5],
    ]),
  );
  assert.deepEqual(await fileRevs(folder, 's').of('v').load(), new Map());
  for (const name of readdirSync(folder)) writeFileSync(join(folder, name), '{"x":');
  assert.deepEqual(await one.load(), new Map());
});

test('no order, time or name in the list makes an older version the newest', async () => {
  const owner = await newUser(service.url, more);
  for (let at = 0; at < 3; at++) await owner.upload(bytesSource(content(at)), { path: 'd/v', after: at });
  const honest = (await owner.tree()).file('d/v')!.versions.map(({ fileId }) => fileId);
  const device = await sameUser(owner, proxy.url, more);
  let hour = 0;
  proxy.hostility = onList(
    (file) => ({ ...file, created_at: new Date(++hour * 3.6e6).toISOString() }),
    (files) => files.toReversed(),
  );
  proxy.requests.length = 0;
  const { versions } = (await device.tree()).file('d/v')!;
  assert.deepEqual(
    versions.map(({ fileId }) => fileId),
    honest,
  );
  assert.ok(!proxy.requests.some(({ path }) => path.includes('/chunk/')), 'the list alone tells');
  // The name of the newest on the oldest does not open there.
  const [newest] = versions;
  proxy.hostility = onList((file) => ({ ...file, file_name: newest!.record.file_name }));
  const swapped = await device.list();
  assert.ok(
    swapped.every(({ fileId, verified, problem }) => fileId === newest!.fileId || (!verified && problem)),
  );
  proxy.hostility = () => undefined;
});

test('swapped directories, and files in other directories, are seen where their paths say', async () => {
  const owner = await newUser(service.url, more);
  for (const path of ['tax/a', 'trash me/b']) await owner.upload(bytesSource(content(3)), { path });
  const [first, second] = (await owner.list()).map(({ record }) => record) as [FileRecord, FileRecord];
  const device = await sameUser(owner, proxy.url, more);
  proxy.hostility = onList((file) => {
    const { dir_id, dir_name } = file.file_id === first.file_id ? second : first;
    return { ...file, dir_id, dir_name };
  });
  const tree = await device.tree();
  assert.deepEqual(
    tree
      .files()
      .map(({ path, misplaced, verified }) => [path, misplaced, verified])
      .sort(),
    [
      ['tax/a', true, true],
      ['trash me/b', true, true],
    ],
  );
  // The root is no wrong place: a deleted directory leaves its files there.
  proxy.hostility = onList((file) => ({ ...file, dir_id: null, dir_name: '' }));
  assert.ok((await device.tree()).files().every(({ misplaced }) => !misplaced));
  proxy.hostility = () => undefined;
});

test('a rename by another device since the list was read is a conflict, and no attack; an earlier name that stays is one', async () => {
  const owner = await newUser(service.url, more);
  await owner.upload(bytesSource(content(9)), { path: 'a/before' });
  await owner.upload(bytesSource(content(8)), { path: `a/${'long '.repeat(60)}` });
  const device = await sameUser(owner, proxy.url, more);
  const before = await device.list();
  for (const entry of before) await owner.rename([{ entry, path: `${entry.path} after` }]);
  for (const entry of before) {
    const { fileId, record } = entry;
    const meet = { code: 'conflict', paths: [`${entry.path} after`] };
    await assert.rejects(device.openFile(fileId, { record }), meet);
    await assert.rejects(device.shareLink([{ entry, name: 'x' }]), meet);
    proxy.hostility = onList((file) =>
      file.file_id === fileId ? { ...file, file_name: record.file_name } : file,
    );
    // In a list of now, although one that was true has had another since.
    const again = (await device.list()).find((one) => one.fileId === fileId)!;
    assert.equal(again.record.file_name, record.file_name);
    const lie = { code: 'tampered', stage: 'name' };
    await assert.rejects(device.openFile(fileId, { record: again.record }), lie);
    await assert.rejects(device.shareLink([{ entry: again, name: 'x' }]), { code: 'tampered' });
    proxy.hostility = () => undefined;
  }
});

test('a long name that changes, or goes, between the list and its header is as it is now; one that stays wrong is an attack', async () => {
  const owner = await newUser(service.url, more);
  const long = 'long '.repeat(60);
  for (const name of ['moved', 'gone', 'busy'])
    await owner.upload(bytesSource(content(9)), { path: `a/${name} ${long}` });
  const device = await sameUser(owner, proxy.url, more);
  const listed = await owner.list();
  const at = (name: string) => listed.find(({ path }) => path.startsWith(`a/${name}`))!;
  const [moved, gone, busy] = [at('moved'), at('gone'), at('busy')];
  let times = 0;
  proxy.before = async (method, path) => {
    if (method !== 'HEAD') return undefined;
    if (path.includes(moved.fileId) && !times++)
      await owner.rename([{ entry: moved, path: `b/after ${long}` }]);
    if (path.includes(gone.fileId)) await owner.trash([gone]);
    // Whenever somebody looks.
    if (path.includes(busy.fileId)) {
      const entry = (await owner.list()).find(({ fileId }) => fileId === busy.fileId)!;
      await owner.rename([{ entry, path: `${entry.path}.` }]);
    }
    return undefined;
  };
  const seen = await device.list();
  proxy.before = undefined;
  assert.deepEqual(seen.map(({ path, verified, problem }) => [path, verified, problem?.code]).sort(), [
    [`a/busy ${long}..`, false, 'conflict'],
    [`b/after ${long}`, true, undefined],
  ]);
  proxy.hostility = onList((file) =>
    file.file_id === moved.fileId ? { ...file, file_name: moved.record.file_name } : file,
  );
  const lied = (await device.list()).find(({ fileId }) => fileId === moved.fileId)!;
  proxy.hostility = () => undefined;
  assert.deepEqual([lied.verified, lied.problem?.code], [false, 'tampered']);
});

test('a file whose name is shown, moved by another device since it was listed, is a conflict; one of a removed directory is not', async () => {
  const user = await newUser(service.url, more);
  const other = await sameUser(user, proxy.url, more);
  for (const path of ['plain.txt', 'a/b/deep.txt', 'gone/left.txt'])
    await user.upload(bytesSource(content(9)), { path, plainName: true });
  const entryAt = async (device: Szafa, path: string) => (await device.tree()).file(path)!.entry;
  const tree = await other.tree();
  for (const [listed, path] of [
    ['plain.txt', 'x/plain.txt'],
    ['a/bdeep.txt', 'x/deep.txt'],
  ] as const) {
    await user.rename([{ entry: await entryAt(user, listed), path }]);
    const { entry } = tree.file(listed)!;
    const late = other.rename([{ entry, path: `y/${path}` }], { tree });
    await assert.rejects(late, { code: 'conflict', paths: [listed] });
    // Seen where it is now, it may go.
    await other.rename([{ entry: await entryAt(other, path), path: listed.replaceAll('/', ' ') }]);
  }
  const { dirId } = (await user.dirs()).find(({ name }) => name === 'gone')!;
  await user.removeDir(dirId);
  await other.rename([{ entry: await entryAt(other, 'left.txt'), path: 'kept/left.txt' }]);
  const paths = (await other.tree()).files().map(({ path }) => path);
  assert.deepEqual(paths.sort(), ['a bdeep.txt', 'kept/left.txt', 'plain.txt']);
});

test('a file of another client, moved by another device since it was listed, is a conflict; its copy is none', async () => {
  const user = await newUser(service.url, more);
  const other = await sameUser(user, proxy.url, more);
  const sha256 = Buffer.from(await quick.sha256(content(3))).toString('hex');
  const about = { file_name: 'theirs.txt', file_size: 3, total_sha256: sha256, enc_params: { iv: 'x' } };
  const { transfer_id: id } = await user.api.call('init', {
    body: {
      ...about,
      chunk_count: 1,
      chunks: [{ size: 3, sha256 }],
    },
  });
  await writeVolume(user.api, id, 1, content(3));
  await completeTransfer(user.api, id);
  const tree = await other.tree();
  const { entry } = tree.file('theirs.txt')!;
  await user.rename([{ entry, path: 'x/theirs.txt' }]);
  const late = other.rename([{ entry, path: 'y/theirs.txt' }], { tree });
  await assert.rejects(late, { code: 'conflict', paths: ['theirs.txt'] });
  const now = (await other.tree()).file('x/theirs.txt')!.entry;
  for (const path of ['y/copy.txt', 'copy.txt']) await other.copyTo(now, path);
  await other.rename([{ entry: now, path: 'theirs.txt' }]);
  const paths = (await other.tree()).files().map(({ path }) => path);
  assert.deepEqual(paths.sort(), ['copy.txt', 'theirs.txt', 'y/copy.txt']);
});

test('many files that were renamed meanwhile cost one list, not one each', async () => {
  const owner = await newUser(service.url, more);
  for (const name of ['a', 'b', 'c', 'd']) await owner.upload(bytesSource(content(3)), { path: `x/${name}` });
  const device = await sameUser(owner, proxy.url, more);
  const before = await device.list();
  const late = before.find(({ path }) => path === 'x/d')!;
  const rest = before.filter((entry) => entry !== late);
  await owner.rename(rest.map((entry) => ({ entry, path: `${entry.path} after` })));
  proxy.requests.length = 0;
  const conflicts = (entries: typeof before) =>
    Promise.all(
      entries.map(({ fileId, record }) =>
        assert.rejects(device.openFile(fileId, { record }), { code: 'conflict' }),
      ),
    );
  const lists = () => proxy.requests.filter(({ path }) => /^\/api\/files(\?|$)/.test(path)).length;
  await conflicts(rest);
  await conflicts(rest);
  assert.equal(lists(), 1);
  // What was renamed after that list is no lie of the service.
  await owner.rename([{ entry: late, path: 'x/d after' }]);
  await conflicts([late, ...rest]);
  assert.equal(lists(), 2);
  // Nor are the names of all files kept beside a younger list.
  await device.list();
  await conflicts([late, ...rest]);
  assert.equal(lists(), 4);
});
