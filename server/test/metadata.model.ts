import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Stores } from './metadata.contract.ts';
import { assertSums, filed, fresh, ids, NOW, newId } from './metadata.fixture.ts';

/** Of the base64 of `newTransfer`'s enc_params. */
const MATCH = createHash('sha256').update(btoa('{"k":1}')).digest('hex');

const pick = fc.nat({ max: 1000 });
const size = fc.oneof(fc.nat({ max: 100 }), fc.constantFrom(0, 2 ** 32, Number.MAX_SAFE_INTEGER));

/** One step; numbers choose among what there is at that moment. */
const step = fc.record({
  do: fc.constantFrom(
    ...(['file', 'file', 'file', 'dir', 'drop dir', 'move', 'remove', 'put back', 'clone'] as const),
    ...(['trash', 'trash', 'restore', 'empty', 'name'] as const),
  ),
  owner: fc.nat({ max: 2 }),
  of: pick,
  to: pick,
  size,
  stored: size,
  store: fc.boolean(),
});

interface Model {
  owner: string;
  dirs: number[];
  /** File id to directory, newest first. */
  files: Map<string, number>;
  /** The same of those in the trash. */
  trash: Map<string, number>;
}

/** Random histories over two stores: after every step the sums and the lists are what a plain model says. */
export function usageModel(stores: Stores): void {
  test('after any history of operations the sums equal those over the files', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const models: Model[] = Array.from({ length: 3 }, () => ({
          owner: fresh('m'),
          dirs: [0],
          files: new Map(),
          trash: new Map(),
        }));
        for (const one of steps) {
          const model = models[one.owner]!;
          await run(stores, model, one);
          await assertSums(
            stores.one,
            stores.sql,
            models.map(({ owner }) => owner),
          );
        }
        for (const { owner, files, dirs, trash } of models) {
          assert.deepEqual((await ids(stores.two, owner)).sort(), [...files.keys()].sort());
          const trashed = await stores.two.trash.list(owner, { limit: 1000 });
          assert.deepEqual(new Map(trashed.map(({ file_id, dir_id }) => [file_id, dir_id])), trash);
          for (const dirId of dirs) {
            const inside = [...files].filter(([, dir]) => dir === dirId).map(([id]) => id);
            assert.deepEqual((await ids(stores.two, owner, dirId)).sort(), inside.sort());
          }
        }
      }),
      { numRuns: 25 },
    );
  });
}

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

async function run(stores: Stores, model: Model, one: Step): Promise<void> {
  const { owner, dirs, files, trash } = model;
  const store = one.store ? stores.one : stores.two;
  const dirId = dirs[one.to % dirs.length]!;
  const fileId = [...files.keys()][one.of % (files.size || 1)];
  switch (one.do) {
    case 'file':
      files.set(await filed(store, owner, { dirId, fileSize: one.size, storedSize: one.stored }), dirId);
      return;
    case 'dir':
      dirs.push((await store.dirs.create(owner, fresh('d'), NOW))!);
      return;
    case 'drop dir':
      if (dirId === 0) return;
      await store.dirs.remove(owner, dirId);
      dirs.splice(dirs.indexOf(dirId), 1);
      for (const all of [files, trash]) for (const [id, dir] of all) if (dir === dirId) all.set(id, 0);
      return;
    case 'restore': {
      const back = [...trash].slice(0, 2);
      await store.trash.restore(
        owner,
        back.map(([id]) => id),
      );
      for (const [id, dir] of back) files.set(id, dir);
      for (const [id] of back) trash.delete(id);
      return;
    }
    case 'empty': {
      const some = [...trash.keys()].slice(0, 2);
      assert.equal(await store.trash.empty(owner, [...some, ...files.keys()], NOW), some.length);
      for (const id of some) trash.delete(id);
      return;
    }
  }
  if (fileId === undefined) return;
  switch (one.do) {
    case 'move':
      assert.equal(await store.fileChanges.move((await store.files.get(fileId))!, owner, dirId), 'moved');
      files.set(fileId, dirId);
      return;
    case 'remove':
      await store.fileChanges.remove(fileId, NOW);
      await store.garbage.forget(fileId);
      files.delete(fileId);
      return;
    case 'trash':
      assert.deepEqual(await store.trash.put(owner, [fileId, fileId], NOW), []);
      trash.set(fileId, files.get(fileId)!);
      files.delete(fileId);
      return;
    case 'name': {
      const name = { fileId, fileName: 'new', encParams: '{"k":1}', match: MATCH, dirId };
      assert.deepEqual(await store.fileChanges.rename(owner, [name]), []);
      files.set(fileId, dirId);
      return;
    }
    case 'put back':
      await store.fileChanges.restore((await store.fileChanges.remove(fileId, NOW))!, NOW);
      return;
    case 'clone': {
      const source = (await store.files.get(fileId))!;
      const target = { fileId: newId(), owner, dirId, leaseUntil: NOW, now: NOW };
      if ((await store.fileChanges.beginClone(source, target)) !== 'begun') return;
      assert.equal(await store.fileChanges.finishClone(source, target), 'done');
      files.set(target.fileId, dirId);
    }
  }
}
