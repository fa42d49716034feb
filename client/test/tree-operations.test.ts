/** The tree on a real service: rename, folders, copies, trash, versions and thumbnails, seen by a second device. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sealThumbnail } from '@szafa/format';
import { bytesSource, type ConnectOptions, type Entry, type Szafa } from '../src/index.ts';
import { proxy, service } from './hostile.ts';
import { content, newUser, quick, readAll, sameUser } from './service.ts';

const more: Partial<ConnectOptions> = { engine: quick };
const NAMES = '/api/files/names';

/** An account with files at these paths, and a second device of it behind the proxy. */
async function setUp(...paths: string[]): Promise<{ user: Szafa; other: Szafa }> {
  const user = await newUser(service.url, more);
  for (const [at, path] of paths.entries()) {
    const after = (await user.tree()).genOf(path);
    await user.upload(bytesSource(content(at + 1)), { path, after });
  }
  return { user, other: await sameUser(user, proxy.url, more) };
}

const filesOf = async (user: Szafa) =>
  (await user.tree())
    .files()
    .map(({ path }) => path)
    .sort();
const foldersOf = async (user: Szafa) => (await user.tree()).folders().map(({ path }) => path);
const nodeAt = async (user: Szafa, path: string) => (await user.tree()).file(path)!;
const bytesOf = async (user: Szafa, { fileId, record }: Entry) =>
  readAll((await user.openFile(fileId, { record })).stream());

test('an upload by path is in the directory of its first part, and in no other', async () => {
  const { user } = await setUp('top', 'photos/2026/a.jpg', `${'ż'.repeat(17)}/x`, 'photos/b.jpg');
  const dirs = await user.dirs();
  assert.deepEqual(
    dirs.map(({ name, fileCount }) => [name, fileCount]),
    [['photos', 2]],
  );
  for (const entry of await user.list()) {
    assert.equal(entry.dirId || null, entry.path.startsWith('photos/') ? dirs[0]!.dirId : null);
    assert.ok(entry.verified && !entry.misplaced);
  }
  for (const path of ['', '/a', 'a//b', '../a', 'a/', 'a\0b']) {
    await assert.rejects(user.upload(bytesSource(content(1)), { path }), { code: 'name' });
  }
  await assert.rejects(user.upload(bytesSource(content(1)), { path: `${'n/'.repeat(6_000)}n` }), {
    code: 'name',
  });
});

test('a file is renamed with all its versions, and the other device sees it; its bytes stay', async () => {
  const { user, other } = await setUp('a/x', 'a/x', 'b/y');
  const node = await nodeAt(user, 'a/x');
  assert.equal(node.versions.length, 2);
  proxy.requests.length = 0;
  await other.rename([{ entry: node.entry, path: 'c/d/x 2' }]);
  assert.equal(proxy.requests.filter(({ path }) => path === NAMES).length, 1);
  assert.deepEqual(await filesOf(user), ['b/y', 'c/d/x 2']);
  const moved = await nodeAt(user, 'c/d/x 2');
  assert.deepEqual(
    moved.versions.map(({ fileId }) => fileId),
    node.versions.map(({ fileId }) => fileId),
  );
  assert.ok(moved.versions.every(({ age, misplaced }) => age!.rev === 2 && !misplaced));
  assert.deepEqual(await bytesOf(user, moved.entry), content(2));
  // Two files change places in one go.
  const y = await nodeAt(user, 'b/y');
  await user.rename([
    { entry: moved.entry, path: 'b/y' },
    { entry: y.entry, path: 'c/d/x 2' },
  ]);
  assert.equal((await nodeAt(user, 'c/d/x 2')).entry.fileId, y.entry.fileId);
});

