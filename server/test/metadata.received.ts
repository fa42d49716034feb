import assert from 'node:assert/strict';
import { test } from 'node:test';
import { limits } from '@szafa/protocol';
import type { NewShare } from '../src/sharing/shares-table.ts';
import type { Stores } from './metadata.contract.ts';
import { fresh, NOW, openSession } from './metadata.fixture.ts';
import { newShareId, sharedFile } from './metadata.shares.ts';

interface Person {
  username: string;
  accountId: string;
}

/** What accounts share with accounts. */
export function receivedContract(stores: Stores): void {
  /** An account that something can be shared with. */
  async function person(identity: string | null = 'identity'): Promise<Person> {
    const username = fresh('u');
    const { account_id: accountId } = await openSession(stores, fresh('t'), username, NOW);
    await stores.sql.execute('UPDATE accounts SET identity = ? WHERE username = ?', identity, username);
    return { username, accountId };
  }

  /** A share with this account, by somebody new. */
  async function given({ username }: Person, over: Partial<NewShare> = {}): Promise<NewShare> {
    const { access: _, ...share } = await sharedFile(stores);
    await stores.sql.execute("UPDATE accounts SET identity = 'of the owner' WHERE username = ?", share.owner);
    const next = { ...share, id: newShareId(), to: { username, letter: 'letter' }, ...over };
    await stores.one.shares.create(next);
    return next;
  }

  const doorOf = ({ accountId }: Person) => ({ recipientId: accountId });

  test('a share with an account is listed and found by that one, and by no link', async () => {
    const [ann, ben] = [await person(), await person()];
    const share = await given(ann, { downloads: 3 });
    const { shares } = stores.two;
    const [listed, ...others] = await shares.listReceived(ann.accountId, NOW);
    assert.deepEqual(others, []);
    const limited = { expires_at: null, downloads: 3, downloaded: 0, created_at: NOW };
    const texts = { identity: 'of the owner', letter: 'letter' };
    assert.deepEqual(
      { ...listed },
      { id: share.id, owner: share.owner, ...texts, files: 1, present: 1, ...limited },
    );
    assert.deepEqual(await shares.listReceived(ben.accountId, NOW), []);
    assert.ok(await shares.find(share.id, doorOf(ann), NOW));
    assert.equal(await shares.find(share.id, doorOf(ben), NOW), undefined);
    for (const accessHash of ['', 'null', 'letter'])
      assert.equal(await shares.find(share.id, { accessHash }, NOW), undefined);
    const link = await sharedFile(stores);
    assert.equal(await shares.find(link.id, doorOf(ann), NOW), undefined);
    const own = (await shares.list(share.owner)).find(({ id }) => id === share.id)!;
    assert.equal(own.recipient, ann.username);
    // The same again is no other one; for somebody else, or with another letter, it is.
    await shares.create(share);
    const taken = { status: 409, message: /exists already/ };
    for (const to of [
      { username: ben.username, letter: 'letter' },
      { username: ann.username, letter: 'other' },
    ])
      await assert.rejects(shares.create({ ...share, to }), taken);
    const { to: _, ...byLink } = share;
    await assert.rejects(shares.create({ ...byLink, access: 'x' }), taken);
  });

  test('nothing is shared with who is not there, or has no keys, nor by who has none', async () => {
    const [ann, keyless, disabled, gone] = [
      await person(),
      await person(null),
      await person(),
      await person(),
    ];
    const share = await given(ann);
    const { shares, accountRecords, deletions } = stores.one;
    await accountRecords.setDisabled(disabled.username, true, NOW, 'operator');
    await deletions.begin(gone.username, { actor: 'account', now: NOW });
    const to = (username: string) => ({ ...share, id: newShareId(), to: { username, letter: 'letter' } });
    for (const username of [fresh('u'), keyless.username, disabled.username, gone.username])
      await assert.rejects(shares.create(to(username)), { status: 404, message: /account of this name/ });
    await stores.sql.execute('UPDATE accounts SET identity = NULL WHERE username = ?', share.owner);
    await assert.rejects(shares.create(to(ann.username)), { status: 409, message: /no public keys/ });
  });

  test('an account is given no more than it may have, by one or by all', async () => {
    const ann = await person();
    const share = await given(ann);
    const { ofAll, ofOne } = limits.sharesForAccount;
    const next = (by: NewShare) => ({ ...by, id: newShareId() });
    const other = await given(ann);
    const fill = async (count: number) => {
      await stores.sql.transaction(async (tx) => {
        const columns =
          'owner, account_id, header, access_hash, own, files, created_at, downloaded, recipient_id';
        for (let at = 0; at < count; at++)
          await tx.execute(
            `INSERT INTO shares (id, ${columns}) SELECT ?, ${columns} FROM shares WHERE id = ?`,
            newShareId(),
            share.id,
          );
      });
    };
    const full = { status: 409, message: /recipient has reached/ };
    await fill(ofOne - 1);
    await assert.rejects(stores.one.shares.create(next(share)), full);
    await stores.one.shares.create(next(other));
    await stores.sql.execute("UPDATE shares SET account_id = 'others' WHERE recipient_id = ?", ann.accountId);
    await fill(ofAll - ofOne - 2);
    await assert.rejects(stores.one.shares.create(next(other)), full);
    // What has ended counts no more.
    assert.ok(await stores.one.shares.end(share.id, NOW, 'account', share.owner));
    await stores.one.shares.create(next(other));
  });

  test('it ends for both, whoever of the two ends it', async () => {
    const [ann, ben] = [await person(), await person()];
    const [first, second] = [await given(ann), await given(ann)];
    const { shares } = stores.two;
    for (const { id } of [first, second]) await shares.takeTicket(id, 'ticket', NOW);
    assert.equal(await shares.endReceived(first.id, ben.accountId, NOW), false);
    assert.ok(await shares.endReceived(first.id, ann.accountId, NOW));
    assert.equal(await shares.endReceived(first.id, ann.accountId, NOW), false);
    assert.ok(await shares.end(second.id, NOW, 'account', second.owner));
    assert.deepEqual(await shares.listReceived(ann.accountId, NOW), []);
    for (const { id } of [first, second]) {
      assert.equal(await shares.readable(id, 'ticket', 1, 1, NOW), undefined);
      assert.deepEqual(await shares.find(id, doorOf(ann), NOW), { ending: 'ended' });
    }
    const left = (await shares.list(first.owner)).find(({ id }) => id === first.id)!;
    assert.deepEqual([left.end_reason, left.recipient], ['ended', ann.username]);
    const [noted] = await stores.one.audit.list(1, first.owner);
    assert.deepEqual([noted!.action, noted!.detail], ['share ended', `${first.id} by ${ann.username}`]);
  });

  test('what has expired is not listed, and what its owner deleted is counted', async () => {
    const ann = await person();
    const [soon, lost] = [await given(ann, { expiresAt: NOW + 5 }), await given(ann)];
    await stores.one.fileChanges.remove(lost.files[0]!, NOW);
    const { shares } = stores.one;
    assert.equal((await shares.listReceived(ann.accountId, NOW)).length, 2);
    const listed = await shares.listReceived(ann.accountId, NOW + 5);
    assert.deepEqual(
      listed.map(({ id, files, present }) => [id, files, present]),
      [[lost.id, 1, 0]],
    );
    assert.equal(soon.expiresAt, NOW + 5);
  });

  test('nothing is served where one of the two is disabled or leaving; with either account it ends', async () => {
    const { shares, accountRecords, deletions } = stores.one;
    const [ann, ben] = [await person(), await person()];
    const [share, other] = [await given(ann), await given(ben)];
    for (const { id } of [share, other]) await shares.takeTicket(id, 'ticket', NOW);
    const reads = async ({ id }: NewShare) => (await shares.readable(id, 'ticket', 1, 1, NOW)) !== undefined;
    for (const username of [ann.username, share.owner]) {
      assert.ok(await reads(share));
      await accountRecords.setDisabled(username, true, NOW, 'operator');
      assert.equal(await reads(share), false, 'a ticket that was taken before, too');
      await accountRecords.setDisabled(username, false, NOW, 'operator');
    }
    const left = (await deletions.begin(ann.username, { actor: 'account', now: NOW }))!;
    assert.equal(await reads(share), false);
    assert.equal(await deletions.finish(left), false);
    assert.equal(await deletions.endReceived(left, NOW, 10), 1);
    assert.equal(await deletions.endReceived(left, NOW, 10), 0);
    assert.ok(await deletions.finish(left));
    const own = (await shares.list(share.owner)).find(({ id }) => id === share.id)!;
    assert.deepEqual([own.end_reason, own.recipient], ['ended', ann.username]);
    await deletions.begin(other.owner, { actor: 'account', now: NOW });
    assert.deepEqual(await shares.listReceived(ben.accountId, NOW), []);
    assert.equal(await shares.find(other.id, doorOf(ben), NOW), undefined);
  });

  test('an identity is set with the keys, stays with others, and is told of who can be used', async () => {
    const ann = fresh('u');
    const { accounts, documents, accountRecords } = stores.one;
    const session = { tokenHash: fresh('t'), device: '' };
    await accounts.create(ann, 'hash', NOW, { keys: 'first', identity: 'one', session });
    assert.equal(await stores.two.accounts.identity(ann), 'one');
    const before = (keys: string) => ({ username: ann, passwordHash: 'hash', keys });
    assert.ok(await accounts.replaceKeys(before('first'), { keys: 'second', recoveryHash: undefined }, NOW));
    assert.equal(await accounts.identity(ann), 'one');
    const next = { keys: 'third', recoveryHash: undefined, identity: 'two' };
    assert.ok(await accounts.replaceKeys(before('second'), next, NOW));
    assert.equal(await accounts.identity(ann), 'two');
    assert.equal((await documents.account((await accounts.idOf(ann))!))!.identity, 'two');
    await accountRecords.setDisabled(ann, true, NOW, 'operator');
    assert.equal(await accounts.identity(ann), undefined);
    assert.equal(await accounts.identity(fresh('u')), undefined);
  });
}
