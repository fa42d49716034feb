import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import type { NewRequest } from '../src/sharing/requests-table.ts';
import type { Stores } from './metadata.contract.ts';
import { fresh, NOW, newId, newTransfer, openSession } from './metadata.fixture.ts';

const DAY_MS = 86_400_000;

/** What accounts ask for, and what visitors upload for it. */
export function requestsContract(stores: Stores): void {
  async function asked(over: Partial<NewRequest> = {}): Promise<NewRequest> {
    const owner = fresh('u');
    const { account_id: accountId } = await openSession(stores, fresh('t'), owner, NOW);
    const id = randomBytes(16).toString('base64url');
    const texts = { id, header: 'header', access: fresh('a'), own: 'own' };
    const most = { max_files: 3, max_bytes: 100 };
    const request = { owner, accountId, ...texts, ...most, now: NOW, expiresAt: null, ...over };
    await stores.one.requests.create(request);
    return request;
  }

  const begin = async (
    { id, owner, accountId }: NewRequest,
    {
      tokenHash = fresh('token'),
      bytes = 10,
      now = NOW,
      store = stores.one,
      most = 20,
      from = fresh('address'),
    } = {},
  ) => {
    const ids = {
      transferId: fresh('t'),
      fileId: newId(),
      creator: owner,
      accountId,
      creatorSession: id,
      now,
    };
    const init = newTransfer({ streamed: 'sized', storedSize: bytes });
    const result = await store.requests.begin(
      id,
      tokenHash,
      init,
      ids,
      {},
      { most, from: { address: from, most: 2 } },
    );
    return { result, tokenHash, transferId: ids.transferId };
  };

  const visit = async (tokenHash: string, transferId: string, now = NOW) => {
    const found = await stores.two.transfers.lookUp(transferId).visitor!(tokenHash, now);
    return found && [found.scope, found.session_id, found.transfer?.status];
  };

  test('an upload by a request is counted, and found by its token and transfer together', async () => {
    const request = await asked({ expiresAt: NOW + DAY_MS });
    const { result, tokenHash, transferId } = await begin(request);
    assert.equal(result, 'created');
    assert.deepEqual(await visit(tokenHash, transferId), ['upload', request.id, 'uploading']);
    const other = await begin(request);
    for (const [token, transfer] of [
      [tokenHash, other.transferId],
      [fresh('token'), transferId],
    ] as const) {
      assert.equal(await visit(token, transfer), undefined);
    }
    assert.equal(await visit(tokenHash, transferId, NOW + DAY_MS), undefined);
    assert.equal((await begin(request, { tokenHash })).result, 'taken');
    assert.equal((await begin(request, { now: NOW + DAY_MS })).result, 'ended');
    const [row] = await stores.two.requests.list(request.owner);
    const { begun, begun_bytes, uploading, uploading_bytes } = row!;
    assert.deepEqual([begun, begun_bytes, uploading, uploading_bytes], [2, 20, 2, 20]);
    // One that is given up counts no more.
    assert.ok(await stores.one.transfers.remove(transferId, ['uploading'], NOW));
    assert.equal(await visit(tokenHash, transferId), undefined);
    const found = await stores.two.requests.find(request.id, request.access, NOW);
    assert.ok(found && 'begun' in found);
    assert.deepEqual([found.begun, found.begun_bytes], [1, 10]);
    assert.equal(await stores.two.requests.find(request.id, fresh('a'), NOW), undefined);
  });

  test('nobody passes the limits of a request, however many begin at once', async () => {
    const request = await asked({ max_files: 4 });
    const all = await Promise.all(
      Array.from({ length: 10 }, (_, at) => begin(request, { store: at % 2 ? stores.one : stores.two })),
    );
    assert.equal(all.filter(({ result }) => result === 'created').length, 4);
    const small = await asked({ max_files: 100, max_bytes: 35 });
    const many = await Promise.all(
      Array.from({ length: 10 }, (_, at) => begin(small, { store: at % 2 ? stores.one : stores.two })),
    );
    assert.equal(many.filter(({ result }) => result === 'created').length, 3);
    assert.deepEqual((await begin(small)).result, { files: 97, bytes: 5 });
    const busy = await asked();
    assert.equal((await begin(busy, { most: 1 })).result, 'created');
    assert.equal((await begin(busy, { most: 1 })).result, 'busy');
  });

  test('one address cannot use up a request, however many it begins at once', async () => {
    const request = await asked({ max_files: 20, max_bytes: 1000 });
    const all = await Promise.all(
      Array.from({ length: 8 }, (_, at) =>
        begin(request, { from: 'one', store: at % 2 ? stores.one : stores.two }),
      ),
    );
    assert.deepEqual(
      all.map(({ result }) => result).sort(),
      [...Array(6).fill('busy'), ...Array(2).fill('created')].sort(),
    );
    assert.equal((await begin(request, { from: 'two' })).result, 'created');
    const { transferId } = all.find(({ result }) => result === 'created')!;
    assert.ok(await stores.two.transfers.remove(transferId, ['uploading'], NOW));
    assert.equal((await begin(request, { from: 'one' })).result, 'created');
  });

  test('an upload without a volume is known as empty until it is touched, or one has arrived', async () => {
    const request = await asked();
    const [empty, touched, filled] = [await begin(request), await begin(request), await begin(request)];
    const { requests, transfers, streamed } = stores.one;
    const own = new Set([empty, touched, filled].map(({ transferId }) => transferId));
    const found = async (time: number) =>
      (await stores.two.requests.emptyUploads(time, 10_000))
        .map(({ transfer_id }) => transfer_id)
        .filter((id) => own.has(id));
    assert.deepEqual(await found(NOW), []);
    await transfers.touch(touched.transferId, NOW + 10);
    const { file_id: fileId } = (await transfers.state(filled.transferId))!;
    const arrival = { transferId: filled.transferId, fileId, streamed: 'sized' as const };
    const volume = { idx: 1, size: 1, sha256: 'ab'.repeat(32) };
    assert.equal(await streamed.record(arrival, volume, false), 'recorded');
    assert.deepEqual(await found(NOW + 5), [empty.transferId]);
    assert.equal(await requests.isUpload(empty.transferId), true);
    assert.equal(await requests.isUpload(fresh('t')), false);
  });

  test('a request that has ended or expired takes nothing, and what was on its way is known to be left over', async () => {
    const ended = await asked();
    const { tokenHash, transferId } = await begin(ended);
    const { requests } = stores.one;
    assert.equal(await requests.end(ended.id, NOW + 1, 'account', fresh('u')), false);
    assert.equal(await requests.end(ended.id, NOW + 1, 'account', ended.owner), true);
    assert.equal(await requests.end(ended.id, NOW + 1, 'account', ended.owner), false);
    assert.equal((await begin(ended)).result, 'ended');
    assert.equal(await visit(tokenHash, transferId), undefined);
    assert.deepEqual(await requests.list(ended.owner), []);
    assert.deepEqual(await requests.find(ended.id, ended.access, NOW), { ending: 'ended' });
    const expired = await asked({ expiresAt: NOW + 10 });
    const late = await begin(expired);
    const before = (await requests.abandonedUploads(NOW, 1000)).map(({ transfer_id }) => transfer_id);
    assert.ok(before.includes(transferId) && !before.includes(late.transferId));
    await requests.expire(NOW + 10, NOW - DAY_MS);
    const after = (await requests.abandonedUploads(NOW, 1000)).map(({ transfer_id }) => transfer_id);
    assert.ok(after.includes(late.transferId));
    assert.deepEqual(await requests.find(expired.id, expired.access, NOW), { ending: 'expired' });
    await requests.expire(NOW + 10, NOW + 11);
    assert.equal(await requests.find(expired.id, expired.access, NOW), undefined);
  });

  test('requests go with their account', async () => {
    const request = await asked();
    await begin(request);
    const leaving = await stores.one.deletions.begin(request.owner, { actor: 'account', now: NOW });
    assert.equal(await stores.two.requests.find(request.id, request.access, NOW), undefined);
    assert.equal(await stores.one.deletions.removeRequests(leaving!, 10), 1);
    assert.equal(await stores.one.deletions.removeRequests(leaving!, 10), 0);
  });
}
