import assert from 'node:assert/strict';
import { test } from 'node:test';
import { noLimits } from '@szafa/protocol';
import { ApiError } from '../src/platform/http/api-error.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, filed, fresh, NOW, newTransfer, openSession } from './metadata.fixture.ts';

/** What operators see and set. */
export function operatorContract(stores: Stores): void {
  test('accounts in pages, by name, each with what it has and may', async () => {
    const { accountRecords, accounts } = stores.one;
    const prefix = fresh('page');
    const names = ['a', 'b', 'c'].map((letter) => `${prefix}_${letter}`);
    for (const name of names.toReversed()) await accounts.create(name, 'hash', 7);
    await filed(stores.one, names[1]!);
    assert.ok(
      await stores.two.accountRecords.setLimits(names[1]!, { quota_bytes: 0, pulls: 2 }, 8, 'operator'),
    );
    const first = await accountRecords.list(prefix, 2);
    const rest = await accountRecords.list(first.at(-1)!.username, 2);
    assert.deepEqual(
      [...first, ...rest].slice(0, 3).map(({ username, files, bytes }) => [username, files, bytes]),
      [
        [names[0], 0, 0n],
        [names[1], 1, 10n],
        [names[2], 0, 0n],
      ],
    );
    const { account_id, created_at, disabled_at, totp, username, files, bytes, extra, ...own } =
      (await accountRecords.get(names[1]!))!;
    assert.deepEqual({ ...own }, { ...noLimits, quota_bytes: 0, pulls: 2 });
    assert.deepEqual([created_at, disabled_at, totp, files, bytes, extra], [7, null, 0, 1, 10n, 7]);
    assert.equal(account_id, await accounts.idOf(username));
    assert.equal(await accountRecords.setLimits(fresh('u'), { pulls: 2 }, 8, 'operator'), false);
    // Its document follows.
    const state = await stores.two.documents.account(account_id);
    assert.deepEqual([state!.quota_bytes, state!.pulls, state!.rev], [0, 2, 2]);
  });

  test('what an account has under way', async () => {
    const ann = fresh('u');
    await openSession(stores, fresh('t'), ann, 5);
    await openSession(stores, fresh('t'), ann, 9);
    await begin(stores.one, ann, { count: 3 });
    await filed(stores.one, ann);
    const found = await stores.two.accountRecords.activity(ann);
    assert.deepEqual({ ...found }, { passkeys: 0, sessions: 2, usedAt: 9, transfers: 1, volumes: 3 });
    const none = await stores.two.accountRecords.activity(fresh('u'));
    assert.deepEqual({ ...none }, { passkeys: 0, sessions: 0, usedAt: null, transfers: 0, volumes: 0 });
  });

  test('an account is disabled once, its sessions say so, and each change is in the audit log', async () => {
    const [ann, token] = [fresh('u'), fresh('t')];
    await openSession(stores, token, ann, 5);
    const { accountRecords, sessions, audit } = stores.one;
    assert.ok(await accountRecords.setDisabled(ann, true, 6, 'operator'));
    assert.ok(await accountRecords.setDisabled(ann, true, 7, 'operator'));
    assert.equal((await stores.two.sessions.get(token))!.disabled_at, 6);
    assert.ok(await stores.two.accountRecords.setDisabled(ann, false, 8, 'system token'));
    assert.equal((await sessions.get(token))!.disabled_at, null);
    assert.equal(await accountRecords.setDisabled(fresh('u'), true, 9, 'operator'), false);
    assert.equal(await accountRecords.logout(ann, 10, 'operator'), 1);
    assert.equal(await sessions.get(token), undefined);
    assert.equal(await accountRecords.logout(fresh('u'), 10, 'operator'), undefined);
    const noted = await audit.list(9, ann);
    assert.deepEqual(
      noted.map(({ at, actor, action, detail }) => [at, actor, action, detail]),
      [
        [10, 'operator', 'sessions ended', '1'],
        [8, 'system token', 'enabled', ''],
        [6, 'operator', 'disabled', ''],
      ],
    );
  });

  test('an invitation makes one account, of however many at once, and none where the name is taken', async () => {
    const { invitations, accounts } = stores.one;
    const [hash, id] = [fresh('hash'), fresh('i')];
    const row = { id, note: 'for ann', quota_bytes: 77, created_at: 1, expires_at: 100 };
    await invitations.create(hash, row, 'operator');
    assert.deepEqual({ ...(await invitations.list('', 99, 1000)).find((one) => one.id === id) }, row);
    assert.equal(await invitations.isValid(hash, 100), false, 'its time is over');
    assert.ok(await stores.two.invitations.isValid(hash, 99));
    const taken = fresh('u');
    await accounts.create(taken, 'hash', 1);
    assert.equal(await accounts.create(taken, 'hash', 1, { invite: hash }), false);
    assert.ok(await invitations.isValid(hash, 99));
    const names = Array.from({ length: 8 }, () => fresh('u'));
    const made = await Promise.allSettled(
      names.map((name, at) =>
        (at % 2 ? stores.one : stores.two).accounts.create(name, 'hash', 5, { invite: hash }),
      ),
    );
    const refused = made.filter((result) => result.status === 'rejected');
    assert.equal(refused.length, 7);
    for (const { reason } of refused) assert.ok(reason instanceof ApiError && reason.status === 403);
    const found = await Promise.all(names.map((name) => stores.two.accountRecords.get(name)));
    assert.deepEqual(
      found.filter((one) => one !== undefined).map(({ quota_bytes }) => quota_bytes),
      [77],
    );
    await assert.rejects(accounts.create(fresh('u'), 'hash', 5, { invite: hash }), ApiError);
    await invitations.create(hash, { ...row, id: fresh('i') }, 'operator');
    await assert.rejects(accounts.create(fresh('u'), 'hash', 100, { invite: hash }), ApiError);
    await invitations.expire(100);
    assert.equal(await invitations.end(id, 5, 'operator'), false);
  });

  test('limits of one account hold in the place of the settings', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    for (const name of [ann, ben]) await stores.one.accounts.create(name, 'hash', 1);
    const limits = { quota_bytes: 100, open_transfers: 2, open_volumes: 9 };
    await stores.one.accountRecords.setLimits(ann, limits, 1, 'operator');
    const create = (creator: string, quota: number) =>
      stores.two.transfers.create(
        newTransfer({ fileSize: 60, storedSize: 1 }),
        { transferId: fresh('t'), fileId: fresh('f'), creator, now: NOW },
        { quota, open: { transfers: 1000, volumes: 1000 } },
      );
    assert.equal(await create(ann, 10), 'created', 'more than the setting');
    assert.equal(await create(ann, 10_000), 'over quota', 'less than the setting');
    assert.equal(await create(ben, 10), 'over quota');
    await stores.one.accountRecords.setLimits(ann, { quota_bytes: null }, 1, 'operator');
    assert.equal(await create(ann, 10_000), 'created');
    assert.equal(await create(ann, 10_000), 'too many');
    assert.equal(await create(ben, 10_000), 'created');
  });

  test('uploads under way in pages, the longest unused first, of all or of one', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const ids: string[] = [];
    for (const now of [30, 10, 20, 10]) ids.push((await begin(stores.one, ann, { now })).fileId);
    await filed(stores.one, ann, { now: 5 });
    await begin(stores.one, ben, { now: 15 });
    const seen: string[] = [];
    let after = { touchedAt: 0, fileId: '' };
    for (let page = 0; page < 5; page++) {
      const found = await stores.two.transfers.listOpen(after, 2, ann);
      if (found.length === 0) break;
      seen.push(...found.map(({ file_id }) => file_id));
      after = { touchedAt: found.at(-1)!.touched_at, fileId: found.at(-1)!.file_id };
    }
    assert.deepEqual(seen, [...[ids[1]!, ids[3]!].sort(), ids[2], ids[0]]);
    const all = await stores.two.transfers.listOpen({ touchedAt: 10, fileId: '' }, 1000);
    const creators = all.map(({ creator }) => creator).filter((name) => name === ann || name === ben);
    assert.deepEqual(creators, [ann, ann, ben, ann, ann]);
    // While nothing may be written they do not grow older.
    await stores.one.store.setReadOnly(true, 40, 'operator');
    assert.equal((await stores.two.store.get()).readOnlyAt, 40);
    await stores.one.store.setReadOnly(false, 50, 'operator');
    assert.equal((await stores.two.store.get()).readOnlyAt, null);
    const touched = await stores.two.transfers.listOpen({ touchedAt: 0, fileId: '' }, 1000, ann);
    assert.deepEqual([...new Set(touched.map(({ touched_at }) => touched_at))], [50]);
  });
}