test('what is there is not overwritten: a file, a folder, a file where a folder would be; as a version it may', async () => {
  const { user } = await setUp('a', 'b', 'd/x', 'b');
  const { entry } = await nodeAt(user, 'a');
  for (const path of ['b', 'd', 'b/under']) {
    await assert.rejects(user.rename([{ entry, path }]), { code: 'exists', paths: [path] });
    await assert.rejects(user.copyTo(entry, path), { code: 'exists' });
  }
  await assert.rejects(user.copyTo(entry, 'a'), { code: 'exists' });
  // What is named but stays where it is does not make room.
  const stays = { entry: (await nodeAt(user, 'b')).entry, path: 'b' };
  await assert.rejects(user.rename([stays, { entry, path: 'b' }]), { code: 'exists', paths: ['b'] });
  await assert.rejects(user.rename([{ entry, path: '../a' }]), { code: 'name' });
  assert.deepEqual(await filesOf(user), ['a', 'b', 'd/x']);
  await user.rename([{ entry, path: 'b' }], { asVersion: true });
  const b = await nodeAt(user, 'b');
  assert.deepEqual([b.versions.length, b.entry.fileId], [3, entry.fileId]);
  // An older version becomes the newest again.
  const oldest = b.versions.at(-1)!;
  const copy = await user.copyTo(oldest, 'b', { asVersion: true });
  assert.equal((await nodeAt(user, 'b')).entry.fileId, copy);
  // As often as somebody likes, into one folder too.
  const again = await user.copyTo(oldest, 'b', { asVersion: true });
  assert.equal((await nodeAt(user, 'b')).entry.fileId, again);
  const there = await user.copyTo(oldest, 'e/copy');
  assert.deepEqual(await bytesOf(user, (await nodeAt(user, 'e/copy')).entry), content(2));
  assert.equal((await nodeAt(user, 'e/copy')).entry.fileId, there);
  await user.copyTo(oldest, 'e/another');
  assert.ok(await nodeAt(user, 'e/another'));
});

test('two copies of one file into one folder at the same moment are both made', async () => {
  const { user, other } = await setUp('a');
  const { entry } = await nodeAt(user, 'a');
  await user.makeFolder('b');
  // The first has no name of its own yet when the second is asked for, and has it when that is tried again.
  const begun = Promise.withResolvers<void>();
  const refused = Promise.withResolvers<void>();
  const named = Promise.withResolvers<void>();
  let names = 0;
  let clones = 0;
  proxy.before = async (_method, path) => {
    if (path === NAMES && ++names === 1) {
      begun.resolve();
      await refused.promise;
    }
    if (path.endsWith('/clone') && ++clones > 2) await named.promise;
    return undefined;
  };
  proxy.hostility = ({ path, status, headers }) => {
    if (path.endsWith('/clone') && status === 409 && headers['x-conflict'] === 'exists') refused.resolve();
    return undefined;
  };
  try {
    const first = other.copyTo(entry, 'b/one');
    await begun.promise;
    const second = other.copyTo(entry, 'b/two');
    // Neither waits for the other where one has failed.
    second.catch(() => {}).finally(refused.resolve);
    first.catch(() => {}).finally(named.resolve);
    await Promise.all([first, second]);
  } finally {
    proxy.before = undefined;
    proxy.hostility = () => undefined;
  }
  assert.equal(clones, 3);
  assert.deepEqual(await filesOf(user), ['a', 'b/one', 'b/two']);
});

test('a copy that failed is told at once, and not tried again', async () => {
  const { user, other } = await setUp('a');
  const { entry } = await nodeAt(user, 'a');
  let clones = 0;
  proxy.before = (_method, path) => {
    if (!path.endsWith('/clone')) return undefined;
    clones++;
    return { status: 409, body: Buffer.from('{"error":"the volumes could not be copied"}') };
  };
  try {
    await assert.rejects(other.copyTo(entry, 'b'), { code: 'api', status: 409 });
  } finally {
    proxy.before = undefined;
  }
  assert.equal(clones, 1);
});

test('a file that another device changed or removed is a conflict, and nothing is renamed', async () => {
  const { user, other } = await setUp('a', 'b');
  const tree = await other.tree();
  const [a, b] = [tree.file('a')!.entry, tree.file('b')!.entry];
  await user.rename([{ entry: a, path: 'z' }]);
  const both = [
    { entry: a, path: '1' },
    { entry: b, path: '2' },
  ];
  await assert.rejects(other.rename(both), { code: 'conflict', paths: ['a'] });
  await assert.rejects(other.rename(both, { tree }), { code: 'conflict', paths: ['a'] });
  // It is changed at the last moment.
  const { entry } = await nodeAt(user, 'z');
  let raced = false;
  proxy.before = (_method, path) => {
    raced ||= path === NAMES;
    return path === NAMES
      ? { status: 412, body: Buffer.from(JSON.stringify({ error: 'x', files: [b.fileId] })) }
      : undefined;
  };
  await assert.rejects(
    other.rename([
      { entry, path: '1' },
      { entry: b, path: '2' },
    ]),
    { code: 'conflict' },
  );
  proxy.before = undefined;
  assert.ok(raced);
  assert.deepEqual(await filesOf(user), ['b', 'z']);
  // An answer that was lost is no conflict.
  let cut = 0;
  proxy.hostility = ({ path }) => (path === NAMES && cut++ === 0 ? 'cut' : undefined);
  await other.rename([{ entry: b, path: '2' }]);
  proxy.hostility = () => undefined;
  assert.ok(cut > 1);
  assert.deepEqual(await filesOf(user), ['2', 'z']);
});

