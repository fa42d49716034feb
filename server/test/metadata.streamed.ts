/** The part of the metadata contract about streamed transfers. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { Streamed, StreamedFile, Volume } from '@szafa/protocol';
import type { Stores } from './metadata.contract.ts';
import { assertSums, begin, DIGEST, finish, fresh, ids, NOW } from './metadata.fixture.ts';

const OTHER = 'cd'.repeat(32);
const volumeOf = (idx: number, sha256 = DIGEST): Volume => ({ idx, size: 10, sha256 });
const file = (chunkCount: number, over: Partial<StreamedFile> = {}): StreamedFile => ({
  fileName: 'name',
  fileSize: 7,
  totalSha256: OTHER,
  encParams: '{"k": 1}',
  chunkCount,
  ...over,
});

export function streamedContract(stores: Stores): void {
  const open = async (streamed: Exclude<Streamed, 'no'>, count = 3, creator = fresh('u')) => {
    const volumes =
      streamed === 'sized' ? Array.from({ length: count }, (_, at) => volumeOf(at + 1, '')) : [];
    const init = { streamed, volumes, storedSize: 10 * volumes.length, fileSize: 0, encParams: '' };
    return { ...(await begin(stores.one, creator, init)), streamed, creator };
  };
  const plain = async (fileId: string) => (await stores.two.streamed.list(fileId)).map((row) => ({ ...row }));

  for (const streamed of ['sized', 'unsized'] as const) {
    test(`${streamed}: a volume has a row once it arrived, and one digest for each number`, async () => {
      const transfer = await open(streamed);
      const { arrive, find } = {
        arrive: (volume: Volume) => stores.one.streamed.record(transfer, volume, false),
        find: async (idx: number) => ({ ...(await stores.two.streamed.find(transfer.fileId, idx)) }),
      };
      assert.deepEqual(await find(2), {});
      assert.equal(await arrive(volumeOf(2)), 'recorded');
      assert.equal(await arrive(volumeOf(1)), 'recorded');
      assert.equal(await arrive(volumeOf(2)), 'known');
      assert.equal(await arrive(volumeOf(2, OTHER)), 'known');
      assert.deepEqual(await find(2), volumeOf(2));
      assert.deepEqual(await plain(transfer.fileId), [volumeOf(1), volumeOf(2)]);
      const row = (await stores.two.transfers.get(transfer.transferId))!;
      const counted = streamed === 'sized' ? [3, 30] : [2, 20];
      assert.deepEqual([row.chunk_count, row.stored_size], counted);
    });

    test(`${streamed}: of many at once, with many digests, one wins for each number`, async () => {
      const transfer = await open(streamed);
      const rivals = Array.from({ length: 24 }, (_, at) =>
        volumeOf((at % 3) + 1, `${at % 8}${at % 3}`.repeat(32)),
      );
      const arrivals = await Promise.all(
        rivals.map((volume, at) =>
          (at % 2 ? stores.one : stores.two).streamed.record(transfer, volume, false),
        ),
      );
      assert.equal(arrivals.filter((arrival) => arrival === 'recorded').length, 3);
      const won = rivals.filter((_, at) => arrivals[at] === 'recorded').sort((a, b) => a.idx - b.idx);
      assert.deepEqual(await plain(transfer.fileId), won);
      assert.equal((await stores.one.transfers.get(transfer.transferId))!.chunk_count, 3);
    });

    test(`${streamed}: complete takes the volumes and what the file is, once; then nothing arrives`, async () => {
      const transfer = await open(streamed);
      const { transferId, fileId, creator } = transfer;
      const complete = (what: StreamedFile, quota?: number) =>
        stores.one.streamed.beginStoring(transferId, creator, what, quota);
      for (const idx of [3, 1]) await stores.one.streamed.record(transfer, volumeOf(idx), false);
      assert.equal(await complete(file(3)), 'gaps');
      assert.equal(await complete(file(2)), 'gaps');
      assert.equal(await complete(file(1)), 'gaps');
      await stores.one.streamed.record(transfer, volumeOf(2), false);
      assert.equal(await complete(file(4)), 'gaps');
      assert.equal(await complete(file(2)), 'gaps');
      assert.equal((await stores.one.transfers.get(transferId))!.status, 'uploading');
      assert.equal(await complete(file(3, { fileSize: 31 }), 30), 'over quota');
      assert.equal((await plain(fileId)).length, 3, 'nothing was taken');
      const row = await complete(file(3), 30);
      assert.ok(typeof row === 'object');
      assert.deepEqual(
        [row.status, row.stored_size, row.chunk_count, row.owner],
        ['storing', 30, 3, creator],
      );
      assert.deepEqual(await plain(fileId), []);
      const specified = [1, 2, 3].map((idx) => volumeOf(idx));
      assert.deepEqual(await stores.two.files.volumes(fileId), specified);
      assert.deepEqual(await stores.two.streamed.volumes(row), specified);
      assert.equal(await stores.one.streamed.record(transfer, volumeOf(4), false), 'known');
      assert.deepEqual(await stores.two.streamed.find(fileId, 2), volumeOf(2));
      assert.equal(await stores.one.streamed.withdraw(transferId, volumeOf(2)), false);
      for (const state of ['storing', 'failed', 'done']) {
        if (state === 'failed') await stores.one.transfers.failStoring(transferId);
        if (state === 'done') assert.ok(await finish(stores.one, transferId));
        const others = [{ fileName: 'x' }, { fileSize: 8 }, { totalSha256: DIGEST }, { encParams: '{}' }];
        for (const over of others) assert.equal(await complete(file(3, over)), 'other', state);
        assert.equal(await complete(file(2)), 'other', state);
        const again = await complete(file(3));
        assert.ok(typeof again === 'object' && again.status === (state === 'done' ? 'done' : 'storing'));
      }
      assert.deepEqual(await ids(stores.two, creator), [fileId]);
      // Another device has renamed it meanwhile; whoever missed the answer asks again.
      const { enc_params } = (await stores.two.files.get(fileId))!;
      const match = createHash('sha256').update(btoa(enc_params)).digest('hex');
      const renamed = { fileId, fileName: 'renamed', encParams: '{"other":1}', match, dirId: undefined };
      assert.deepEqual(await stores.two.fileChanges.rename(creator, [renamed]), []);
      const after = await complete(file(3));
      assert.ok(typeof after === 'object' && after.status === 'done');
      assert.equal(await complete(file(3, { fileName: 'renamed', encParams: '{"other":1}' })), 'other');
      await assertSums(stores.two, stores.sql, [creator]);
    });

    test(`${streamed}: a row is taken back while the transfer is open, and goes with it`, async () => {
      const transfer = await open(streamed);
      const { transferId, fileId } = transfer;
      for (const idx of [1, 2]) await stores.one.streamed.record(transfer, volumeOf(idx), false);
      assert.equal(await stores.two.streamed.withdraw(transferId, volumeOf(1, OTHER)), true);
      assert.equal((await plain(fileId)).length, 2, 'that is another one');
      assert.equal(await stores.two.streamed.withdraw(transferId, volumeOf(1)), true);
      assert.deepEqual(await plain(fileId), [volumeOf(2)]);
      const row = (await stores.one.transfers.get(transferId))!;
      assert.deepEqual([row.chunk_count, row.stored_size], streamed === 'sized' ? [3, 30] : [1, 10]);
      await stores.one.transfers.remove(transferId, ['uploading'], NOW);
      assert.equal(await stores.one.streamed.record(transfer, volumeOf(3), false), 'known');
      await stores.one.garbage.forget(fileId);
      assert.deepEqual(await plain(fileId), []);
    });
  }

  test('complete and a volume that arrives at the same moment: it is in the file, or it has not arrived', async () => {
    for (let round = 0; round < 8; round++) {
      const transfer = await open(round % 2 ? 'sized' : 'unsized', 2);
      await stores.one.streamed.record(transfer, volumeOf(1), false);
      const [filing, arrival] = await Promise.all([
        stores.one.streamed.beginStoring(transfer.transferId, transfer.creator, file(2), undefined),
        stores.two.streamed.record(transfer, volumeOf(2), false),
      ]);
      assert.equal(arrival, 'recorded', 'the transfer was open, or was left so');
      if (filing === 'gaps') assert.equal((await plain(transfer.fileId)).length, 2);
      else assert.equal((await stores.two.files.volumes(transfer.fileId)).length, 2);
    }
  });

  test('volumes of no known length count as they come, toward the quota and the volumes under way', async () => {
    const transfer = await open('unsized');
    const { transferId, fileId, creator } = transfer;
    const claim = (idx: number, size = 10, store = stores.one) =>
      store.streamed.claimQuota(transferId, { idx, size }, 25);
    const stored = async () => (await stores.two.transfers.get(transferId))!.stored_size;
    const claims = await Promise.all([1, 2, 3, 4].map((idx) => claim(idx)));
    assert.deepEqual(claims.toSorted(), ['claimed', 'claimed', 'over quota', 'over quota']);
    const [one, two] = claims.flatMap((result, at) => (result === 'claimed' ? at + 1 : []));
    await stores.two.streamed.releaseClaim(transferId, two!);
    assert.equal(await claim(5, 15), 'claimed');
    assert.equal(await claim(6, 1), 'over quota');
    await stores.two.streamed.releaseClaim(transferId, 6);
    await stores.two.streamed.releaseClaim(transferId, 5);
    assert.equal(await stores.one.streamed.record(transfer, volumeOf(one!), true), 'recorded');
    assert.equal(await stored(), 10, 'not counted twice');
    const second = await open('unsized', 0, creator);
    const isFull = (most: number, id = second.transferId) => stores.one.streamed.hasMaxOpenVolumes(id, most);
    assert.deepEqual([await isFull(1), await isFull(2)], [true, false]);
    assert.equal(await stores.one.streamed.record(second, volumeOf(1), false), 'recorded');
    assert.deepEqual([await isFull(2), await isFull(3), await isFull(0, 'unknown')], [true, false, false]);
    await stores.one.transfers.remove(transferId, ['uploading'], NOW);
    assert.equal(await claim(1), 'closed');
    await stores.two.streamed.releaseClaim(transferId, 1);
    await stores.one.garbage.forget(fileId);
  });

  test('bytes are claimed once for each number, as many as the largest needs, until it arrives or the last gives up', async () => {
    const transfer = await open('unsized');
    const { transferId } = transfer;
    const claim = (idx: number, size: number, store = stores.one) =>
      store.streamed.claimQuota(transferId, { idx, size }, 25);
    const stored = async () => (await stores.two.transfers.get(transferId))!.stored_size;
    // Whoever claimed it has died: whoever sends it again needs no more.
    assert.equal(await claim(1, 20), 'claimed');
    assert.equal(await claim(1, 20, stores.two), 'claimed');
    assert.equal(await claim(1, 26), 'over quota');
    assert.equal(await stored(), 20);
    await stores.two.streamed.releaseClaim(transferId, 1);
    assert.equal(await stored(), 20, 'another one is still on its way');
    assert.equal(await claim(2, 6), 'over quota');
    await Promise.all([claim(1, 25), claim(1, 15, stores.two), claim(1, 5)]);
    assert.equal(await stored(), 25);
    assert.equal(await stores.one.streamed.record(transfer, volumeOf(1), true), 'recorded');
    assert.equal(await stored(), 10, 'it counts by itself');
    // It lost, and gives back nothing that is not its own.
    await stores.two.streamed.releaseClaim(transferId, 1);
    assert.equal(await claim(2, 15), 'claimed');
    assert.equal(await stores.one.streamed.record(transfer, volumeOf(1, OTHER), true), 'known');
    assert.equal(await stored(), 25);
    const row = await stores.one.streamed.beginStoring(transferId, transfer.creator, file(1), 25);
    assert.ok(typeof row === 'object' && row.stored_size === 10, 'complete counts what there is');
    await stores.two.streamed.releaseClaim(transferId, 2);
    assert.equal(await stored(), 10);
  });

  test('claims at once on many numbers, by volumes that arrive, lose or break off, leave the sum of what is there', async () => {
    const transfer = await open('unsized');
    const { transferId, fileId } = transfer;
    await Promise.all(
      Array.from({ length: 48 }, async (_, at) => {
        const { streamed } = at % 2 ? stores.one : stores.two;
        const volume = { ...volumeOf((at % 6) + 1, `${at % 10}a`.repeat(32)), size: 10 + (at % 5) };
        if ((await streamed.claimQuota(transferId, volume, 1000)) !== 'claimed') return;
        const arrived = at % 4 > 0 && (await streamed.record(transfer, volume, true)) === 'recorded';
        if (!arrived) await streamed.releaseClaim(transferId, volume.idx);
      }),
    );
    const sum = (await plain(fileId)).reduce((total, { size }) => total + size, 0);
    assert.equal((await stores.one.transfers.get(transferId))!.stored_size, sum);
  });
}
