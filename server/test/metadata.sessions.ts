/** The part of the metadata contract about sessions and tokens. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endLongestUnused, insertSession } from '../src/accounts/sessions-table.ts';
import { moveUsage } from '../src/files/quota.ts';
import { recordAudit } from '../src/operator/audit-table.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, DIGEST, filed, fresh, NOW, openSession, usageOf } from './metadata.fixture.ts';

export function sessionsContract(stores: Stores): void {
  test('sessions are opened for whoever proved the password, found, touched and closed one by one', async () => {
    const { accounts, sessions } = stores.one;
    const [ann, first, second] = [fresh('u'), fresh('token'), fresh('token')];
    await accounts.create(ann, 'hash', 100, { session: { tokenHash: first, device: 'one' } });
    assert.equal(await accounts.openSession(ann, 'other', { tokenHash: second, device: '' }, 100), false);
    assert.ok(await accounts.openSession(ann, 'hash', { tokenHash: second, device: 'two' }, 101));
    const limits = { scope: 'full', only_dir: null, expires_at: null };
    const own = { disabled_at: null, upload_rate: null, download_rate: null };
    const session = { username: ann, account_id: await accounts.idOf(ann), ...limits, ...own };
    await sessions.touch(first, 200);
    const listed = await sessions.list(ann);
    const [laterId, firstId] = listed.map(({ id }) => id);
    const touched = { ...session, session_id: firstId, used_at: 200 };
    assert.deepEqual({ ...(await stores.two.sessions.get(first)) }, touched);
    assert.deepEqual(
      listed.map(({ device, created_at, used_at }) => [device, created_at, used_at]),
      [
        ['two', 101, 101],
        ['one', 100, 200],
      ],
    );
    await sessions.close(first);
    assert.equal(await sessions.get(first), undefined);
    const later = { ...session, session_id: laterId, used_at: 101 };
    assert.deepEqual({ ...(await sessions.get(second)) }, later);
    await sessions.close(first);
    assert.equal(await sessions.end(fresh('u'), listed[0]!.id, 9), false, 'another account');
    assert.ok(await sessions.end(ann, listed[0]!.id, 9));
    assert.equal(await sessions.end(ann, listed[0]!.id, 9), false);
    assert.equal(await sessions.get(second), undefined);
  });

  test('a token is made by a session that is there, for a directory of its account, up to a number', async () => {
    const { accounts, sessions, dirs, audit } = stores.one;
    const [ann, own] = [fresh('u'), fresh('token')];
    await accounts.create(ann, 'hash', 1, { session: { tokenHash: own, device: '' } });
    const accountId = (await accounts.idOf(ann))!;
    const dirId = (await dirs.create(ann, 'web1', 1))!;
    const foreign = (await dirs.create(fresh('u'), 'web1', 1))!;
    const token = (over: object = {}) => ({
      ...{ tokenHash: fresh('token'), username: ann, accountId, device: 'web1', now: 7 },
      ...{ scope: 'append' as const, dirId, expiresAt: 99 },
      ...over,
    });
    const wanted = token();
    const made = await sessions.create(wanted, own, 2);
    const { session_id, scope, only_dir, expires_at } = (await stores.two.sessions.get(wanted.tokenHash))!;
    assert.deepEqual([session_id, scope, only_dir, expires_at], [made, 'append', dirId, 99]);
    await assert.rejects(sessions.create(token(), fresh('token'), 2), { status: 401 });
    await assert.rejects(sessions.create(token({ dirId: foreign }), own, 2), { status: 403 });
    await sessions.create(token({ dirId: null }), own, 2);
    await assert.rejects(sessions.create(token(), own, 2), { status: 409 });
    const tomorrow = token({ now: wanted.now + 86_400_000 });
    await assert.rejects(sessions.create(token(), own, 9, 1), { status: 429 });
    // Not for ever.
    await stores.two.sessions.create(tomorrow, own, 9, 1);
    assert.ok(await sessions.end(ann, (await sessions.list(ann))[0]!.id, wanted.now));
    await assert.rejects(sessions.create(token({ accountId: fresh() }), own, 9), { status: 401 });
    const [, noted] = await audit.list(10, ann);
    assert.deepEqual([noted!.action, noted!.detail], ['token made', 'append for one directory: web1']);
  });

  test('tokens that are made while their maker is ended are ended with it', async () => {
    const { accounts, sessions } = stores.one;
    const secrets = { passwordHash: 'new', keys: undefined, recoveryHash: undefined };
    for (let round = 0; round < 12; round++) {
      const [ann, own, thief] = [fresh('u'), fresh('t'), fresh('t')];
      await accounts.create(ann, 'hash', 1, { session: { tokenHash: own, device: '' } });
      await accounts.openSession(ann, 'hash', { tokenHash: thief, device: '' }, 1);
      const accountId = (await accounts.idOf(ann))!;
      const before = { username: ann, passwordHash: 'hash', keys: undefined };
      const token = () => ({ tokenHash: fresh('t'), username: ann, accountId, device: 'x', now: 2 });
      const making = Array.from({ length: 8 }, () =>
        stores.two.sessions.create(token(), thief, 100).catch(({ status }) => assert.equal(status, 401)),
      );
      // In the middle of them.
      await Promise.race(making);
      await Promise.all([
        ...making,
        [
          () => accounts.changePassword(before, secrets, { tokenHash: own, now: 3 }),
          () => sessions.endOthers(ann, own, 3),
          async () => sessions.end(ann, (await sessions.get(thief))!.session_id, 3),
        ][round % 3]!(),
      ]);
      assert.equal((await sessions.list(ann)).length, 1);
    }
  });

  test('a token ends with the session that made it, and so do tokens of tokens; not by a logout, and not another account’s', async () => {
    const { accounts, sessions } = stores.one;
    const [ann, own, other] = [fresh('u'), fresh('t'), fresh('t')];
    for (const [name, tokenHash] of [
      [ann, own],
      [fresh('u'), other],
    ] as const)
      await accounts.create(name, 'hash', 1, { session: { tokenHash, device: '' } });
    const accountId = (await accounts.idOf(ann))!;
    const make = async (maker: string) => {
      const tokenHash = fresh('t');
      const session = { tokenHash, username: ann, accountId, device: 'x', now: 2 };
      return { tokenHash, id: await sessions.create(session, maker) };
    };
    const login = async () => {
      const tokenHash = fresh('t');
      assert.ok(await accounts.openSession(ann, 'hash', { tokenHash, device: '' }, 1));
      return { tokenHash, id: (await sessions.get(tokenHash))!.session_id };
    };
    const thief = await login();
    const first = await make(thief.tokenHash);
    const second = await make(first.tokenHash);
    const third = await make(second.tokenHash);
    const mine = await make(own);
    const listed = new Map((await sessions.list(ann)).map(({ id, made_by }) => [id, made_by]));
    assert.equal(listed.get(second.id), first.id);
    assert.equal(listed.get(thief.id), null);
    assert.ok(await stores.two.sessions.end(ann, thief.id, 3));
    for (const { tokenHash } of [thief, first, second, third])
      assert.equal(await sessions.get(tokenHash), undefined);
    for (const tokenHash of [own, mine.tokenHash, other]) assert.ok(await sessions.get(tokenHash));
    const phone = await login();
    const kept = await make(phone.tokenHash);
    await sessions.close(phone.tokenHash);
    assert.ok(await sessions.get(kept.tokenHash));
    assert.equal(await sessions.end(ann, phone.id, 3), false);
    assert.ok(await sessions.get(kept.tokenHash));
  });

  test('a login too many ends the longest unused session, and no token', async () => {
    const { accounts, sessions } = stores.one;
    const [ann, own] = [fresh('u'), fresh('t')];
    await accounts.create(ann, 'hash', 1, { session: { tokenHash: own, device: '' } });
    const accountId = (await accounts.idOf(ann))!;
    const token = { tokenHash: fresh('t'), username: ann, accountId, device: 'x', now: 2 };
    await sessions.create(token, own);
    const logins = [fresh('t'), fresh('t'), fresh('t')];
    for (const [at, tokenHash] of logins.entries())
      assert.ok(await accounts.openSession(ann, 'hash', { tokenHash, device: '' }, 10 + at));
    await sessions.touch(own, 50);
    await stores.sql.transaction((tx) => endLongestUnused(tx, ann, 3));
    const left = new Set((await sessions.list(ann)).map(({ token_hash }) => token_hash));
    assert.deepEqual(left, new Set([own, token.tokenHash, logins[2]]));
    await stores.sql.transaction((tx) => endLongestUnused(tx, ann, 3));
    assert.equal((await sessions.list(ann)).length, 3, 'there is room for one more');
  });

  test('a session is found together with what its user has stored', async () => {
    const username = fresh('u');
    const token = fresh('t');
    const session = await openSession(stores, token, username, 5);
    const nothing = { ...session, bytes: 0n, quota: null, rev: 0 };
    assert.deepEqual(await stores.one.lookUpUsage().session(token), nothing);
    const file = { owner: username, stored_size: 1, extra: 0, from: 'nowhere' as const };
    await moveUsage(stores.sql, [{ ...file, size: 2 ** 52, to: 0 }]);
    await moveUsage(stores.sql, [{ ...file, size: 2 ** 52 + 1, to: 7 }]);
    const found = await stores.one.lookUpUsage().session(token);
    assert.deepEqual(found, { ...session, bytes: 2n ** 53n + 1n, quota: null, rev: 2 });
    assert.equal((await usageOf(stores.sql, username)).bytes, found?.bytes);
    assert.equal(await stores.one.lookUpUsage().session(fresh('t')), undefined);
    // Made up for this test: the sums of the others are held against their files.
    await stores.sql.execute('DELETE FROM usage WHERE owner = ?', username);
  });

  test('a session is found together with a transfer, of whomever', async () => {
    const { transfers } = stores.one;
    const [username, token] = [fresh('u'), fresh('t')];
    const session = await openSession(stores, token, username, 5);
    const creator = fresh('u');
    const { transferId, fileId } = await begin(stores.one, creator);
    const state = { file_id: fileId, status: 'uploading', chunk_count: 1, touched_at: NOW };
    const transfer = { ...state, streamed: 'no', creator, creator_session: null, dir_id: 0 };
    assert.deepEqual(await transfers.lookUp(transferId).session(token), { ...session, transfer });
    assert.deepEqual({ ...(await transfers.state(transferId)) }, transfer);
    const unknown = fresh('t');
    assert.deepEqual(await transfers.lookUp(unknown).session(token), { ...session, transfer: undefined });
    assert.equal(await transfers.state(unknown), undefined);
    assert.equal(await transfers.lookUp(transferId).session(unknown), undefined);
  });

  test('a session is found together with a file and one of its volumes, of whomever', async () => {
    const { files } = stores.one;
    const [username, token, owner] = [fresh('u'), fresh('t'), fresh('u')];
    const session = await openSession(stores, token, username, 5);
    const fileId = await filed(stores.one, owner, { count: 20 });
    const file = { owner, chunk_count: 20, enc_params: '{"k":1}' };
    for (const idx of [1, 16, 17, 20]) {
      const found = { ...file, volume: { idx, size: idx - 1, sha256: DIGEST } };
      assert.deepEqual(await files.lookUp(fileId, idx).session(token), { ...session, file: found });
      assert.deepEqual(await files.readable(fileId, idx), found);
    }
    for (const idx of [0, 21, 33, Number.NaN]) {
      const found = { ...file, volume: undefined };
      assert.deepEqual(await files.lookUp(fileId, idx).session(token), { ...session, file: found });
      assert.deepEqual(await files.readable(fileId, idx), found);
    }
    assert.deepEqual(await files.lookUp(fresh('f'), 1).session(token), { ...session, file: undefined });
    assert.equal(await files.lookUp(fileId, 1).session(fresh('t')), undefined);
  });

  test('expire removes sessions and failures from before the times, and no other', async () => {
    const { accounts, sessions, audit } = stores.one;
    const [old, kept, name] = [fresh('token'), fresh('token'), fresh('u')];
    const [ended, lasting] = [fresh('token'), fresh('token')];
    await openSession(stores, old, 'ann', 1);
    const { account_id: accountId } = await openSession(stores, kept, 'ann', 2);
    const token = { username: 'ann', accountId, device: '', now: 1 };
    await insertSession(stores.sql, { ...token, tokenHash: ended, expiresAt: 9 });
    await insertSession(stores.sql, { ...token, tokenHash: lasting, expiresAt: 10 });
    for (const at of [1, 2]) {
      await recordAudit(stores.sql, {
        at,
        actor: 'operator',
        account: name,
        action: 'disabled',
        detail: `${at}`,
      });
    }
    await accounts.countFailure(name, 'old', 1, 10);
    await accounts.countFailure(name, 'kept', 2, 10);
    await accounts.expire(2);
    await sessions.expire(2, 9);
    await audit.expire(2);
    for (const gone of [old, ended]) assert.equal(await sessions.get(gone), undefined);
    for (const still of [kept, lasting]) assert.ok(await sessions.get(still));
    assert.deepEqual(
      (await audit.list(9, name)).map(({ detail }) => detail),
      ['2'],
    );
    assert.equal((await accounts.failures(name, 'old')).ofName.failures, 0);
    assert.equal((await accounts.failures(name, 'kept')).ofName.failures, 1);
  });
}
