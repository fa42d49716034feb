import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PendingDeletion } from '../src/accounts/deletion-table.ts';
import { findWrongUsage } from '../src/files/quota-recount.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, filed, fresh, NOW, newId, newTransfer, usageOf } from './metadata.fixture.ts';

export function deletionsContract(stores: Stores): void {
  /** An account that has one of everything. */
  async function made() {
    const username = fresh('u');
    await stores.one.accounts.create(username, 'hash', 1);
    const accountId = (await stores.one.accounts.idOf(username))!;
    const dirId = (await stores.one.dirs.create(username, 'd', 1))!;
    const files = [await filed(stores.one, username), await filed(stores.one, username, { dirId })];
    const { transferId } = await begin(stores.one, username, { dirId });
    return { username, accountId, dirId, files, transferId };
  }

  async function clear(leaving: PendingDeletion): Promise<void> {
    const { deletions } = stores.one;
    for (const { transfer_id } of await deletions.openTransfers(leaving, 10))
      await deletions.removeTransfer(leaving, transfer_id, NOW, false);
    await deletions.release(leaving);
    while ((await deletions.removeFiles(leaving, NOW, 1)) > 0);
    while (await deletions.removeDir(leaving));
  }

  test('for operators an account that leaves is none any more', async () => {
    const { accountRecords, audit, deletions, factors } = stores.one;
    const { username } = await made();
    const leaving = (await deletions.begin(username, { actor: 'account', now: NOW }))!;
    const before = await audit.list(9, username);
    assert.equal(await accountRecords.setLimits(username, { pulls: 2 }, NOW, 'operator'), false);
    assert.equal(await accountRecords.setDisabled(username, true, NOW, 'operator'), false);
    assert.equal(await accountRecords.logout(username, NOW, 'operator'), undefined);
    assert.equal(await factors.clear(username, NOW, 'operator'), undefined);
    assert.deepEqual(await audit.list(9, username), before, 'and nothing is told of it');
    await clear(leaving);
    assert.ok(await deletions.finish(leaving));
  });

  test('an account that leaves has nothing new, and in the end nothing', async () => {
    const { accounts, deletions, dirs, fileChanges, files, transfers, streamed } = stores.one;
    const { username, accountId, dirId, files: ids, transferId } = await made();
    const target = { fileId: newId(), owner: username, accountId, dirId: 0, leaseUntil: NOW };
    const source = (await files.get(ids[0]!))!;
    assert.equal(await fileChanges.beginClone(source, target), 'begun');
    const other = await begin(stores.one, fresh('u'));
    assert.equal(
      await deletions.begin(username, { actor: 'account', now: NOW, passwordHash: 'other' }),
      undefined,
    );
    const removed = (await fileChanges.remove(await filed(stores.one, username), NOW + 5))!;
    const leaving = (await deletions.begin(username, { actor: 'account', now: NOW, passwordHash: 'hash' }))!;
    assert.deepEqual({ ...leaving }, { username, account_id: accountId });
    assert.equal(await deletions.begin(username, { actor: 'operator', now: NOW }), undefined, 'once');

    // Whoever was asked before the first step gets nowhere after it.
    const gone = { status: 401 };
    const ids2 = () => ({ transferId: fresh('t'), fileId: newId(), creator: username, accountId, now: NOW });
    await assert.rejects(transfers.create(newTransfer(), ids2()), gone);
    await assert.rejects(
      transfers.create(newTransfer(), ids2(), { quota: 1e9, open: { transfers: 9, volumes: 9 } }),
      gone,
    );
    await assert.rejects(transfers.createDone([{ init: newTransfer(), ids: ids2() }]), gone);
    await assert.rejects(dirs.create(username, 'late', NOW, accountId), gone);
    await assert.rejects(fileChanges.beginClone(source, { ...target, fileId: newId() }), gone);
    await assert.rejects(fileChanges.restore(removed, NOW + 5), gone);
    await assert.rejects(transfers.beginStoring(other.transferId, username, accountId), gone);
    await assert.rejects(transfers.beginStoringWithin(1e9, other.transferId, username, accountId), gone);
    const said = { fileName: 'n', fileSize: 1, totalSha256: 'ab'.repeat(32), encParams: '{}', chunkCount: 1 };
    await assert.rejects(streamed.beginStoring(other.transferId, username, said, undefined, accountId), gone);
    assert.equal((await transfers.get(other.transferId))?.owner, null);
    assert.equal(await accounts.credentials(username), undefined);
    assert.equal(
      await accounts.openSession(username, 'hash', { tokenHash: fresh(), device: '' }, NOW),
      false,
    );
    assert.equal(await accounts.create(username, 'next', NOW), false, 'the name is not free yet');
    assert.equal(await stores.two.documents.account(accountId), undefined);

    assert.equal(await deletions.finish(leaving), false);
    assert.ok(
      (await stores.two.deletions.listPending(1000)).some(({ account_id }) => account_id === accountId),
    );
    await clear(leaving);
    assert.equal((await usageOf(stores.sql, username)).bytes, 0n, 'the sums follow');
    for await (const owner of findWrongUsage(stores.sql)) assert.notEqual(owner, username);
    assert.ok(await deletions.finish(leaving));
    assert.equal(await fileChanges.finishClone(source, { ...target, now: NOW }), 'source vanished');
    const garbage = 'SELECT file_id FROM garbage WHERE file_id = ? AND clone_key IS NULL';
    for (const id of [...ids, target.fileId]) assert.equal((await stores.sql.query(garbage, id)).length, 1);
    assert.equal(await transfers.get(transferId), undefined);
    assert.equal(await accounts.idOf(username), undefined);
    assert.ok(await stores.one.documents.isStaleAccount(accountId), 'its document is to go');
    assert.equal(await dirs.remove(username, dirId), false);
  });

  test('whoever goes on too late with it takes nothing from the next of that name', async () => {
    const { accounts, deletions, dirs, fileChanges, files, transfers } = stores.one;
    const { username } = await made();
    const leaving = (await deletions.begin(username, { actor: 'operator', now: NOW }))!;
    await clear(leaving);
    assert.ok(await deletions.finish(leaving));
    await accounts.create(username, 'hash', NOW);
    const dirId = (await dirs.create(username, 'd', NOW))!;
    const fileId = await filed(stores.one, username, { dirId });
    const { transferId } = await begin(stores.one, username);
    const clone = { fileId: newId(), owner: username, dirId: 0, leaseUntil: NOW };
    assert.equal(await fileChanges.beginClone((await files.get(fileId))!, clone), 'begun');
    await clear(leaving);
    await deletions.removeTransfer(leaving, transferId, NOW, false);
    assert.ok(await deletions.finish(leaving));
    assert.ok(await transfers.get(transferId));
    assert.equal((await files.get(fileId))?.dir_id, dirId);
    assert.equal(await fileChanges.finishClone((await files.get(fileId))!, { ...clone, now: NOW }), 'done');
    assert.ok(await accounts.credentials(username));
  });

  test('whatever an account begins while it leaves is refused, or goes with it', async () => {
    const { accounts, deletions } = stores.one;
    for (let round = 0; round < 6; round++) {
      const { username, accountId, files } = await made();
      const source = (await stores.one.files.get(files[0]!))!;
      const begun = (at: number) => {
        const { dirs, transfers, fileChanges } = at % 2 ? stores.one : stores.two;
        const ids = { transferId: fresh('t'), fileId: newId(), creator: username, accountId, now: NOW };
        const target = { fileId: newId(), owner: username, accountId, dirId: 0, leaseUntil: NOW };
        return [
          () => transfers.create(newTransfer(), ids),
          () => transfers.createDone([{ init: newTransfer(), ids }]),
          () => dirs.create(username, fresh('d'), NOW, accountId),
          () => fileChanges.beginClone(source, target),
          async () => {
            const { transferId } = await begin(stores.two, fresh('u'));
            await transfers.beginStoring(transferId, username, accountId);
          },
        ][at % 5]!();
      };
      const acts = Array.from({ length: 10 }, (_, at) => begun(at).catch((error: Error) => error));
      const leaving = (await deletions.begin(username, { actor: 'account', now: NOW }))!;
      do await clear(leaving);
      while (!(await deletions.finish(leaving)));
      for (const result of await Promise.all(acts)) {
        if (result instanceof Error)
          assert.equal((result as Error & { status?: number }).status, 401, result.message);
      }
      assert.equal(await accounts.idOf(username), undefined);
      for (const [table, column] of [
        ...[
          ['files', 'owner'],
          ['dirs', 'owner'],
          ['usage', 'owner'],
          ['transfers', 'creator'],
        ],
        ...[
          ['transfers', 'owner'],
          ['garbage', 'owner'],
        ],
      ]) {
        const text = `SELECT 1 FROM ${table} WHERE ${column} = ?`;
        assert.deepEqual(await stores.sql.query(text, username), [], `${table}.${column}`);
      }
    }
  });
}
