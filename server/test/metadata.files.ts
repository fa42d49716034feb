import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { insertFile } from '../src/files/file-changes-table.ts';
import type { Stores } from './metadata.contract.ts';
import {
  assertSums,
  begin,
  DIGEST,
  filed,
  finish,
  fresh,
  ids,
  NOW,
  newId,
  newTransfer,
  usageOf,
} from './metadata.fixture.ts';

/** File records: list, move, remove, clone, and their sums. */
export function filesContract(stores: Stores): void {
  test('a record carries what init said', async () => {
    const ann = fresh('u');
    const fileId = await filed(stores.one, ann, { fileSize: 7, storedSize: 23, count: 3 });
    const { seq, ...row } = (await stores.two.files.get(fileId))!;
    assert.equal(typeof seq, 'number');
    assert.deepEqual(row, {
      file_id: fileId,
      owner: ann,
      dir_id: 0,
      file_name: 'name',
      size: 7,
      stored_size: 23,
      sha256: DIGEST,
      chunk_count: 3,
      created_at: NOW,
      cloned_from: null,
      enc_params: '{"k":1}',
      rev: 0,
      trashed_at: 0,
      thumbnail: null,
    });
    assert.equal(await stores.one.files.get(newId()), undefined);
  });

  test('the list is newest first, in pages, by directory, and of one owner', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const dirId = (await stores.one.dirs.create(ann, 'papers', 1))!;
    const made: string[] = [];
    for (let at = 0; at < 7; at++) {
      made.unshift(await filed(stores.one, ann, at % 2 ? { dirId } : {}));
      await filed(stores.one, ben);
    }
    assert.deepEqual(await ids(stores.two, ann), made);
    assert.equal((await ids(stores.two, ann, dirId)).length, 3);
    assert.equal((await ids(stores.two, ann, 0)).length, 4);
    const first = await stores.one.files.list(ann, { limit: 4 });
    const rest = await stores.one.files.list(ann, { limit: 4, before: first.at(-1)!.seq });
    assert.deepEqual(
      [...first, ...rest].map((row) => row.file_id),
      made,
    );
    for (const row of first) assert.equal(row.dir_name, row.dir_id === dirId ? 'papers' : '');
  });

  test('admin sees what is its own and what nobody owns', async () => {
    const before = await usageOf(stores.sql, ADMIN);
    const [own, ownerless] = [await filed(stores.one, ADMIN), await filed(stores.one, '')];
    const listed = await ids(stores.one, ADMIN);
    assert.ok(listed.includes(own) && listed.includes(ownerless));
    for (const row of await stores.one.files.list(ADMIN, { limit: 10_000 })) {
      assert.ok(row.owner === ADMIN || row.owner === '', row.owner);
    }
    assert.equal((await usageOf(stores.sql, ADMIN)).bytes, before.bytes + 20n);
  });

  test('a file without an owner stands in a directory of admin like any other file of it', async () => {
    const dirId = (await stores.one.dirs.create(ADMIN, fresh('d'), 1))!;
    const [own, ownerless] = [await filed(stores.one, ADMIN, { dirId }), await filed(stores.one, '')];
    const found = (await stores.one.files.get(ownerless))!;
    assert.equal(await stores.one.fileChanges.move(found, ADMIN, dirId), 'moved');
    const dir = (await stores.two.dirs.list(ADMIN)).filter(({ dir_id }) => dir_id === dirId);
    assert.deepEqual(
      dir.map(({ file_count, size }) => [file_count, size]),
      [[2, 20n]],
    );
    const inside = await stores.two.files.list(ADMIN, { dirId, limit: 10 });
    assert.deepEqual(
      inside.map(({ file_id, dir_name }) => [file_id, dir_name]),
      [ownerless, own].map((id) => [id, dir[0]!.name]),
    );
    // A removal that fails leaves it where it was.
    const removed = (await stores.one.fileChanges.remove(ownerless, NOW))!;
    await stores.one.fileChanges.restore(removed, NOW);
    assert.equal((await stores.one.files.get(ownerless))?.dir_id, dirId);
    await stores.one.dirs.remove(ADMIN, dirId);
    assert.equal((await stores.one.files.get(ownerless))?.dir_id, 0);
  });

  test('the name of a directory is told only for a file of its owner', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const dirId = (await stores.one.dirs.create(ann, 'secret name', 1))!;
    const { transferId } = await begin(stores.one, ann, { dirId });
    await stores.one.transfers.beginStoring(transferId, ben);
    await finish(stores.one, transferId);
    const [row] = await stores.one.files.list(ben, { limit: 1 });
    assert.deepEqual([row?.dir_id, row?.dir_name], [dirId, '']);
    assert.equal((await stores.one.dirs.list(ann))[0]?.file_count, 0, "not counted among ann's files");
    await stores.one.dirs.remove(ann, dirId);
    await assertSums(stores.one, stores.sql, [ann, ben]);
  });

  test('move says what is missing, and moves sums with the file', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const foreign = (await stores.one.dirs.create(ben, 'd', 1))!;
    const fileId = await filed(stores.one, ann);
    const { fileChanges, files } = stores.one;
    const found = (await files.get(fileId))!;
    assert.equal(await fileChanges.move(found, ann, foreign), 'no directory');
    assert.equal(await fileChanges.move({ ...found, file_id: newId() }, ann, dirId), 'no file');
    assert.equal(await fileChanges.move(found, ann, dirId), 'moved');
    assert.equal(
      await fileChanges.move(found, ann, dirId),
      'moved',
      'to where it is, which is not where it was found',
    );
    assert.deepEqual(await ids(stores.two, ann, dirId), [fileId]);
    await assertSums(stores.one, stores.sql, [ann, ben]);
    assert.equal(await fileChanges.move((await files.get(fileId))!, ann, 0), 'moved');
    await assertSums(stores.one, stores.sql, [ann, ben]);
  });

  test('files moved to and fro at once are counted where they end', async () => {
    const ann = fresh('u');
    const dirs = [(await stores.one.dirs.create(ann, 'a', 1))!, (await stores.one.dirs.create(ann, 'b', 1))!];
    const nodes = [stores.one, stores.two];
    const made = await Promise.all(dirs.map((dirId) => filed(stores.one, ann, { dirId })));
    const found = await Promise.all(made.map(async (fileId) => (await stores.one.files.get(fileId))!));
    for (let round = 1; round <= 10; round++) {
      await Promise.all(
        found.map((file, at) => nodes[at]!.fileChanges.move(file, ann, dirs[(at + round) % dirs.length]!)),
      );
    }
    assert.deepEqual(
      [await ids(stores.one, ann, dirs[0]), await ids(stores.one, ann, dirs[1])],
      [[made[0]], [made[1]]],
    );
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('a directory that goes away leaves its files and transfers in the root', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const inside = [await filed(stores.one, ann, { dirId }), await filed(stores.one, ann, { dirId })];
    const outside = await filed(stores.one, ann);
    const pending = await begin(stores.one, ann, { dirId });
    assert.equal(await stores.one.dirs.remove(ann, dirId), true);
    assert.deepEqual(await ids(stores.one, ann, 0), [outside, ...inside.reverse()]);
    assert.equal((await stores.one.transfers.get(pending.transferId))?.dir_id, 0);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('a removed record is garbage under lease; it can come back where it stood', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const [first, second] = [await filed(stores.one, ann, { dirId }), await filed(stores.one, ann)];
    const { fileChanges, files, garbage } = stores.one;
    const removed = (await fileChanges.remove(first, 700))!;
    assert.equal(await files.get(first), undefined);
    assert.deepEqual(await garbage.take(699, 1000, 1000), []);
    await assertSums(stores.one, stores.sql, [ann]);
    await fileChanges.restore(removed, 700);
    assert.deepEqual(await ids(stores.one, ann), [second, first], 'in its old place in the list');
    assert.deepEqual(await ids(stores.one, ann, dirId), [first]);
    assert.equal((await files.volumes(first)).length, 1);
    await assertSums(stores.one, stores.sql, [ann]);

    const again = (await fileChanges.remove(first, 700))!;
    await stores.two.dirs.remove(ann, dirId);
    await fileChanges.restore(again, 700);
    assert.deepEqual(await ids(stores.one, ann, 0), [second, first], 'its directory is no more');
    await fileChanges.restore(again, 700);
    assert.deepEqual(await ids(stores.one, ann), [second, first], 'no second record');

    const late = (await fileChanges.remove(first, 700))!;
    assert.deepEqual(await garbage.take(700, 1000, 1000), [first]);
    await fileChanges.restore(late, 700);
    assert.equal(await files.get(first), undefined, 'the sweeper has it: its volumes may be gone');
    await garbage.forget(first);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('many removals at once: one of them has the record', async () => {
    const ann = fresh('u');
    const fileId = await filed(stores.one, ann);
    const removed = await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? stores.one : stores.two).fileChanges.remove(fileId, NOW),
      ),
    );
    assert.equal(removed.filter((row) => row !== undefined).length, 1);
    await stores.one.garbage.forget(fileId);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('one clone at a time, and one clone in all, for each file and directory', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const sourceId = await filed(stores.one, ann, { count: 3, storedSize: 50 });
    const source = (await stores.one.files.get(sourceId))!;
    const target = (dir = 0) => ({ fileId: newId(), owner: ann, dirId: dir, leaseUntil: NOW + 10, now: NOW });
    const targets = Array.from({ length: 10 }, () => target());
    const begun = await Promise.all(
      targets.map((one, at) => (at % 2 ? stores.one : stores.two).fileChanges.beginClone(source, one)),
    );
    assert.equal(begun.filter((result) => result === 'begun').length, 1);
    assert.equal(begun.filter((result) => result === 'exists').length, 9);
    const elsewhere = target(dirId);
    assert.equal(
      await stores.one.fileChanges.beginClone(source, elsewhere),
      'begun',
      'another directory is free',
    );
    assert.equal(await stores.one.fileChanges.beginClone(source, target(2 ** 40)), 'no directory');
    const mine = targets[begun.indexOf('begun')]!;
    assert.equal(await stores.two.fileChanges.finishClone(source, mine), 'done');
    assert.equal(await stores.one.fileChanges.finishClone(source, mine), 'lease lost', 'only once');
    assert.equal(await stores.one.fileChanges.beginClone(source, target()), 'exists');
    const { seq, ...clone } = (await stores.one.files.get(mine.fileId))!;
    assert.ok(seq > source.seq);
    const expected = { ...source, file_id: mine.fileId, cloned_from: sourceId } as Partial<typeof source>;
    delete expected.seq;
    assert.deepEqual(clone, expected);
    assert.deepEqual(await stores.one.files.volumes(mine.fileId), await stores.one.files.volumes(sourceId));
    await stores.one.dirs.remove(ann, dirId);
    assert.equal(await stores.one.fileChanges.finishClone(source, elsewhere), 'done');
    assert.equal((await stores.one.files.get(elsewhere.fileId))?.dir_id, 0, 'its directory is no more');
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('clones under way count toward an enforced quota, and many at once never pass it', async () => {
    const ann = fresh('u');
    const sourceId = await filed(stores.one, ann, { fileSize: 10, storedSize: 20 });
    const source = (await stores.one.files.get(sourceId))!;
    const quota = 100;
    const targets = await Promise.all(
      Array.from({ length: 12 }, async (_, at) => {
        const dirId = (await stores.one.dirs.create(ann, `d${at}`, 1))!;
        return { fileId: newId(), owner: ann, dirId, leaseUntil: NOW + 10, now: NOW };
      }),
    );
    const begun = await Promise.all(
      targets.map((one, at) => (at % 2 ? stores.one : stores.two).fileChanges.beginClone(source, one, quota)),
    );
    assert.equal(begun.filter((result) => result === 'begun').length, 4, '20 + 4 * 20 fit into 100');
    assert.equal(begun.filter((result) => result === 'over quota').length, 8);
    const ids = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
    const tiny = newTransfer({ fileSize: 1, storedSize: 1 });
    assert.equal(await stores.one.transfers.create(tiny, ids, { quota }), 'over quota');
    const [done, lost, ...rest] = targets.filter((_, at) => begun[at] === 'begun');
    assert.equal(await stores.two.fileChanges.finishClone(source, done!), 'done');
    await stores.one.garbage.take(NOW + 20, NOW + 30, 1000);
    const refused = targets[begun.indexOf('over quota')]!;
    for (let more = 0; more < 3; more++) {
      const dirId = (await stores.one.dirs.create(ann, `more ${more}`, 1))!;
      const again = { ...refused, fileId: newId(), dirId };
      assert.equal(
        await stores.one.fileChanges.beginClone(source, again, quota),
        'begun',
        'given up ones do not count',
      );
    }
    assert.equal(await stores.one.fileChanges.beginClone(source, refused, quota), 'over quota');
    for (const { fileId } of [lost!, ...rest]) await stores.one.garbage.forget(fileId);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('a clone whose source vanished, or which the sweeper took over, makes no record', async () => {
    const ann = fresh('u');
    const sourceId = await filed(stores.one, ann);
    const source = (await stores.one.files.get(sourceId))!;
    const { fileChanges, files, garbage } = stores.one;
    const slow = { fileId: newId(), owner: ann, dirId: 0, leaseUntil: 800, now: NOW };
    assert.equal(await fileChanges.beginClone(source, slow), 'begun');
    assert.deepEqual(await garbage.take(799, 2000, 1000), []);
    assert.deepEqual(await garbage.take(800, 2000, 1000), [slow.fileId]);
    assert.equal(await fileChanges.finishClone(source, slow), 'lease lost', 'its volumes may be gone');
    await garbage.forget(slow.fileId);
    const next = { fileId: newId(), owner: ann, dirId: 0, leaseUntil: 800, now: NOW };
    assert.equal(await fileChanges.beginClone(source, next), 'begun', 'the place is free again');
    await fileChanges.remove(sourceId, NOW);
    assert.equal(await fileChanges.finishClone(source, next), 'source vanished');
    assert.equal(await files.get(next.fileId), undefined);
    await garbage.forget(next.fileId);
    await garbage.forget(sourceId);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('sums stay exact beyond 2^53 and beyond 2^63', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const largest = Number.MAX_SAFE_INTEGER;
    const count = 1030;
    const first = await filed(stores.one, ann, { dirId, fileSize: largest, storedSize: 1 });
    const { seq: _, ...row } = (await stores.one.files.get(first))!;
    await stores.sql.transaction(async (tx) => {
      for (let more = 1; more < count; more++) await insertFile(tx, { ...row, file_id: newId() });
    });
    const all = BigInt(largest) * BigInt(count);
    assert.ok(all > 2n ** 63n);
    assert.deepEqual(await usageOf(stores.sql, ann), { bytes: all, counted: all });
    assert.equal((await stores.two.dirs.list(ann))[0]?.size, all);
    await stores.one.fileChanges.remove(first, NOW);
    assert.equal((await usageOf(stores.sql, ann)).bytes, all - BigInt(largest));
    await stores.one.dirs.remove(ann, dirId);
    await assertSums(stores.one, stores.sql, [ann]);
  });
}
