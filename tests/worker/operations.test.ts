/** What the page's worker does to files and folders, on a real service. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { bytesSource, type Szafa } from '@szafa/client/node';
import {
  content,
  engine,
  newUser,
  quick,
  type Service,
  startService,
  transport,
} from '../../client/test/service.ts';
import { FileIndex } from '../../web/src/files/file-index.worker.ts';
import { Operations } from '../../web/src/files/operations.worker.ts';

let service: Service;
before(async () => {
  service = await startService();
});
after(async () => {
  await service.stop();
  transport.close();
  await engine.close();
});

/** An account with these files, listed. `over`: what it does in another manner. */
async function setUp(paths: string[], over: (szafa: Szafa) => Partial<Szafa> = () => ({})) {
  const szafa = await newUser(service.url, { engine: quick });
  for (const path of paths) await szafa.upload(bytesSource(content(5)), { path });
  const fileIndex = new FileIndex(() => szafa);
  const changed = over(szafa);
  const used = new Proxy(szafa, {
    get: (real, name) => {
      const value = (changed as Record<string | symbol, unknown>)[name] ?? Reflect.get(real, name, real);
      return typeof value === 'function' ? value.bind(real) : value;
    },
  });
  await fileIndex.list();
  const operations = new Operations(
    () => used,
    fileIndex,
    () => {},
  );
  const files = async () => (await szafa.tree()).files().map(({ path }) => path);
  return { szafa, fileIndex, operations, files };
}

test('a folder moves together with others, and with files, that are in it', async () => {
  const { operations, files } = await setUp(['a/stays', 'a/goes', 'a/b/one', 'a/b/c/two', 'd/three']);
  await operations.rename('id', [
    { from: 'a/goes', to: 'x/goes' },
    { from: 'a/', to: 'x/a/' },
    { from: 'a/b/', to: 'x/b/' },
    { from: 'd/', to: 'x/d/' },
    { from: 'a/b/c/', to: 'x/c/' },
  ]);
  assert.deepEqual((await files()).sort(), ['x/a/stays', 'x/b/one', 'x/c/two', 'x/d/three', 'x/goes']);
});

test('copies of folders that are empty are made, at every depth, with their modes', async () => {
  const { szafa, fileIndex, operations } = await setUp(['a/file']);
  await szafa.makeFolder('a/deep/inside', { mode: 0o700 });
  await szafa.makeFolder('one');
  await fileIndex.list();
  const { fileId } = fileIndex.tree.file('a/file')!.entry;
  const folders = [
    { from: 'a/deep/inside', to: 'b/deep/inside' },
    { from: 'one', to: 'top' },
  ];
  await operations.copy('id', [{ fileId, path: 'b/file' }], folders);
  const tree = await szafa.tree();
  const modes = [];
  for (const path of ['b/deep/inside', 'top'])
    modes.push((await szafa.folderAttributes(tree.folder(path)!)).mode);
  assert.deepEqual(modes, [0o700, undefined]);
  assert.ok(tree.file('b/file'));
});

test('what goes to the trash while its list is read can be brought back, and what comes there later is not removed', async () => {
  const read = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const { szafa, operations, files } = await setUp(['a/one', 'a/two', 'three'], (real) => ({
    async listTrash() {
      const entries = await real.listTrash();
      read.resolve();
      await goOn.promise;
      return entries;
    },
  }));
  const listing = operations.listTrash();
  await read.promise;
  const ids = operations.recordsOf(['a/', 'three']);
  await operations.trash('id', ['three', 'a/']);
  goOn.resolve();
  assert.deepEqual(await listing, []);
  assert.equal(ids.length, 3);
  await operations.restoreFiles('id', ids);
  assert.deepEqual((await files()).sort(), ['a/one', 'a/two', 'three']);
  // Asked about one; another device adds one.
  await szafa.trash([(await szafa.tree()).file('three')!.entry]);
  const [asked] = await operations.listTrash();
  await szafa.trash([(await szafa.tree()).file('a/one')!.entry]);
  await operations.deleteForever('id', [asked!.fileId]);
  assert.deepEqual(
    (await szafa.listTrash()).map(({ path }) => path),
    ['a/one'],
  );
});

test('what was not asked for stays in the trash', async () => {
  const { szafa, operations } = await setUp(['one', 'two', 'three']);
  await szafa.trash((await szafa.tree()).files().map(({ entry }) => entry));
  const listed = await operations.listTrash();
  const { fileId } = listed.find(({ path }) => path === 'two')!;
  await operations.deleteForever('id', [fileId]);
  const left = (await szafa.listTrash()).map(({ path }) => path);
  assert.deepEqual(left.sort(), ['one', 'three']);
});

test('of a deletion that half failed, what went comes back after a look into the trash; what came since stays', async () => {
  const { szafa, fileIndex, operations, files } = await setUp(['a/one', 'two'], () => ({
    removeFolder: () => Promise.reject(new Error('the line is cut')),
  }));
  const ids = operations.recordsOf(['two', 'a/']);
  // Another device has a newer version, which the list brings before the deletion begins.
  await szafa.upload(bytesSource(content(6)), { path: 'two' });
  await fileIndex.list();
  await assert.rejects(operations.trash('id', ['two', 'a/']));
  assert.deepEqual((await szafa.tree()).file('two')?.versions.length, 1, 'the newer one');
  assert.equal((await operations.listTrash()).length, 1);
  await operations.restoreFiles('id', ids);
  assert.deepEqual((await files()).sort(), ['a/one', 'two']);
  assert.equal((await szafa.tree()).file('two')?.versions.length, 2);
  await assert.rejects(operations.restoreFiles('id', ['0'.repeat(32)]), { code: 'gone' });
});