test('folders: made empty, renamed with all that is in them, merged, never into themselves', async () => {
  const { user } = await setUp('p/a', 'p/in/b', 'q/a');
  await user.makeFolder('p/in/empty/deep');
  await user.makeFolder('first');
  await assert.rejects(user.makeFolder('p/in'), { code: 'exists' });
  await assert.rejects(user.makeFolder('p/a/x'), { code: 'exists' });
  assert.deepEqual(await foldersOf(user), ['first', 'p', 'p/in', 'p/in/empty', 'p/in/empty/deep', 'q']);
  await assert.rejects(user.renameFolder('p', 'p/in/p'), { code: 'name' });
  await assert.rejects(user.renameFolder('p', 'q'), { code: 'exists' });
  await assert.rejects(user.renameFolder('none', 'x'), { code: 'conflict' });
  await user.renameFolder('p', 'new/p');
  assert.deepEqual(await filesOf(user), ['new/p/a', 'new/p/in/b', 'q/a']);
  assert.ok((await foldersOf(user)).includes('new/p/in/empty/deep'));
  assert.ok(!(await foldersOf(user)).includes('p'));
  await user.renameFolder('first', 'second');
  await user.renameFolder('new/p', 'q', { asVersion: true });
  assert.deepEqual(await filesOf(user), ['q/a', 'q/in/b']);
  assert.equal((await nodeAt(user, 'q/a')).versions.length, 2);
  assert.ok((await foldersOf(user)).includes('second'));
});

test('trash: away, listed with their paths, back again, or gone for good', async () => {
  const long = `p/${'long '.repeat(60)}`;
  const { user, other } = await setUp('p/a', 'p/a', 'p/in/b', 'c', long);
  const a = await nodeAt(user, 'p/a');
  await user.trash(a.versions);
  assert.deepEqual(await filesOf(other), ['c', long, 'p/in/b'].sort());
  const listed = await other.listTrash();
  assert.deepEqual(
    listed.map(({ path, verified }) => [path, verified]),
    [
      ['p/a', true],
      ['p/a', true],
    ],
  );
  assert.ok(listed.every(({ trashedAt, expiresAt }) => Date.parse(expiresAt) > Date.parse(trashedAt)));
  await other.restore(listed);
  assert.equal((await nodeAt(user, 'p/a')).versions.length, 2);
  await user.removeFolder('p');
  assert.deepEqual([await filesOf(user), await foldersOf(user)], [['c'], []]);
  const all = await user.listTrash();
  assert.ok(all.some(({ path, verified }) => verified && path.startsWith('p/long') && path.endsWith('…')));
  await user.restore(all);
  assert.deepEqual(await filesOf(user), ['c', 'p/a', 'p/in/b', long].sort());
  assert.ok((await user.list()).every(({ misplaced }) => !misplaced));
  const { entry } = await nodeAt(user, 'c');
  await user.remove(entry.fileId);
  await assert.rejects(user.trash([entry]), { code: 'conflict', paths: ['c'] });
  await user.removeFolder('p/in');
  assert.equal(await user.emptyTrash({ entries: await user.listTrash() }), 1);
  await user.removeFolder('p');
  assert.equal(await user.emptyTrash(), 3);
  assert.deepEqual([await user.listTrash(), await filesOf(user)], [[], []]);
});

test('older versions are pruned by number and by time, the newest never', async () => {
  const user = await newUser(service.url, more);
  for (const [at, added] of [10, 20, 30, 40].entries()) {
    await user.upload(bytesSource(content(at)), { path: 'v', added, after: at });
  }
  assert.equal((await user.prune(await nodeAt(user, 'v'), { keep: 2, olderThan: 15 })).length, 1);
  assert.equal((await user.prune(await nodeAt(user, 'v'), { keep: 0, olderThan: 25 })).length, 1);
  assert.equal((await user.prune(await nodeAt(user, 'v'), { keep: 0 })).length, 1);
  const { versions } = await nodeAt(user, 'v');
  assert.deepEqual(
    versions.map(({ age }) => age?.added),
    [40],
  );
});

