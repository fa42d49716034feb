import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { repairUsage } from '../src/files/quota-recount.ts';
import type { Stores } from './metadata.contract.ts';
import {
  assertSums,
  DIGEST,
  filed,
  fresh,
  ids,
  NOW,
  newId,
  openSession,
  usageOf,
} from './metadata.fixture.ts';

const matchOf = (encParams: string) => createHash('sha256').update(btoa(encParams)).digest('hex');
/** `newTransfer` says so. */
const named = (fileId: string, dirId?: number) => ({
  ...{ fileId, fileName: 'new', encParams: '{"k":1}', match: matchOf('{"k":1}'), dirId },
});

/** The trash, the names that move files, and what tells that something has changed. */
export function trashContract(stores: Stores): void {
  test('what is in the trash counts in the quota and in no directory, and comes back to where it was', async () => {
    const ann = fresh('u');
    const { files, dirs, trash } = stores.one;
    const dirId = (await dirs.create(ann, 'd', 1))!;
    const made = [await filed(stores.one, ann, { dirId }), await filed(stores.one, ann, { dirId })];
    const whole = await usageOf(stores.sql, ann);
    assert.deepEqual(await trash.put(ann, [made[0]!], NOW), []);
    assert.deepEqual(await trash.put(ann, made, NOW + 1), [], 'what is there stays since then');
    const found = await Promise.all(made.map(async (id) => (await files.get(id))!));
    assert.deepEqual(
      found.map(({ trashed_at, rev, dir_id }) => [trashed_at, rev, dir_id]),
      [
        [NOW, 1, dirId],
        [NOW + 1, 1, dirId],
      ],
    );
    assert.deepEqual(await usageOf(stores.sql, ann), whole);
    assert.deepEqual(
      (await dirs.list(ann)).map(({ file_count, size }) => [file_count, size]),
      [[0, 0n]],
    );
    assert.deepEqual(await ids(stores.two, ann), []);
    assert.deepEqual(await ids(stores.two, ann, dirId), []);
    for (const id of made) {
      const stale = await stores.sql.query('SELECT 1 FROM stale_manifests WHERE file_id = ? AND rev = 1', id);
      assert.equal(stale.length, 1, 'its manifest has to say so too');
    }
    await assertSums(stores.one, stores.sql, [ann]);
    assert.deepEqual(await stores.two.trash.restore(ann, made), []);
    assert.deepEqual(await stores.two.trash.restore(ann, made), [], 'again');
    assert.deepEqual((await ids(stores.one, ann, dirId)).sort(), made.toSorted());
    assert.equal((await files.get(made[0]!))?.rev, 2);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('one that the caller does not have refuses all', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const own = await filed(stores.one, ann);
    const [foreign, unknown] = [await filed(stores.one, ben), newId()];
    for (const act of ['put', 'restore'] as const) {
      const answer = await stores.one.trash[act](ann, [own, foreign, unknown, '\0', 'x'], NOW);
      assert.deepEqual(answer, [foreign, unknown, '\0', 'x']);
    }
    for (const id of [own, foreign]) assert.equal((await stores.one.files.get(id))?.trashed_at, 0);
    const ownerless = await filed(stores.one, '');
    assert.deepEqual(await stores.one.trash.put(ann, [ownerless], NOW), [ownerless]);
    assert.deepEqual(await stores.one.trash.put(ADMIN, [ownerless], NOW), []);
    assert.ok(
      (await stores.one.trash.list(ADMIN, { limit: 100 })).some(({ file_id }) => file_id === ownerless),
    );
    assert.equal(await stores.one.trash.empty(ann, [ownerless], NOW), 0);
    assert.equal(await stores.one.trash.empty(ADMIN, [ownerless], NOW), 1);
  });

  test('nobody else uses what is in the trash', async () => {
    const ann = fresh('u');
    const { fileChanges, files, trash } = stores.one;
    const token = fresh('t');
    await openSession(stores, token, ann, 5);
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const fileId = await filed(stores.one, ann, { count: 2 });
    const before = (await files.get(fileId))!;
    const clone = { fileId: newId(), owner: ann, dirId, leaseUntil: NOW, now: NOW };
    assert.equal(await fileChanges.beginClone(before, clone), 'begun');
    await trash.put(ann, [fileId], NOW);
    assert.equal(await files.readable(fileId, 1), undefined);
    assert.equal((await files.lookUp(fileId, 1).session(token))?.file, undefined);
    assert.equal(await fileChanges.move(before, ann, dirId), 'no file');
    assert.equal(await fileChanges.finishClone(before, clone), 'source vanished');
    assert.deepEqual(await fileChanges.rename(ann, [named(fileId)]), [fileId]);
    await trash.restore(ann, [fileId]);
    assert.equal(await fileChanges.finishClone(before, clone), 'done');
    // A copy in the trash is none in the directory.
    await trash.put(ann, [clone.fileId], NOW);
    const again = { ...clone, fileId: newId() };
    assert.equal(await fileChanges.beginClone(before, again), 'begun');
    assert.equal(await fileChanges.finishClone(before, again), 'done');
    assert.equal((await files.get(again.fileId))?.trashed_at, 0);
    assert.equal((await files.readable(fileId, 2))?.volume?.sha256, DIGEST);
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('the list is latest first, in pages, and of one owner or directory', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const made: string[] = [];
    for (let at = 0; at < 7; at++) made.push(await filed(stores.one, ann, at % 2 ? { dirId } : {}));
    await stores.one.trash.put(ben, [await filed(stores.one, ben)], NOW);
    await stores.one.trash.put(ann, [made[5]!], NOW);
    await stores.one.trash.put(ann, [made[0]!, made[3]!, made[6]!], NOW + 2);
    await stores.one.trash.put(ann, [made[1]!], NOW + 1);
    const expected = [6, 3, 0, 1, 5].map((at) => made[at]!);
    const seen: string[] = [];
    for (let before: { trashedAt: number; seq: number } | undefined; ; ) {
      const page = await stores.two.trash.list(ann, { limit: 2, ...(before && { before }) });
      seen.push(...page.map(({ file_id }) => file_id));
      const last = page.at(-1);
      if (!last) break;
      before = { trashedAt: last.trashed_at, seq: last.seq };
    }
    assert.deepEqual(seen, expected);
    const inside = await stores.two.trash.list(ann, { limit: 10, dirId });
    assert.deepEqual(
      inside.map(({ file_id, dir_name }) => [file_id, dir_name]),
      [3, 1, 5].map((at) => [made[at], 'd']),
    );
    assert.deepEqual((await ids(stores.one, ann)).sort(), [made[2]!, made[4]!].sort());
  });

  test('emptied, it leaves the volumes as garbage; a file that is not there stays', async () => {
    const ann = fresh('u');
    const { files, garbage, trash } = stores.one;
    const made = await Promise.all(Array.from({ length: 5 }, () => filed(stores.one, ann)));
    await trash.put(ann, made.slice(0, 4), NOW);
    const these = [made[0]!, made[4]!, newId(), 'x'];
    assert.equal(await trash.empty(ann, these, 1), 1);
    assert.equal(await trash.empty(ann, made, 1), 3);
    assert.equal(await trash.empty(ann, made, 1), 0);
    for (const id of made.slice(0, 4)) {
      assert.equal(await files.get(id), undefined);
      assert.ok(await garbage.isKnown(id));
      await garbage.forget(id);
    }
    assert.ok(await files.get(made[4]!));
    await assertSums(stores.one, stores.sql, [ann]);
  });

  test('of a restore and the end of its time only one comes about', async () => {
    const ann = fresh('u');
    const made = await Promise.all(Array.from({ length: 12 }, () => filed(stores.one, ann)));
    // Nobody else's trash in this database is that old.
    await stores.one.trash.put(ann, made, 5);
    const [restored] = await Promise.all([
      Promise.all(made.map((id) => stores.one.trash.restore(ann, [id]))),
      stores.two.trash.expire(5, NOW, 6),
      stores.two.trash.expire(5, NOW, 6),
    ]);
    for (const [at, id] of made.entries()) {
      const file = await stores.one.files.get(id);
      assert.equal(file?.trashed_at, restored[at]!.length === 0 ? 0 : undefined);
      if (!file) await stores.one.garbage.forget(id);
    }
    await assertSums(stores.one, stores.sql, [ann]);
    const [first] = await ids(stores.one, ann);
    const late = first ?? (await filed(stores.one, ann));
    await stores.one.trash.put(ann, [late], 7);
    assert.equal(await stores.one.trash.expire(6, NOW, 10), 0, 'its time is not over');
    assert.equal(await stores.one.trash.expire(7, NOW, 10), 1);
    await stores.one.garbage.forget(late);
  });

  test('a directory that is deleted while its files are trashed and restored', async () => {
    const ann = fresh('u');
    for (let round = 0; round < 5; round++) {
      const dirId = (await stores.one.dirs.create(ann, fresh('d'), 1))!;
      const made = await Promise.all(Array.from({ length: 4 }, () => filed(stores.one, ann, { dirId })));
      await stores.one.trash.put(ann, made.slice(0, 2), NOW);
      await Promise.all([
        stores.one.dirs.remove(ann, dirId),
        stores.two.trash.put(ann, made.slice(2), NOW),
        stores.two.trash.restore(ann, made.slice(0, 2)),
      ]);
      for (const id of made) assert.equal((await stores.one.files.get(id))?.dir_id, 0);
      await assertSums(stores.one, stores.sql, [ann]);
      await stores.two.trash.restore(ann, made);
      assert.equal((await ids(stores.one, ann, 0)).length, 4 * (round + 1));
      await assertSums(stores.one, stores.sql, [ann]);
    }
  });

  test('names move files to other directories, or none of them', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const { fileChanges, files } = stores.one;
    const [a, b] = [
      (await stores.one.dirs.create(ann, 'a', 1))!,
      (await stores.one.dirs.create(ann, 'b', 1))!,
    ];
    const foreign = (await stores.one.dirs.create(ben, 'a', 1))!;
    const made = [await filed(stores.one, ann, { dirId: a }), await filed(stores.one, ann)];
    for (const dirId of [foreign, -1, 2 ** 40]) {
      const names = [named(made[0]!, b), named(made[1]!, dirId)];
      assert.equal(await fileChanges.rename(ann, names), 'no directory');
    }
    const gone = newId();
    assert.deepEqual(await fileChanges.rename(ann, [named(made[0]!, b), named(gone, b)]), [gone]);
    assert.equal((await files.get(made[0]!))?.dir_id, a);
    assert.deepEqual(await fileChanges.rename(ann, [named(made[0]!), named(made[1]!, b)]), []);
    assert.deepEqual(await Promise.all(made.map(async (id) => (await files.get(id))?.dir_id)), [a, b]);
    await assertSums(stores.one, stores.sql, [ann, ben]);
    assert.deepEqual(await fileChanges.rename(ann, [named(made[0]!, 0), named(made[1]!, a)]), []);
    await assertSums(stores.one, stores.sql, [ann, ben]);
    // To and fro at once, while a directory goes.
    const both = (to: number) => made.map((id) => named(id, to));
    const results = await Promise.all([
      stores.one.fileChanges.rename(ann, both(a)),
      stores.two.fileChanges.rename(ann, both(b).toReversed()),
      stores.one.dirs.remove(ann, a),
      stores.two.fileChanges.move((await files.get(made[0]!))!, ann, b),
    ]);
    assert.deepEqual(results[1], []);
    for (const id of made) assert.ok([0, b].includes((await files.get(id))!.dir_id));
    await assertSums(stores.one, stores.sql, [ann, ben]);
  });

  test('every change of files and directories makes another state, and nothing else does', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const { dirs, fileChanges, files, transfers, trash } = stores.one;
    const token = fresh('t');
    await openSession(stores, token, ann, 5);
    const seen = new Set<number>();
    const rev = async () => (await stores.two.lookUpUsage().session(token))!.rev;
    const changes = async (what: string, act: () => Promise<unknown>) => {
      const before = await rev();
      seen.add(before);
      await act();
      assert.ok(!seen.has(await rev()), what);
    };
    const stays = async (what: string, act: () => Promise<unknown>) => {
      const before = await rev();
      await act();
      assert.equal(await rev(), before, what);
    };
    let [fileId, dirId] = ['', 0];
    await changes('a file', async () => {
      fileId = await filed(stores.one, ann);
    });
    await changes('a directory', async () => {
      dirId = (await dirs.create(ann, 'd', 1))!;
    });
    await changes('its name', () => dirs.rename(ann, dirId, { name: 'e', match: 'd' }));
    await changes('a move', async () => fileChanges.move((await files.get(fileId))!, ann, dirId));
    await changes('a name', () => fileChanges.rename(ann, [named(fileId)]));
    await changes('the trash', () => trash.put(ann, [fileId], NOW));
    await changes('a restore', () => trash.restore(ann, [fileId]));
    await stays('a restore of what is there', () => trash.restore(ann, [fileId]));
    await stays('another account', () => filed(stores.one, ben));
    await stays('a name that is refused', () => fileChanges.rename(ann, [{ ...named(fileId), match: '0' }]));
    await stays('a directory that is there', () => dirs.create(ann, 'e', 1));
    await stays('an upload that begins', async () => {
      const ids = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
      const init = {
        fileName: '',
        fileSize: 1,
        storedSize: 1,
        totalSha256: DIGEST,
        dirId: 0,
        encParams: '{}',
      };
      await transfers.create({ ...init, streamed: 'no', volumes: [] }, ids, { quota: 10_000 });
    });
    await changes('a directory that goes', () => dirs.remove(ann, dirId));
    await changes('sums that are mended', () => repairUsage(stores.sql, ann));
    await changes('a file that goes', () => fileChanges.remove(fileId, NOW));
    await stores.one.garbage.forget(fileId);
    await changes('sums of nothing that are mended', () => repairUsage(stores.sql, ann));
    await changes('a directory without files', async () => {
      dirId = (await dirs.create(ann, 'f', 1))!;
    });
    // Another's directory, in which a file of this account is.
    const theirs = (await dirs.create(ben, 'd', 1))!;
    const made = await filed(stores.one, ann);
    await stores.sql.execute('UPDATE files SET dir_id = ? WHERE file_id = ?', theirs, made);
    await repairUsage(stores.sql, ann);
    await changes("another's directory that goes", () => dirs.remove(ben, theirs));
    assert.equal((await files.get(made))?.dir_id, 0);
  });
}
