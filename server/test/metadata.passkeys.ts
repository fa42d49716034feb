import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { NewPasskey } from '../src/accounts/factors-table.ts';
import type { Stores } from './metadata.contract.ts';
import { fresh, NOW } from './metadata.fixture.ts';

const passkey = (more: Partial<NewPasskey> = {}): NewPasskey => ({
  ...{ credential_id: fresh('credential'), public_key: 'key', counter: 1, name: 'ring', alone: 0 },
  ...{ challenge: fresh('challenge'), expiresAt: NOW + 1000 },
  ...more,
});
const used = (credentialId: string, counter: number, challenge = fresh('challenge')) => ({
  ...{ credentialId, counter, challenge, expiresAt: NOW + 1000 },
});
/** What becomes of a change: 'done', or the message it is refused with. */
const outcome = (change: Promise<void>) =>
  change.then(
    () => 'done',
    ({ message }: Error) => message,
  );
const CHANGED = { status: 412 };
const TAKEN = 'this passkey has been added already';
const TOO_MANY = 'you have too many passkeys; remove some of them';
const ANSWERED = 'this passkey was not just created for this page and account';
const session = () => ({ tokenHash: fresh('t'), device: '' });

/** Two stores on one database, as two nodes have it. */
export function passkeysContract(stores: Stores): void {
  const alternately = <T>(count: number, act: (store: Stores['one'], at: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, at) => act(at % 2 ? stores.one : stores.two, at)));

  async function made(more: Partial<NewPasskey> = {}) {
    const username = fresh('u');
    await stores.one.accounts.create(username, 'hash', 1, { keys: 'first' });
    const accountId = (await stores.one.accounts.idOf(username))!;
    const by = { username, passwordHash: 'hash', keys: 'first', now: NOW };
    const added = passkey(more);
    await stores.one.passkeys.add(added, by);
    const row = async () => (await stores.two.passkeys.find(added.credential_id))!;
    return { username, accountId, by, id: added.credential_id, row };
  }

  test('passkeys: an id once, so many of an account, and none where the password or the keys are others', async () => {
    const { by, accountId, id } = await made();
    const { accounts, passkeys } = stores.one;
    await assert.rejects(passkeys.add(passkey(), { ...by, passwordHash: 'other' }), CHANGED);
    const keys = 'second';
    await assert.rejects(passkeys.add(passkey(), { ...by, keys: 'other' }, keys), CHANGED);
    assert.equal(await outcome(passkeys.add(passkey({ credential_id: id }), by, keys)), TAKEN);
    assert.equal(await outcome(passkeys.add(passkey(), by, keys, 1)), TOO_MANY);
    assert.equal(await accounts.keys(by.username), 'first', 'all or nothing');
    const challenge = fresh('challenge');
    const one = await alternately(4, ({ passkeys: table }) =>
      outcome(table.add(passkey({ challenge }), by, undefined, 9)),
    );
    assert.deepEqual(one.sort(), ['done', ...Array(3).fill(ANSWERED)], 'a challenge is for one');
    const same = fresh('credential');
    const won = await alternately(6, ({ passkeys: table }) =>
      outcome(table.add(passkey({ credential_id: same }), by, undefined, 9)),
    );
    assert.deepEqual(won.sort(), ['done', ...Array(5).fill(TAKEN)]);
    const more = await alternately(6, ({ passkeys: table }) =>
      outcome(table.add(passkey(), by, undefined, 5)),
    );
    assert.deepEqual(more.sort(), ['done', 'done', ...Array(4).fill(TOO_MANY)]);
    assert.equal((await passkeys.list(accountId)).length, 5);
  });

  test('passkeys: one answer opens one session, on whichever node it is shown, and a counter never goes back', async () => {
    const { username, id, row } = await made({ counter: 5, alone: 1 });
    const answer = used(id, 6);
    const opened = await alternately(6, ({ accounts }) =>
      accounts.openSession(username, 'hash', session(), NOW, answer),
    );
    assert.equal(opened.filter(Boolean).length, 1);
    const { passkeys, accounts } = stores.one;
    const higher = used(id, 8, answer.challenge);
    assert.equal(
      await accounts.openSession(username, 'hash', session(), NOW, higher),
      false,
      'answered before',
    );
    const alone = await alternately(6, async ({ passkeys: table }) =>
      table.openSession(await row(), used(id, 7), session(), NOW),
    );
    assert.deepEqual(alone.filter(Boolean), [{ username }], 'of six that say the same counter');
    for (const counter of [0, 5, 7]) {
      assert.equal(await accounts.openSession(username, 'hash', session(), NOW, used(id, counter)), false);
      assert.equal(await passkeys.openSession(await row(), used(id, counter), session(), NOW), undefined);
    }
    assert.equal(await accounts.openSession(username, 'hash', session(), NOW), false, 'a password alone');
    assert.equal(await accounts.openSession(username, 'other', session(), NOW, used(id, 8)), false);
    assert.equal((await row()).counter, 7);
    await passkeys.expire(NOW + 1000);
    assert.ok(await accounts.openSession(username, 'hash', session(), NOW, used(id, 9)));
  });

  test('passkeys of one account open no other, and none by itself that may not', async () => {
    const [one, two] = [await made(), await made({ counter: 0, alone: 1 })];
    const { accounts, passkeys } = stores.one;
    assert.equal(await accounts.openSession(one.username, 'hash', session(), NOW, used(two.id, 0)), false);
    assert.equal(await passkeys.openSession(await one.row(), used(one.id, 2), session(), NOW), undefined);
    const token = { tokenHash: fresh('t'), now: NOW, noneAlone: true };
    const secrets = { passwordHash: 'hash', keys: 'next', recoveryHash: undefined };
    const before = { username: two.username, passwordHash: 'hash', keys: 'first' };
    assert.ok(await accounts.changePassword(before, secrets, token));
    assert.equal(await passkeys.openSession(await two.row(), used(two.id, 0), session(), NOW), undefined);
    assert.ok(await accounts.openSession(two.username, 'hash', session(), NOW, used(two.id, 0)));
  });

  test('a passkey that is removed takes its sessions along; while somebody logs in with it, none is left', async () => {
    const { username, accountId, by, id, row } = await made({ counter: 0, alone: 1 });
    const { passkeys, sessions } = stores.one;
    const [own, other] = [session(), session()];
    const found = await row();
    for (const one of [own, other])
      assert.deepEqual(await passkeys.openSession(found, used(id, 0), one, NOW), { username });
    // A token that one of them makes goes with the passkey too, also after a logout.
    const token = { tokenHash: fresh('t'), username, accountId, device: 'x', now: NOW };
    await sessions.create(token, other.tokenHash);
    await sessions.close(other.tokenHash);
    const removing = { ...by, tokenHash: own.tokenHash };
    await Promise.all([
      alternately(8, ({ passkeys: table }) => table.openSession(found, used(id, 0), session(), NOW)),
      stores.two.passkeys.remove(id, removing),
    ]);
    assert.deepEqual(
      (await sessions.list(username)).map(({ token_hash }) => token_hash),
      [own.tokenHash],
    );
    await assert.rejects(passkeys.remove(id, removing), { status: 404 });
    assert.equal(await passkeys.openSession(found, used(id, 0), session(), NOW), undefined);
  });

  test('an account that leaves while a passkey logs in has no session afterwards, and no passkey', async () => {
    const { username, accountId, id, row } = await made({ counter: 0, alone: 1 });
    const found = await row();
    const begin = stores.two.deletions.begin(username, { actor: 'account', now: NOW });
    await Promise.all([
      begin,
      alternately(8, ({ passkeys }) => passkeys.openSession(found, used(id, 0), session(), NOW)),
    ]);
    assert.deepEqual(await stores.one.sessions.list(username), []);
    assert.deepEqual(await stores.one.passkeys.list(accountId), []);
    const by = { username, passwordHash: 'hash', keys: undefined, now: NOW };
    await assert.rejects(stores.one.passkeys.add(passkey(), by), CHANGED);
  });

  test('a login that began before a passkey was added does not come in without it', async () => {
    const username = fresh('u');
    await stores.one.accounts.create(username, 'hash', 1);
    const by = { username, passwordHash: 'hash', keys: undefined, now: NOW };
    await Promise.all([
      stores.one.passkeys.add(passkey(), by, undefined, 9),
      alternately(6, ({ accounts }) => accounts.openSession(username, 'hash', session(), NOW)),
    ]);
    assert.equal(await stores.two.accounts.openSession(username, 'hash', session(), NOW), false);
  });
}