test('thumbnails: with the upload or later, for their own file only', async () => {
  const { user, other } = await setUp('plain');
  const picture = content(9_000);
  for (const [path, size] of [
    ['small', 10],
    ['large', 3_000_000],
  ] as const) {
    await user.upload(bytesSource(content(size)), { path, thumbnail: picture });
    assert.deepEqual(await other.thumbnail((await nodeAt(other, path)).entry), picture);
  }
  const large = content(40_000);
  await assert.rejects(user.upload(bytesSource(content(1)), { path: 'x', thumbnail: large }), {
    code: 'name',
  });
  const { entry } = await nodeAt(user, 'plain');
  assert.equal(await user.thumbnail(entry), undefined);
  assert.equal(await user.putThumbnail(entry, content(1)), true);
  const now = (await nodeAt(user, 'plain')).entry;
  assert.deepEqual(await user.thumbnail(now), content(1));
  assert.equal(await user.putThumbnail(now, content(2)), false);
  // Those of other files, and changed ones, are no thumbnails.
  const small = (await nodeAt(user, 'small')).entry;
  const [theirs] = (await user.api.call('readThumbnails', { body: { files: [small.fileId] } })).thumbnails;
  const [own] = (await user.api.call('readThumbnails', { body: { files: [now.fileId] } })).thumbnails;
  const flipped = Buffer.from(own!.thumbnail!, 'base64');
  flipped[100]! ^= 1;
  const given = (answer: object) => {
    const body = Buffer.from(JSON.stringify({ thumbnails: [{ ...own!, ...answer }] }));
    proxy.hostility = ({ path }) => (path.endsWith('/thumbnails') ? { body } : undefined);
  };
  // Also one that somebody made with the file's own key, as whoever has a link to it could.
  const { header, engine } = await user.openFile(now.fileId, { record: now.record });
  const forged = (await sealThumbnail(engine, header, content(3))).toBase64();
  for (const thumbnail of [theirs!.thumbnail, flipped.toString('base64'), forged, '', '*']) {
    given({ thumbnail });
    await assert.rejects(other.thumbnail(now), { code: 'tampered', stage: 'thumbnail' });
  }
  // With the header of the file that it is of, it is not this file's either.
  for (const [enc_params, stage] of [
    [theirs!.enc_params, 'record'],
    ['*', 'params'],
  ]) {
    given({ enc_params, thumbnail: theirs!.thumbnail });
    await assert.rejects(other.thumbnail(now), { code: 'tampered', stage });
  }
  given({ file_id: small.fileId });
  assert.equal(await other.thumbnail(now), undefined, 'not asked for');
  given({ thumbnail: 5 });
  await assert.rejects(other.thumbnail(now), { code: 'not-the-service' });
  proxy.hostility = () => undefined;
  // Many at once: one that is changed is told, and takes no other with it.
  const entries = await user.list();
  const all = await user.thumbnails([...entries, ...entries]);
  assert.deepEqual([...all.keys()].sort(), entries.map(({ fileId }) => fileId).sort());
  assert.deepEqual(all.get(small.fileId), { bytes: picture });
  // A renamed file keeps its own, and so does a copy.
  await user.rename([{ entry: now, path: 'renamed' }]);
  assert.deepEqual(await user.thumbnail((await nodeAt(user, 'renamed')).entry), content(1));
});

test('a folder whose directory another device has removed already is moved, and that is no failure', async () => {
  const { user, other } = await setUp('p/a');
  const tree = await user.tree();
  await other.api.call('deleteDir', { params: { dir_id: tree.folder('p')!.dirId! } });
  await user.renameFolder('p', 'q', { tree });
  assert.deepEqual(await filesOf(user), ['q/a']);
  // One that they are to go to is another matter: whoever removed it meant it.
  await user.makeFolder('r');
  const later = await user.tree();
  await other.api.call('deleteDir', { params: { dir_id: later.folder('r')!.dirId! } });
  const { entry } = later.file('q/a')!;
  await assert.rejects(user.rename([{ entry, path: 'r/a' }], { tree: later }), { code: 'conflict' });
  assert.deepEqual(await filesOf(user), ['q/a']);
});
