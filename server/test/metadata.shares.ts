import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { limits } from '@szafa/protocol';
import { insertFile } from '../src/files/file-changes-table.ts';
import { copyShareParts } from '../src/sharing/share-rows.ts';
import type { NewShare } from '../src/sharing/shares-table.ts';
import type { Stores } from './metadata.contract.ts';
import { filed, fresh, NOW, newId, openSession } from './metadata.fixture.ts';

const DAY_MS = 86_400_000;
export const newShareId = () => randomBytes(16).toString('base64url');

/** An account with a file, and a share of it. */
export async function sharedFile(stores: Stores, over: Partial<NewShare> = {}): Promise<NewShare> {
  const owner = fresh('u');
  const { account_id } = await openSession(stores, fresh('t'), owner, NOW);
  const files = [await filed(stores.one, owner, { count: 2 })];
  const share: NewShare = {
    ...{ id: newShareId(), owner, accountId: account_id, files, now: NOW },
    ...{ header: 'header', access: fresh('a'), own: 'own' },
    ...{ expiresAt: null, downloads: null, ...over },
  };
  await stores.one.shares.create(share);
  return share;
}

/** As somebody who knows the link. */
const doorOf = (share: NewShare) => ({ accessHash: share.access! });

/** What accounts share, and what visitors take of it. */
export function sharesContract(stores: Stores): void {
  const shared = (over: Partial<NewShare> = {}) => sharedFile(stores, over);

  test('a share is found by who knows the link, and read by a ticket', async () => {
    const share = await shared({ expiresAt: NOW + DAY_MS, downloads: 2 });
    const { shares } = stores.two;
    const found = await shares.find(share.id, doorOf(share), NOW);
    assert.deepEqual({ ...found }, { files: 1, expires_at: NOW + DAY_MS, downloads: 2, downloaded: 0 });
    assert.equal(await shares.header(share.id), 'header');
    assert.deepEqual(await shares.present(share.id), [1]);
    assert.equal(await shares.find(share.id, { accessHash: fresh('a') }, NOW), undefined);
    assert.equal(await shares.find(newShareId(), doorOf(share), NOW), undefined);
    assert.equal(await shares.readable(share.id, 'ticket', 1, 1, NOW), undefined);
    assert.deepEqual(await shares.takeTicket(share.id, 'ticket', NOW), {
      expiresAt: NOW + DAY_MS,
      isNew: true,
    });
    const read = await shares.readable(share.id, 'ticket', 1, 2, NOW);
    assert.deepEqual(
      [read!.fileId, read!.paced.username, read!.file.volume!.idx],
      [share.files[0], share.owner, 2],
    );
    // Another number, another volume, another ticket, another share, another time.
    assert.equal(await shares.readable(share.id, 'ticket', 2, 1, NOW), undefined);
    assert.equal((await shares.readable(share.id, 'ticket', 1, 3, NOW))!.file.volume, undefined);
    assert.equal(await shares.readable(share.id, 'tickets', 1, 1, NOW), undefined);
    assert.equal(await shares.readable((await shared()).id, 'ticket', 1, 1, NOW), undefined);
    assert.equal(await shares.readable(share.id, 'ticket', 1, 1, NOW + DAY_MS), undefined);
  });

  test('the same share again is no other one; another one of its id, or of foreign files, is refused', async () => {
    const share = await shared();
    await stores.two.shares.create(share);
    const taken = { status: 409, message: /exists already/ };
    await assert.rejects(stores.two.shares.create({ ...share, header: 'other' }), taken);
    const [other, foreign] = [await shared(), newShareId()];
    await assert.rejects(
      stores.two.shares.create({ ...share, owner: other.owner, accountId: other.accountId }),
      taken,
    );
    // A database does not take every text.
    const none = ['nosuch', '', '\0', '\ud800', newId()];
    const files = [...other.files, ...share.files, ...none];
    const extra = { files: [share.files[0], ...none] };
    await assert.rejects(stores.two.shares.create({ ...other, id: foreign, files }), { status: 404, extra });
    assert.equal(await stores.one.shares.find(foreign, doorOf(other), NOW), undefined);
    assert.equal((await stores.one.shares.list(share.owner)).length, 1);
  });

  test('an account shares no more than it may, and is not noted without end', async () => {
    const share = await shared();
    const again = () => ({ ...share, id: newShareId() });
    const { shares } = stores.one;
    await assert.rejects(shares.create(again(), 0), { status: 429 });
    const long = 'x'.repeat(limits.sharesOfAccount.headerChars - 'header'.length);
    const full = { status: 409, message: /too many shares/ };
    await assert.rejects(shares.create({ ...again(), header: `${long}x` }), full);
    await stores.sql.execute(
      'UPDATE shares SET files = ? WHERE id = ?',
      limits.sharesOfAccount.files,
      share.id,
    );
    await assert.rejects(shares.create(again()), full);
    // What it has ended counts no more.
    assert.ok(await shares.end(share.id, NOW, 'account', share.owner));
    await shares.create(again());
  });

  test('of many who take a ticket at once, as many get one as there are; the same one counts once', async () => {
    const share = await shared({ downloads: 5 });
    const take = (ticket: string, at: number) =>
      stores[at % 2 ? 'one' : 'two'].shares.takeTicket(share.id, ticket, NOW);
    const tickets = Array.from({ length: 12 }, (_, at) => `ticket ${at}`);
    const taken = await Promise.all([...tickets, ...tickets].map(take));
    assert.equal(taken.filter((one) => typeof one === 'object' && one.isNew).length, 5);
    const good = new Set(taken.flatMap((one, at) => (typeof one === 'object' ? [tickets[at % 12]] : [])));
    assert.equal(good.size, 5);
    assert.equal((await stores.one.shares.list(share.owner))[0]!.downloaded, 5);
    assert.equal(await take('one more', 0), 'used up');
    // Who has one keeps it, and goes on.
    const [first] = good;
    assert.deepEqual(await take(first!, 1), { expiresAt: NOW + limits.ticketSeconds * 1000, isNew: false });
    assert.ok(await stores.one.shares.readable(share.id, first!, 1, 1, NOW));
    assert.ok(await stores.one.shares.hasTicket(share.id, first!, NOW));
  });

  test('a ticket reads for a day, then counts anew; of one share there are only so many', async () => {
    const share = await shared({ downloads: 2 });
    const { shares } = stores.one;
    const later = NOW + limits.ticketSeconds * 1000;
    await shares.takeTicket(share.id, 'ticket', NOW);
    assert.equal(await shares.readable(share.id, 'ticket', 1, 1, later), undefined);
    assert.equal(await shares.hasTicket(share.id, 'ticket', later), false);
    assert.equal(await shares.takeTicket(share.id, 'other', NOW, { most: 1 }), 'busy');
    const from = { address: 'one', most: 0 };
    assert.equal(await shares.takeTicket(share.id, 'other', NOW, { from }), 'busy');
    const again = await shares.takeTicket(share.id, 'ticket', later);
    assert.ok(typeof again === 'object' && again.isNew);
    assert.equal(await shares.takeTicket(share.id, 'third', later), 'used up');
  });

  test('a ticket ends with its share', async () => {
    const { shares } = stores.one;
    const share = await shared({ expiresAt: NOW + 5000 });
    assert.deepEqual(await shares.takeTicket(share.id, 'ticket', NOW), {
      expiresAt: NOW + 5000,
      isNew: true,
    });
  });

  test('an end holds at once, and is known for a while to who knows the link', async () => {
    const share = await shared();
    const { shares } = stores.two;
    await shares.takeTicket(share.id, 'ticket', NOW);
    assert.equal(await shares.end(share.id, NOW, 'account', fresh('u')), false);
    assert.ok(await stores.one.shares.end(share.id, NOW + 1, 'account', share.owner));
    assert.equal(await shares.end(share.id, NOW, 'account', share.owner), false);
    assert.equal(await shares.readable(share.id, 'ticket', 1, 1, NOW), undefined);
    assert.equal(await shares.takeTicket(share.id, 'ticket', NOW), 'ended');
    assert.deepEqual(await shares.find(share.id, doorOf(share), NOW), { ending: 'ended' });
    assert.equal(await shares.find(share.id, { accessHash: fresh('a') }, NOW), undefined);
    assert.equal(await shares.header(share.id), '');
    assert.deepEqual(await shares.list(share.owner), []);
    assert.deepEqual(await shares.listOpen('', 100, share.owner), []);
    await shares.expire(NOW, NOW + 2);
    assert.equal(await shares.find(share.id, doorOf(share), NOW), undefined);
    const noted = await stores.one.audit.list(2, share.owner);
    assert.deepEqual(
      noted.map(({ action, detail, actor }) => [action, detail, actor]),
      [
        ['share ended', share.id, 'account'],
        ['share made', share.id, 'account'],
      ],
    );
  });

  test('one that an operator ends is still in the list of its owner, who puts it away', async () => {
    const share = await shared();
    const { shares } = stores.one;
    assert.deepEqual(
      (await shares.listOpen('', 10, share.owner)).map(({ id, owner }) => [id, owner]),
      [[share.id, share.owner]],
    );
    assert.ok(await shares.end(share.id, NOW, 'operator'));
    assert.equal(await shares.end(share.id, NOW, 'operator'), false);
    assert.deepEqual(
      (await shares.list(share.owner)).map(({ end_reason, own }) => [end_reason, own]),
      [['ended', 'own']],
    );
    assert.ok(await shares.end(share.id, NOW, 'account', share.owner));
    assert.deepEqual(await shares.list(share.owner), []);
  });

  test('what has expired, or is used up and read by nobody, is over with the next round', async () => {
    const [expired, used, reading] = [
      await shared({ expiresAt: NOW + 1 }),
      await shared({ downloads: 1 }),
      await shared({ downloads: 1 }),
    ];
    const { shares } = stores.one;
    await shares.takeTicket(used.id, 'ticket', NOW - limits.ticketSeconds * 1000);
    await shares.takeTicket(reading.id, 'ticket', NOW);
    assert.deepEqual(await shares.find(expired.id, doorOf(expired), NOW + 1), { ending: 'expired' });
    await shares.expire(NOW + 1, NOW);
    const endings = async ({ owner }: NewShare) =>
      (await shares.list(owner)).map(({ end_reason }) => end_reason);
    assert.deepEqual(await endings(expired), ['expired']);
    assert.deepEqual(await endings(used), ['used up']);
    assert.deepEqual(await endings(reading), [null]);
    assert.ok(await shares.readable(reading.id, 'ticket', 1, 1, NOW + 1));
  });

  test('what its owner deletes is not served, and counted as missing', async () => {
    const share = await shared();
    const { shares, fileChanges } = stores.one;
    await shares.takeTicket(share.id, 'ticket', NOW);
    await fileChanges.remove(share.files[0]!, NOW);
    assert.equal(await shares.readable(share.id, 'ticket', 1, 1, NOW), undefined);
    assert.deepEqual(await shares.present(share.id), []);
    const [listed] = await shares.list(share.owner);
    assert.deepEqual([listed!.files, listed!.present, listed!.end_reason], [1, 0, null]);
  });

  test('nothing is served of an account that is disabled or leaving, and nothing is left of one that has left', async () => {
    const [disabled, leaving] = [await shared(), await shared()];
    const { shares, accountRecords, deletions } = stores.one;
    for (const { id } of [disabled, leaving]) await shares.takeTicket(id, 'ticket', NOW);
    await accountRecords.setDisabled(disabled.owner, true, NOW, 'operator');
    const left = (await deletions.begin(leaving.owner, { actor: 'account', now: NOW }))!;
    for (const share of [disabled, leaving]) {
      assert.equal(await shares.find(share.id, doorOf(share), NOW), undefined);
      assert.equal(await shares.readable(share.id, 'ticket', 1, 1, NOW), undefined);
    }
    await accountRecords.setDisabled(disabled.owner, false, NOW, 'operator');
    assert.ok(await shares.readable(disabled.id, 'ticket', 1, 1, NOW));
    await deletions.removeFiles(left, NOW, 10);
    assert.equal(await deletions.finish(left), false);
    assert.equal(await deletions.removeShares(left, 10), 1);
    assert.ok(await deletions.finish(left));
    for (const table of ['share_files', 'share_tickets']) {
      const text = `SELECT 1 FROM ${table} WHERE share_id = ?`;
      assert.deepEqual(await stores.sql.query(text, leaving.id), [], table);
    }
  });

  test('many files of a share come in their order, and move to another database with it', async () => {
    const owner = fresh('u');
    const { account_id: accountId } = await openSession(stores, fresh('t'), owner, NOW);
    const files = Array.from({ length: 130 }, () => newId());
    const row = (await stores.one.files.get(await filed(stores.one, owner)))!;
    await stores.sql.transaction(async (tx) => {
      for (const file_id of files) await insertFile(tx, { ...row, seq: undefined, file_id });
    });
    const share = await shared({ owner, accountId, files });
    const { shares } = stores.one;
    await shares.takeTicket(share.id, 'ticket', NOW);
    for (const number of [1, 125, 126, 130]) {
      assert.equal((await shares.readable(share.id, 'ticket', number, 1, NOW))!.fileId, files[number - 1]);
    }
    const { sql } = stores;
    const before = await sql.query('SELECT * FROM share_files WHERE share_id = ? ORDER BY number', share.id);
    const copy = newShareId();
    await sql.execute('UPDATE share_files SET share_id = ? WHERE share_id = ?', copy, share.id);
    await sql.execute('UPDATE share_tickets SET share_id = ? WHERE share_id = ?', copy, share.id);
    const renamed = { query: (text: string) => sql.query(text, copy) } as unknown as typeof sql;
    await copyShareParts(renamed, sql, share.id);
    const after = await sql.query('SELECT * FROM share_files WHERE share_id = ? ORDER BY number', share.id);
    assert.deepEqual(after, before);
    assert.ok(await shares.readable(share.id, 'ticket', 130, 1, NOW));
  });
}
