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
import { Cabinet } from '../../web/src/worker/cabinet.ts';
import { Operations } from '../../web/src/worker/operations.ts';

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
  const cabinet = new Cabinet(() => szafa);
  const changed = over(szafa);
  const used = new Proxy(szafa, {
    get: (real, name) => {
      const value = (changed as Record<string | symbol, unknown>)[name] ?? Reflect.get(real, name, real);
      return typeof value === 'function' ? value.bind(real) : value;
    },
  });
  await cabinet.list();
  const operations = new Operations(
    () => used,
    cabinet,
    () => {},
  );
  const files = async () => (await szafa.tree()).files().map(({ path }) => path);
  return { szafa, cabinet, operations, files };
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

test('copies of folders that are empty are made, at every depth', async () => {
  const { szafa, cabinet, operations } = await setUp(['a/file']);
  const { fileId } = cabinet.tree.file('a/file')!.entry;
  await operations.copy('id', [{ fileId, path: 'b/file' }], ['b/deep/inside', 'top']);
  const tree = await szafa.tree();
  for (const path of ['b', 'b/deep/inside', 'top']) assert.ok(tree.folder(path), path);
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
  await operations.restore('id', ids);
  assert.deepEqual((await files()).sort(), ['a/one', 'a/two', 'three']);
  // Asked about one; another device adds one.
  await szafa.trash([(await szafa.tree()).file('three')!.entry]);
  const [asked] = await operations.listTrash();
  await szafa.trash([(await szafa.tree()).file('a/one')!.entry]);
  await operations.remove('id', [asked!.fileId]);
  assert.deepEqual(
    (await szafa.listTrash()).map(({ path }) => path),
    ['a/one'],
  );
});

test('of a deletion that half failed, what went comes back after a look into the trash; what came since stays', async () => {
  const { szafa, cabinet, operations, files } = await setUp(['a/one', 'two'], () => ({
    removeFolder: () => Promise.reject(new Error('the line is cut')),
  }));
  const ids = operations.recordsOf(['two', 'a/']);
  // Another device has a newer version, which the list brings before the deletion begins.
  await szafa.upload(bytesSource(content(6)), { path: 'two' });
  await cabinet.list();
  await assert.rejects(operations.trash('id', ['two', 'a/']));
  assert.deepEqual((await szafa.tree()).file('two')?.versions.length, 1, 'the newer one');
  assert.equal((await operations.listTrash()).length, 1);
  await operations.restore('id', ids);
  assert.deepEqual((await files()).sort(), ['a/one', 'two']);
  assert.equal((await szafa.tree()).file('two')?.versions.length, 2);
  await assert.rejects(operations.restore('id', ['0'.repeat(32)]), { code: 'gone' });
});
