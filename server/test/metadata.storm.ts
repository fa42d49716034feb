import assert from 'node:assert/strict';
import { createHash, randomInt } from 'node:crypto';
import { test } from 'node:test';
import { findWrongUsage } from '../src/files/quota-recount.ts';
import type { Metadata } from '../src/metadata.ts';
import type { Stores } from './metadata.contract.ts';
import { assertSums, filed, fresh, ids, NOW, newId } from './metadata.fixture.ts';

const MATCH = createHash('sha256').update(btoa('{"k":1}')).digest('hex');
const ACTORS = 6;
const ACTS = 20;
/** Older than any other trash in this database. */
const LONG_AGO = 3;

const some = <T>(things: readonly T[]): T => things[randomInt(things.length)]!;

/** Two processes, and all that can happen to a file at the same moment. */
export function stormContract(stores: Stores): void {
  test('whatever happens to the same files at once: sums are right, every file is whole, nothing is both there and gone', async () => {
    const ann = fresh('u');
    const dirs = await Promise.all(
      Array.from({ length: 3 }, () => stores.one.dirs.create(ann, fresh('d'), 1)),
    );
    const places = [0, ...dirs.map((dir) => dir!)];
    const known = await Promise.all(
      Array.from({ length: 12 }, () => filed(stores.one, ann, { dirId: some(places), count: 2 })),
    );
    const batch = () => Array.from({ length: 1 + randomInt(6) }, () => some(known));
    const acts: ((store: Metadata) => Promise<unknown>)[] = [
      (store) => store.trash.put(ann, batch(), LONG_AGO),
      (store) => store.trash.put(ann, [some(known)], LONG_AGO),
      (store) => store.trash.restore(ann, batch()),
      (store) => store.trash.restore(ann, [some(known)]),
      (store) => store.trash.restore(ann, [some(known)]),
      (store) => store.trash.empty(ann, [some(known)], NOW),
      (store) => store.trash.expire(LONG_AGO, NOW, 1),
      (store) => store.fileChanges.remove(some(known), NOW),
      (store) => {
        const names = [...new Set(batch())].map((fileId) => ({
          ...{
            fileId,
            fileName: 'new',
            encParams: '{"k":1}',
            match: MATCH,
            dirId: some([...places, undefined]),
          },
        }));
        return store.fileChanges.rename(ann, names);
      },
      async (store) => {
        const file = await store.files.get(some(known));
        if (file) await store.fileChanges.move(file, ann, some(places));
      },
      async (store) => {
        const source = await store.files.get(some(known));
        if (!source) return;
        const target = { fileId: newId(), owner: ann, dirId: some(places), leaseUntil: NOW, now: NOW };
        if ((await store.fileChanges.beginClone(source, target)) !== 'begun') return;
        if ((await store.fileChanges.finishClone(source, target)) === 'done') known.push(target.fileId);
      },
      async (store) => known.push(await filed(store, ann, { dirId: 0, count: 2 })),
      (store) => store.thumbnails.set(some(known), { idx: 0, size: 9, sha256: 'cd'.repeat(32) }),
      async (store) => {
        // A new one in its place; the old number is still tried.
        if (randomInt(4) > 0) return;
        await store.dirs.remove(ann, some(dirs)!);
        places.push((await store.dirs.create(ann, fresh('d'), 1))!);
      },
      async (store) => {
        const held = await store.fileChanges.remove(some(known), NOW + 1);
        if (held) await store.fileChanges.restore(held, NOW + 1);
      },
    ];
    const actor = async (_: unknown, at: number) => {
      for (let act = 0; act < ACTS; act++) await some(acts)(at % 2 === 0 ? stores.one : stores.two);
    };
    await Promise.all(Array.from({ length: ACTORS }, actor));

    await assertSums(stores.one, stores.sql, [ann]);
    for await (const owner of findWrongUsage(stores.sql)) assert.notEqual(owner, ann, 'sums differ');
    const standing = new Set((await stores.one.dirs.list(ann)).map(({ dir_id }) => dir_id));
    const trashed = (await stores.one.trash.list(ann, { limit: 1000 })).map(({ file_id }) => file_id);
    const listed = await ids(stores.two, ann);
    assert.deepEqual(new Set([...listed, ...trashed]).size, listed.length + trashed.length);
    for (const fileId of known) {
      const file = await stores.one.files.get(fileId);
      const [{ doomed, transfers } = assert.fail()] = await stores.sql.query<{
        doomed: number;
        transfers: number;
      }>(
        `SELECT (SELECT COUNT(*) FROM garbage WHERE file_id = ?) AS doomed,
           (SELECT COUNT(*) FROM transfers WHERE file_id = ?) AS transfers`,
        fileId,
        fileId,
      );
      assert.equal(doomed, file ? 0 : 1, 'a file is there, or its volumes are garbage');
      if (!file) {
        assert.equal(transfers, 0, 'of what is gone nobody completes anything');
        await stores.one.garbage.forget(fileId);
        continue;
      }
      assert.ok(file.dir_id === 0 || standing.has(file.dir_id), 'a file is in a directory that is there');
      assert.equal((await stores.one.files.volumes(fileId)).length, 2);
      assert.ok(listed.includes(fileId) !== trashed.includes(fileId));
      assert.equal((await stores.two.files.readable(fileId, 2)) !== undefined, file.trashed_at === 0);
    }
    assert.deepEqual(
      new Set([...listed, ...trashed]),
      new Set(
        (await Promise.all(known.map((id) => stores.one.files.get(id)))).flatMap(
          (file) => file?.file_id ?? [],
        ),
      ),
    );
    // Copies whose source went meanwhile: the sweeper takes them.
    await stores.sql.execute('DELETE FROM garbage WHERE owner = ?', ann);
  });
}