test('Undo of a move takes back the file that was moved, not one that another device has put there since', async () => {
  const { szafa, fileIndex, operations, files } = await setUp(['doc']);
  const { entry } = fileIndex.tree.file('doc')!;
  const { fileId } = entry;
  await operations.rename('id', [{ from: 'doc', to: 'x/doc', fileId }]);
  const moved = (await szafa.tree()).file('x/doc')!.entry;
  await szafa.rename([{ entry: moved, path: 'kept' }]);
  await szafa.upload(bytesSource(content(6)), { path: 'x/doc' });
  await fileIndex.list();
  const back = [{ from: 'x/doc', to: 'doc', fileId }];
  await assert.rejects(operations.rename('id', back), { code: 'gone' });
  assert.deepEqual((await files()).sort(), ['kept', 'x/doc']);
  // A newer version of it is another matter.
  await operations.rename('id', [{ from: 'kept', to: 'x/other', fileId }]);
  await szafa.upload(bytesSource(content(7)), { path: 'x/other', after: 1 });
  await fileIndex.list();
  await operations.rename('id', [{ from: 'x/other', to: 'doc', fileId }]);
  assert.equal((await szafa.tree()).file('doc')?.versions.length, 2);
});

test('a folder with nothing in it comes back as well', async () => {
  const { szafa, fileIndex, operations } = await setUp(['f/x']);
  await szafa.makeFolder('hollow');
  await szafa.makeFolder('f/inner');
  await fileIndex.list();
  for (const paths of [['hollow/', 'f/', 'f/inner/'], ['hollow/']]) {
    const ids = operations.recordsOf(paths);
    await operations.trash('id', paths.slice(0, 2));
    assert.equal((await szafa.tree()).folder('hollow'), undefined);
    await operations.restoreFiles('id', ids, ['hollow', ...(ids.length > 0 ? ['f/inner'] : [])]);
    const tree = await szafa.tree();
    for (const path of ['hollow', 'f/inner']) assert.ok(tree.folder(path), path);
    assert.ok(tree.file('f/x'));
    await fileIndex.list();
  }
});

test('what was restored meanwhile is not told as deleted for good', async () => {
  const { szafa, operations, files } = await setUp(['one', 'two']);
  const tree = await szafa.tree();
  await szafa.trash(tree.files().map(({ entry }) => entry));
  const asked = (await operations.listTrash()).map(({ fileId }) => fileId);
  await szafa.restore([tree.file('two')!.entry]);
  await assert.rejects(operations.deleteForever('id', asked), { code: 'conflict' });
  assert.deepEqual([await files(), await szafa.listTrash()], [['two'], []]);
  // As an earlier version of a file that is there now.
  await szafa.trash([tree.file('two')!.entry]);
  const [old] = await operations.listTrash();
  await szafa.restore([tree.file('two')!.entry]);
  await szafa.upload(bytesSource(content(6)), { path: 'two', after: 1 });
  await assert.rejects(operations.deleteForever('id', [old!.fileId]), { code: 'conflict' });
  assert.equal((await szafa.tree()).file('two')?.versions.length, 2);
});

test('what another device has deleted for good meanwhile is deleted, and so it is where only the answer was lost', async () => {
  const { szafa, operations } = await setUp(['one', 'two', 'three'], (real) => ({
    async emptyTrash(options) {
      const removed = await real.emptyTrash(options);
      if (options?.entries?.[0]?.path === 'three') throw new Error('the line is cut');
      return removed;
    },
  }));
  const tree = await szafa.tree();
  const idOf = (path: string) => tree.file(path)!.entry.fileId;
  await szafa.trash(tree.files().map(({ entry }) => entry));
  await operations.listTrash();
  await szafa.emptyTrash({ entries: [tree.file('one')!.entry] });
  await operations.deleteForever('id', ['one', 'two'].map(idOf));
  await operations.deleteForever('id', [idOf('three')]);
  assert.deepEqual(await szafa.listTrash(), []);
});

test('whether something is left is asked of the account that it was deleted from', async () => {
  const { szafa, fileIndex } = await setUp(['one']);
  const next = await newUser(service.url, { engine: quick });
  let now = szafa;
  const operations = new Operations(
    () => now,
    fileIndex,
    () => {},
  );
  const { entry } = (await szafa.tree()).file('one')!;
  await szafa.trash([entry]);
  await operations.listTrash();
  await szafa.restore([entry]);
  const removing = operations.deleteForever('id', [entry.fileId]);
  now = next;
  await assert.rejects(removing, { code: 'conflict' });
});

test('of a deletion of which some was deleted for good meanwhile, Undo brings the rest back, and says so', async () => {
  const { szafa, fileIndex, operations, files } = await setUp(['a/one', 'a/two', 'three']);
  await szafa.makeFolder('hollow');
  await fileIndex.list();
  const paths = ['three', 'a/', 'hollow/'];
  const ids = operations.recordsOf(paths);
  await operations.trash('id', paths);
  const gone = (await szafa.listTrash()).filter(({ path }) => path === 'a/two');
  await szafa.emptyTrash({ entries: gone });
  await assert.rejects(operations.restoreFiles('id', ids, ['hollow']), { code: 'conflict' });
  assert.deepEqual((await files()).sort(), ['a/one', 'three']);
  assert.ok((await szafa.tree()).folder('hollow'));
});
