/** The part of the metadata contract about transfers: their states, and who may change them. One file, as they are one machine of states. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ADMIN } from '@szafa/protocol';
import { findWrongUsage } from '../src/files/quota-recount.ts';
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
  PLENTY,
  puller,
} from './metadata.fixture.ts';

/** Transfers, from init to done, and the garbage that those leave which never get there. */
export function transfersContract(stores: Stores): void {
  const untouched = async (time: number, limit: number) =>
    (await stores.one.transfers.untouchedSince(time, limit)).map((row) => row.transfer_id);

  test('init keeps every field and every volume, in the order of their numbers', async () => {
    const ann = fresh('u');
    for (const count of [1, 16, 17, 2000, 2001, 4017]) {
      const init = newTransfer({ count, fileName: 'ż', fileSize: 2 ** 53 - 1, storedSize: 5 });
      const creatorSession = newId();
      const at = { transferId: fresh('t'), fileId: newId(), creator: ann, creatorSession, now: NOW };
      assert.equal(await stores.one.transfers.create(init, at), 'created');
      assert.deepEqual(
        { ...(await stores.two.transfers.get(at.transferId)) },
        {
          transfer_id: at.transferId,
          file_id: at.fileId,
          creator: ann,
          creator_session: creatorSession,
          owner: null,
          dir_id: 0,
          status: 'uploading',
          file_name: 'ż',
          file_size: 2 ** 53 - 1,
          stored_size: 5,
          total_sha256: DIGEST,
          chunk_count: count,
          created_at: NOW,
          touched_at: NOW,
          enc_params: '{"k":1}',
          streamed: 'no',
          completion_digest: null,
        },
      );
      const volumes = await stores.two.files.volumes(at.fileId);
      assert.deepEqual(
        volumes.map((volume) => ({ ...volume })),
        init.volumes,
      );
      assert.deepEqual({ ...(await stores.two.files.volume(at.fileId, count)) }, init.volumes.at(-1));
      assert.equal(await stores.two.files.volume(at.fileId, count + 1), undefined);
      assert.equal(await stores.two.files.volume(at.fileId, 0), undefined);
    }
    assert.equal(await stores.one.transfers.get(fresh('t')), undefined);
  });

  test('notes of what has arrived add up, from any process, and go with the upload', async () => {
    const { transferId, fileId } = await begin(stores.one, fresh('u'), { count: 10_000 });
    assert.deepEqual(await stores.one.receivedVolumes.numbers(fileId), new Set());
    const all = Array.from({ length: 10_000 }, (_, at) => at + 1);
    await Promise.all([
      stores.one.receivedVolumes.add(fileId, [31, 32, 33, 10_000]),
      stores.two.receivedVolumes.add(fileId, [32, 1, 31, 31]),
      stores.one.receivedVolumes.add(fileId, []),
    ]);
    const sorted = async () => [...(await stores.two.receivedVolumes.numbers(fileId))].sort((a, b) => a - b);
    assert.deepEqual(await sorted(), [1, 31, 32, 33, 10_000]);
    await stores.two.receivedVolumes.remove(fileId, [31, 31, 33, 9999]);
    assert.deepEqual(await sorted(), [1, 32, 10_000]);
    await stores.one.receivedVolumes.add(fileId, all);
    assert.deepEqual(await sorted(), all);
    await stores.one.receivedVolumes.expire();
    assert.deepEqual(await sorted(), all);
    await stores.one.transfers.beginStoring(transferId, 'ann');
    await finish(stores.one, transferId);
    assert.deepEqual(await sorted(), []);
    // One that comes late is nobody's.
    await stores.one.receivedVolumes.add(fileId, [5]);
    await stores.two.receivedVolumes.expire();
    assert.deepEqual(await sorted(), []);
  });

  test('init into a directory that is unknown or foreign leaves nothing', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const foreign = (await stores.one.dirs.create(ben, 'd', 1))!;
    for (const dirId of [foreign, 2 ** 40]) {
      const at = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
      assert.equal(await stores.one.transfers.create(newTransfer({ dirId }), at), 'no directory');
      assert.equal(await stores.one.transfers.get(at.transferId), undefined);
      assert.deepEqual(await stores.one.files.volumes(at.fileId), []);
    }
  });

  test('an enforced quota counts files and transfers by the larger size, and is never passed', async () => {
    const ann = fresh('u');
    const quota = 100;
    await filed(stores.one, ann, { fileSize: 30, storedSize: 10 });
    const asked = await Promise.all(
      Array.from({ length: 10 }, async (_, at) => {
        const init = newTransfer({ fileSize: 10, storedSize: 30 });
        const named = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
        const store = at % 2 ? stores.one : stores.two;
        return { ...named, result: await store.transfers.create(init, named, { quota }) };
      }),
    );
    const created = asked.filter(({ result }) => result === 'created');
    assert.equal(created.length, 2, '30 + 2 * 30 fit into 100');
    for (const { result, transferId, fileId } of asked) {
      if (result === 'created') continue;
      assert.equal(result, 'over quota');
      assert.equal(await stores.one.transfers.get(transferId), undefined);
      assert.deepEqual(await stores.one.files.volumes(fileId), []);
    }
    const exact = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
    const ten = newTransfer({ fileSize: 10, storedSize: 0 });
    assert.equal(
      await stores.one.transfers.create(ten, exact, { quota }),
      'created',
      'exactly full is not over',
    );
    await stores.one.transfers.remove(created[0]!.transferId, ['uploading'], NOW);
    const again = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
    const thirty = newTransfer({ fileSize: 30, storedSize: 0 });
    assert.equal(
      await stores.one.transfers.create(thirty, again, { quota }),
      'created',
      'a cancelled one is free',
    );
  });

  test('so many transfers, and volumes in all, are open for an account and no more, however many ask at once', async () => {
    const ann = fresh('u');
    const open = { transfers: 5, volumes: 12 };
    const ask = async (count: number) => {
      const at = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
      const store = Math.random() < 0.5 ? stores.one : stores.two;
      return { ...at, result: await store.transfers.create(newTransfer({ count }), at, { open }) };
    };
    const asked = await Promise.all(Array.from({ length: 12 }, () => ask(1)));
    const made = asked.filter(({ result }) => result === 'created');
    assert.equal(made.length, 5);
    for (const { result, transferId, fileId } of asked) {
      if (result === 'created') continue;
      assert.equal(result, 'too many');
      assert.equal(await stores.one.transfers.get(transferId), undefined);
      assert.deepEqual(await stores.one.files.volumes(fileId), []);
    }
    // One that is done has left its place, one that failed has not.
    const [done, failed, cancelled] = made as [(typeof made)[0], (typeof made)[0], (typeof made)[0]];
    await stores.one.transfers.beginStoring(done.transferId, ann);
    assert.equal((await ask(1)).result, 'too many');
    await finish(stores.one, done.transferId);
    await stores.one.transfers.beginStoring(failed.transferId, ann);
    await stores.one.transfers.failStoring(failed.transferId);
    assert.equal((await ask(9)).result, 'too many', '13 volumes');
    assert.equal((await ask(8)).result, 'created');
    assert.equal((await ask(1)).result, 'too many');
    await stores.one.transfers.remove(cancelled.transferId, ['uploading'], NOW);
    assert.equal((await ask(2)).result, 'too many', '13 volumes');
    assert.equal((await ask(1)).result, 'created');
    const other = { transferId: fresh('t'), fileId: newId(), creator: fresh('u'), now: NOW };
    assert.equal(await stores.one.transfers.create(newTransfer({ count: 12 }), other, { open }), 'created');
    const file = { transferId: fresh('t'), fileId: newId(), creator: ann, now: NOW };
    const whole = await stores.one.transfers.createDone([{ init: newTransfer(), ids: file }]);
    assert.deepEqual(whole, ['created'], 'never open');
  });

  test('of several files that are done, each is created or refused by itself', async () => {
    const ann = fresh('u');
    const dirId = (await stores.one.dirs.create(ann, 'd', NOW))!;
    const one = (init: Parameters<typeof newTransfer>[0] = {}, transferId = fresh('t')) => ({
      init: newTransfer({ fileSize: 30, storedSize: 20, ...init }),
      ids: { transferId, fileId: newId(), creator: ann, now: NOW },
    });
    const twice = fresh('t');
    const files = [
      ...[one({ dirId }, twice), one({ dirId: dirId + 1_000_000 }), one({}, twice)],
      ...[one({ fileSize: 80 }), one({ storedSize: 70 }), one({ fileSize: 1, storedSize: 1 })],
    ];
    const wanted = ['created', 'no directory', 'taken', 'over quota', 'created', 'over quota'];
    assert.deepEqual(await stores.one.transfers.createDone(files, 100), wanted);
    const made = files.filter((_, at) => wanted[at] === 'created').map(({ ids }) => ids.fileId);
    for (const { ids } of files) {
      const isMade = made.includes(ids.fileId);
      assert.equal((await stores.two.files.get(ids.fileId)) !== undefined, isMade);
      assert.equal((await stores.two.files.volumes(ids.fileId)).length, isMade ? 1 : 0);
      if (ids.transferId === twice) continue;
      assert.equal((await stores.two.transfers.get(ids.transferId))?.status, isMade ? 'done' : undefined);
    }
    const same = files.map(({ init, ids }) => ({ init, ids: { ...ids, fileId: newId() } }));
    const again = await stores.two.transfers.createDone(same);
    assert.deepEqual(again, ['taken', 'no directory', 'taken', 'created', 'taken', 'created']);
    for await (const owner of findWrongUsage(stores.sql)) assert.notEqual(owner, ann, 'sums differ');
  });

  test('many at once that name the same directories and ids in other orders all come to an end', async () => {
    const ann = fresh('u');
    const dirIds = await Promise.all(
      [1, 2, 3].map(async (n) => (await stores.one.dirs.create(ann, `${n}`, NOW))!),
    );
    for (const quota of [undefined, 1e9]) {
      const ids = Array.from({ length: 8 }, () => fresh('t'));
      const rounds = Array.from({ length: 6 }, async (_, round) => {
        const files = ids.map((transferId, at) => ({
          init: newTransfer({ dirId: dirIds[(at + round) % 3]! }),
          ids: { transferId, fileId: newId(), creator: ann, now: NOW },
        }));
        const { transfers } = round % 2 ? stores.one : stores.two;
        return transfers.createDone(round % 3 ? files : files.reverse(), quota);
      });
      const results = (await Promise.all(rounds)).flat();
      assert.equal(results.filter((result) => result === 'created').length, ids.length);
      assert.equal(results.filter((result) => result === 'taken').length, 5 * ids.length);
    }
  });

  test('an enforced quota is that of who completes, from then on, and is never passed by many at once', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const quota = 100;
    const { transfers } = stores.one;
    const ofAnn = await Promise.all(
      Array.from({ length: 6 }, () => begin(stores.one, ann, { fileSize: 30, storedSize: 30 })),
    );
    const completed = await Promise.all(
      ofAnn.map(async ({ transferId }, at) => {
        const store = at % 2 ? stores.one : stores.two;
        return { transferId, row: await store.transfers.beginStoringWithin(quota, transferId, ben) };
      }),
    );
    const won = completed.filter(({ row }) => row !== 'over quota');
    assert.equal(won.length, 3, '3 * 30 fit into 100');
    for (const { transferId, row } of completed) {
      const { status, owner } = (await transfers.get(transferId))!;
      assert.deepEqual([status, owner], row === 'over quota' ? ['uploading', null] : ['storing', ben]);
    }
    // What ben is about to own counts for ben, before it is filed, after it failed, and once it is filed.
    const more = (creator: string) =>
      transfers.create(
        newTransfer({ fileSize: 11, storedSize: 0 }),
        { transferId: fresh('t'), fileId: newId(), creator, now: NOW },
        { quota },
      );
    const [first, second, third] = won as [(typeof won)[0], (typeof won)[0], (typeof won)[0]];
    await finish(stores.one, first.transferId);
    await transfers.failStoring(second.transferId);
    assert.equal(await more(ben), 'over quota');
    // Ann's own three of 30 are left; hers it is again, so it must fit there.
    assert.equal(await transfers.beginStoringWithin(quota, second.transferId, ann), 'over quota');
    const rest = completed.find(({ row }) => row === 'over quota')!;
    await transfers.remove(rest.transferId, ['uploading'], NOW);
    const back = await transfers.beginStoringWithin(quota, second.transferId, ann);
    assert.ok(back && back !== 'over quota' && back.owner === ann);
    assert.equal(await more(ben), 'created');
    assert.equal(await more(ann), 'over quota');
    // Where nothing changes hands nothing is asked, even under a quota that is smaller by now.
    const own = completed.find((one) => one.row === 'over quota' && one !== rest)!;
    const same = await transfers.beginStoringWithin(1, own.transferId, ann);
    assert.ok(same && same !== 'over quota' && same.status === 'storing');
    const again = await transfers.beginStoringWithin(quota, third.transferId, ann);
    assert.ok(again && again !== 'over quota' && again.owner === ben, 'ben was first');
    assert.equal(await transfers.beginStoringWithin(quota, fresh('t'), ann), undefined);
    for (const { transferId } of [second, third, own]) await finish(stores.one, transferId);
    await assertSums(stores.one, stores.sql, [ann, ben]);
  });

  test('many completes at once: one owner wins, one record, one place in the sums', async () => {
    const callers = Array.from({ length: 12 }, () => fresh('u'));
    const { transferId, fileId } = await begin(stores.one, fresh('u'), { fileSize: 7 });
    await Promise.all(
      callers.map(async (caller, at) => {
        const store = at % 2 ? stores.one : stores.two;
        const row = await store.transfers.beginStoring(transferId, caller);
        assert.ok(row && (row.status === 'storing' || row.status === 'done'), String(row?.status));
        assert.equal(await store.transfers.finishStoring(row, NOW + at), true);
      }),
    );
    const file = (await stores.one.files.get(fileId))!;
    assert.ok(callers.includes(file.owner));
    const listed = await Promise.all(callers.map((caller) => ids(stores.one, caller)));
    assert.deepEqual(listed.flat(), [fileId]);
    assert.equal((await stores.one.transfers.get(transferId))?.status, 'done');
    await assertSums(stores.one, stores.sql, callers);
  });

  test('failed is left by the next complete; done and unknown are left alone', async () => {
    const { transfers } = stores.one;
    const { transferId, fileId } = await begin(stores.one, 'ann');
    await transfers.failStoring(transferId);
    assert.equal((await transfers.get(transferId))?.status, 'uploading', 'only storing can fail');
    assert.equal(await finish(stores.one, transferId), false, 'nothing to finish yet');
    await transfers.beginStoring(transferId, 'ann');
    assert.equal(await transfers.isOpen(fileId), false);
    assert.ok((await transfers.storing()).some((row) => row.transfer_id === transferId));
    await transfers.failStoring(transferId);
    assert.equal(await transfers.isOpen(fileId), true, 'volumes are taken again');
    const again = await transfers.beginStoring(transferId, 'ben');
    assert.deepEqual([again?.status, again?.owner], ['storing', 'ben']);
    await finish(stores.one, transferId);
    await transfers.failStoring(transferId);
    assert.equal((await transfers.beginStoring(transferId, 'cid'))?.status, 'done');
    assert.equal((await stores.one.files.get(fileId))?.owner, 'ben');
    assert.equal(await transfers.isOpen(fileId), false);
    assert.equal(await transfers.beginStoring(fresh('t'), 'ann'), undefined);
    assert.equal(await finish(stores.one, fresh('t')), false);
  });

  test('a complete that goes on after another one failed still makes the record it answers for', async () => {
    const { transfers } = stores.one;
    const { transferId, fileId } = await begin(stores.one, 'ann');
    await transfers.beginStoring(transferId, 'ann');
    await stores.two.transfers.failStoring(transferId);
    assert.equal(await finish(stores.one, transferId), true);
    assert.equal((await stores.two.files.get(fileId))?.owner, 'ann');
  });

  test('a transfer that is removed leaves its volumes to the sweeper; one that is done is left alone', async () => {
    const { transfers, garbage, pulls } = stores.one;
    const open = await begin(stores.one, 'ann');
    await pulls.lease(open.transferId, puller('r'), { now: 1, leaseUntil: 2 }, PLENTY);
    await pulls.end(open.transferId, 'r', '1');
    assert.equal(await transfers.remove(open.transferId, ['failed'], NOW), false, 'not in this state');
    const removed = await Promise.all([
      stores.one.transfers.remove(open.transferId, ['uploading'], NOW),
      stores.two.transfers.remove(open.transferId, ['uploading'], NOW),
    ]);
    assert.deepEqual(removed.sort(), [false, true]);
    assert.equal(await transfers.get(open.transferId), undefined);
    assert.equal(await pulls.landed(open.transferId), '');
    assert.equal(await garbage.isKnown(open.fileId), true);
    assert.ok((await garbage.take(NOW, NOW + 1000, 10_000)).includes(open.fileId));
    await garbage.forget(open.fileId);
    assert.equal(await garbage.isKnown(open.fileId), false);
    assert.deepEqual(await stores.one.files.volumes(open.fileId), []);

    const done = await begin(stores.one, ADMIN);
    await transfers.beginStoring(done.transferId, ADMIN);
    assert.equal(await transfers.remove(done.transferId, ['uploading', 'failed'], NOW), false);
    await finish(stores.one, done.transferId);
    assert.equal(await transfers.remove(done.transferId, ['uploading', 'failed', 'storing'], NOW), false);
    assert.ok(await stores.one.files.get(done.fileId));
    assert.equal((await garbage.take(NOW, NOW + 1000, 10_000)).includes(done.fileId), false);
  });

  test('a done transfer lives as long as its file: it goes with it and comes back with it', async () => {
    const { transfers, fileChanges, files, pulls } = stores.one;
    const [ann, ben] = [fresh('u'), fresh('u')];
    const dirId = (await stores.one.dirs.create(ann, 'd', 1))!;
    const { transferId, fileId } = await begin(stores.one, ann, { now: 1000, dirId });
    await pulls.lease(transferId, puller('r'), { now: 1, leaseUntil: 2 }, PLENTY);
    await pulls.end(transferId, 'r', '1');
    await transfers.beginStoring(transferId, ben);
    await finish(stores.one, transferId);
    const done = await transfers.get(transferId);
    assert.equal(done?.status, 'done');
    assert.equal((await untouched(2000, 10_000)).includes(transferId), false);
    const file = await files.get(fileId);
    assert.equal(file?.enc_params, '{"k":1}', 'the file has what the transfer gave up');

    const removed = await fileChanges.remove(fileId, NOW);
    assert.equal(await transfers.get(transferId), undefined);
    assert.equal(await pulls.landed(transferId), '');
    await fileChanges.restore(removed!, NOW);
    assert.deepEqual(await stores.two.transfers.get(transferId), done);
    // In the creator's directory, though somebody else owns the file.
    assert.equal((await stores.two.files.get(fileId))?.dir_id, dirId);
    await stores.one.dirs.remove(ann, dirId);
    assert.equal((await stores.two.files.get(fileId))?.dir_id, 0);

    await fileChanges.remove(fileId, NOW);
    await stores.one.garbage.forget(fileId);
    assert.equal(await transfers.get(transferId), undefined);
    assert.equal(await stores.one.garbage.isKnown(fileId), false);
    await assertSums(stores.one, stores.sql, [ann, ben]);
  });

  test('only transfers nobody touched are found, the oldest first, never one that is being stored', async () => {
    const { transfers } = stores.one;
    const at = (now: number) => begin(stores.one, 'ann', { now });
    const [older, old, touched, storing] = [await at(1000), await at(1001), await at(1000), await at(1000)];
    await transfers.touch(touched.transferId, 2000);
    await transfers.beginStoring(storing.transferId, 'ann');
    assert.deepEqual(await untouched(1002, 10), [older.transferId, old.transferId]);
    assert.deepEqual(await untouched(1002, 1), [older.transferId]);
    assert.deepEqual(await untouched(1001, 10), [older.transferId]);
  });

  test('each group of garbage goes to one sweeper until its lease ends', async () => {
    const fileIds: string[] = [];
    for (let left = 30; left > 0; left--) {
      const { transferId, fileId } = await begin(stores.one, 'ann');
      await stores.one.transfers.remove(transferId, ['uploading'], 500);
      fileIds.push(fileId);
    }
    const mine = (taken: string[]) => taken.filter((id) => fileIds.includes(id));
    assert.deepEqual(await stores.one.garbage.take(499, 900, 1000), [], 'nothing is due yet');
    const taken = await Promise.all(
      Array.from({ length: 6 }, (_, at) => (at % 2 ? stores.one : stores.two).garbage.take(500, 900, 10)),
    );
    const all = mine(taken.flat());
    assert.equal(new Set(all).size, all.length, 'a group was given to two');
    all.push(...mine(await stores.one.garbage.take(500, 900, 1000)));
    assert.deepEqual(all.sort(), fileIds.sort());
    assert.deepEqual(mine(await stores.two.garbage.take(899, 1900, 1000)), []);
    await stores.one.garbage.extendLease(fileIds[0]!, 5000);
    assert.deepEqual(mine(await stores.two.garbage.take(900, 1900, 1000)).sort(), fileIds.slice(1));
    await stores.one.garbage.release();
    assert.deepEqual(mine(await stores.two.garbage.take(0, 1900, 1000)).sort(), fileIds);
    for (const id of fileIds) await stores.one.garbage.forget(id);
  });
}
