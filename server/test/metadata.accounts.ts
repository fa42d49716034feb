import assert from 'node:assert/strict';
import { test } from 'node:test';
import { note } from '../src/metadata/audit.ts';
import { insertSession } from '../src/metadata/sessions.ts';
import { addUsage } from '../src/metadata/usage.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, DIGEST, filed, fresh, NOW, openSession } from './metadata.fixture.ts';

export function accountsContract(stores: Stores): void {
  test('a username is taken once, also when many ask at once', async () => {
    const name = fresh('u');
    const won = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 ? stores.one : stores.two).accounts.create(name, `hash ${at}`, 1),
      ),
    );
    assert.equal(won.filter(Boolean).length, 1);
    assert.equal((await stores.one.accounts.credentials(name))?.password_hash, `hash ${won.indexOf(true)}`);
    assert.equal(await stores.one.accounts.credentials(fresh('u')), undefined);
  });

  test('keys are replaced by whoever knows the ones before and the password, one at a time', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const { accounts } = stores.one;
    await accounts.create(ann, 'hash', 1, { keys: 'first' });
    await accounts.create(ben, 'hash', 1);
    assert.equal(await stores.two.accounts.keys(ann), 'first');
    assert.equal(await accounts.keys(ben), undefined);
    assert.equal(await accounts.keys(fresh('u')), undefined);
    const of = (username: string, expected: string | undefined, proven = 'hash') => ({
      username,
      proven,
      expected,
    });
    const next = (keys: string, recoveryHash?: string) => ({ keys, recoveryHash });
    assert.equal(await accounts.replaceKeys(of(ann, undefined), next('second'), 2), false);
    assert.equal(await accounts.replaceKeys(of(ben, 'first'), next('second'), 2), false);
    assert.equal(await accounts.replaceKeys(of(ann, 'first', 'other'), next('second'), 2), false);
    for (const [name, before] of [
      [ann, 'first'],
      [ben, undefined],
    ] as const) {
      const won = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (at % 2 ? stores.one : stores.two).accounts.replaceKeys(of(name, before), next(`keys ${at}`), 2),
        ),
      );
      assert.equal(won.filter(Boolean).length, 1);
      assert.equal(await accounts.keys(name), `keys ${won.indexOf(true)}`);
    }
    const present = await accounts.keys(ann);
    assert.ok(await accounts.replaceKeys(of(ann, present), next('third', 'recovery'), 2));
    assert.ok(await accounts.replaceKeys(of(ann, 'third'), next('fourth'), 2));
    assert.equal((await accounts.credentials(ann))?.recovery_hash, 'recovery', 'it stays');
  });

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

  test('a change of password ends all sessions but one; of many at once one wins', async () => {
    const { accounts, sessions, audit } = stores.one;
    const [ann, own] = [fresh('u'), fresh('token')];
    await accounts.create(ann, 'hash', 1, { keys: 'first', session: { tokenHash: own, device: '' } });
    const others = Array.from({ length: 3 }, () => fresh('token'));
    for (const tokenHash of others) await accounts.openSession(ann, 'hash', { tokenHash, device: '' }, 2);
    await stores.one.recoveries.begin(ann, 'none', fresh('token'), 1000);
    const before = { username: ann, proven: 'hash', expected: 'first' };
    const change = (at: number, was = before) =>
      (at % 2 ? stores.one : stores.two).accounts.changePassword(
        was,
        { passwordHash: `hash ${at}`, keys: `keys ${at}`, recoveryHash: undefined },
        { tokenHash: own, now: 3 },
      );
    assert.equal(await change(99, { ...before, expected: 'other' }), false);
    assert.equal(await change(99, { ...before, proven: 'other' }), false);
    assert.equal((await sessions.list(ann)).length, 4);
    const won = await Promise.all(Array.from({ length: 8 }, (_, at) => change(at)));
    assert.equal(won.filter(Boolean).length, 1);
    const { password_hash, keys } = (await accounts.credentials(ann))!;
    assert.deepEqual([password_hash, keys], [`hash ${won.indexOf(true)}`, `keys ${won.indexOf(true)}`]);
    assert.deepEqual(
      (await sessions.list(ann)).map(({ token_hash }) => token_hash),
      [own],
    );
    assert.equal(await accounts.openSession(ann, 'hash', { tokenHash: fresh(), device: '' }, 4), false);
    const noted = await audit.list({ account: ann, limit: 10 });
    assert.deepEqual(
      noted.map(({ action }) => action),
      ['password changed', 'registered'],
    );
  });

  test('a login under way and a change of password: no session of the old password is left', async () => {
    const { accounts, sessions } = stores.one;
    const secrets = { passwordHash: 'new', keys: undefined, recoveryHash: undefined };
    for (let round = 0; round < 10; round++) {
      const ann = fresh('u');
      await accounts.create(ann, 'hash', 1);
      const before = { username: ann, proven: 'hash', expected: undefined };
      await Promise.all([
        ...Array.from({ length: 4 }, () =>
          stores.two.accounts.openSession(ann, 'hash', { tokenHash: fresh('t'), device: '' }, 2),
        ),
        accounts.changePassword(before, secrets, { tokenHash: '-', now: 3 }),
      ]);
      assert.deepEqual(await sessions.list(ann), []);
    }
  });

  test('a second factor: each of its codes opens one session, in any process', async () => {
    const { accounts, factors, sessions, audit } = stores.one;
    const ann = fresh('u');
    await accounts.create(ann, 'hash', 1);
    const by = { username: ann, proven: 'hash', now: 2 };
    const open = (at: number, code?: { secret: string; step: number }) =>
      (at % 2 ? stores.one : stores.two).accounts.openSession(
        ann,
        'hash',
        { tokenHash: fresh('t'), device: '' },
        3,
        code,
      );
    assert.equal(await factors.setTotp({ secret: 'S', step: 7 }, { ...by, proven: 'other' }), false);
    const set = ['S', 'T'].map((secret, at) =>
      (at ? stores.one : stores.two).factors.setTotp({ secret, step: 7 }, by),
    );
    const won = await Promise.all(set);
    assert.equal(won.filter(Boolean).length, 1);
    const [secret, other] = won[0] ? ['S', 'T'] : ['T', 'S'];
    const { totp_secret, totp_step } = (await accounts.credentials(ann))!;
    assert.deepEqual([totp_secret, totp_step], [secret, 7]);
    for (const code of [undefined, { secret, step: 6 }, { secret, step: 7 }, { secret: other, step: 8 }])
      assert.equal(await open(0, code), false, JSON.stringify({ code }));
    const opened = await Promise.all(Array.from({ length: 8 }, (_, at) => open(at, { secret, step: 8 })));
    assert.equal(opened.filter(Boolean).length, 1);
    assert.equal((await sessions.list(ann)).length, 1);
    for (const [code, who] of [
      [{ secret, step: 8 }, by],
      [{ secret: other, step: 9 }, by],
      [
        { secret, step: 9 },
        { ...by, proven: 'other' },
      ],
    ] as const)
      assert.equal(await factors.removeTotp(code, who), false);
    assert.ok(await factors.removeTotp({ secret, step: 9 }, by));
    assert.equal(await open(0, { secret, step: 10 }), false);
    assert.ok(await open(0));
    const noted = await audit.list({ account: ann, limit: 10 });
    assert.deepEqual(noted.map(({ action, detail }) => [action, detail]).slice(0, 2), [
      ['factor off', 'totp'],
      ['factor on', 'totp'],
    ]);
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
    const made = await sessions.create(wanted, own, 3);
    assert.ok(typeof made === 'object');
    const { session_id, scope, only_dir, expires_at } = (await stores.two.sessions.get(wanted.tokenHash))!;
    assert.deepEqual([session_id, scope, only_dir, expires_at], [made.id, 'append', dirId, 99]);
    assert.equal(await sessions.create(token(), fresh('token'), 3), 'ended');
    assert.equal(await sessions.create(token({ dirId: foreign }), own, 3), 'no directory');
    assert.ok(typeof (await sessions.create(token({ dirId: null }), own, 3)) === 'object');
    assert.equal(await sessions.create(token(), own, 3), 'too many');
    const tomorrow = token({ now: wanted.now + 86_400_000 });
    assert.equal(await sessions.create(token(), own, 9, 1), 'too often');
    assert.ok(typeof (await stores.two.sessions.create(tomorrow, own, 9, 1)) === 'object', 'not for ever');
    assert.ok(await sessions.end(ann, (await sessions.list(ann))[0]!.id, wanted.now));
    await assert.rejects(sessions.create(token({ accountId: fresh() }), own, 9), { status: 401 });
    const [, noted] = await audit.list({ account: ann, limit: 10 });
    assert.deepEqual([noted!.action, noted!.detail], ['token made', 'append for one directory: web1']);
  });

  test('tokens that are made while their maker is ended are ended with it', async () => {
    const { accounts, sessions } = stores.one;
    const secrets = { passwordHash: 'new', keys: undefined, recoveryHash: undefined };
    for (let round = 0; round < 10; round++) {
      const [ann, own, thief] = [fresh('u'), fresh('t'), fresh('t')];
      await accounts.create(ann, 'hash', 1, { session: { tokenHash: own, device: '' } });
      await accounts.openSession(ann, 'hash', { tokenHash: thief, device: '' }, 1);
      const accountId = (await accounts.idOf(ann))!;
      const before = { username: ann, proven: 'hash', expected: undefined };
      const token = () => ({ tokenHash: fresh('t'), username: ann, accountId, device: 'x', now: 2 });
      const making = Array.from({ length: 8 }, () => stores.two.sessions.create(token(), thief, 100));
      // In the middle of them.
      await Promise.race(making);
      await Promise.all([
        ...making,
        round % 2
          ? accounts.changePassword(before, secrets, { tokenHash: own, now: 3 })
          : sessions.endOthers(ann, own, 3),
      ]);
      assert.equal((await sessions.list(ann)).length, 1);
    }
  });

  test('a recovery sets everything once, within its time, and leaves one session', async () => {
    const { accounts, recoveries, sessions } = stores.one;
    const [ann, token, old, mine] = [fresh('u'), fresh('t'), fresh('t'), fresh('t')];
    const session = { tokenHash: old, device: '' };
    await accounts.create(ann, 'hash', 1, { keys: 'first', recoveryHash: 'recovery', session });
    const by = { username: ann, proven: 'hash', now: 1 };
    assert.ok(await stores.one.factors.setTotp({ secret: 'S', step: 1 }, by));
    assert.equal(await recoveries.begin(ann, 'other', token, 1000), false);
    assert.equal(await recoveries.begin(fresh('u'), 'recovery', token, 1000), false);
    assert.ok(await recoveries.begin(ann, 'recovery', token, 1000));
    assert.equal(await recoveries.find(token, 1000), undefined, 'its time is over');
    assert.deepEqual({ ...(await recoveries.find(token, 999)) }, { username: ann, keys: 'first' });
    const secrets = { passwordHash: 'new', keys: 'second', recoveryHash: 'recovery 2' };
    const finish = (at: string, expected: string, now: number, tokenHash = mine) =>
      recoveries.finish({ tokenHash: at, expected }, secrets, { tokenHash, device: 'd' }, now);
    assert.equal(await finish(token, 'other', 999), 'other keys');
    assert.equal(await finish(token, 'first', 1000), 'no token');
    const won = await Promise.all(
      Array.from({ length: 6 }, (_, at) => finish(token, 'first', 999, at === 0 ? mine : fresh('t'))),
    );
    assert.equal(won.filter((result) => result === 'done').length, 1);
    assert.equal((await sessions.list(ann)).length, 1);
    assert.equal(await sessions.get(old), undefined);
    const { password_hash, keys, recovery_hash, totp_secret } = (await accounts.credentials(ann))!;
    assert.deepEqual([password_hash, keys, recovery_hash], ['new', 'second', 'recovery 2']);
    assert.equal(totp_secret, null, 'the second factor is off');
    assert.equal(await finish(token, 'second', 999), 'no token');
    // The latest token takes the place of an earlier one, and a change of password ends it.
    const [first, second] = [fresh('t'), fresh('t')];
    for (const one of [first, second]) assert.ok(await recoveries.begin(ann, 'recovery 2', one, 1000));
    assert.equal(await recoveries.find(first, 999), undefined);
    const before = { username: ann, proven: 'new', expected: 'second' };
    assert.ok(await accounts.changePassword(before, secrets, { tokenHash: '-', now: 3 }));
    assert.equal(await recoveries.find(second, 999), undefined);
    assert.ok(await recoveries.begin(ann, 'recovery 2', first, 1000));
    await recoveries.expire(1000);
    assert.equal(await recoveries.find(first, 1), undefined);
  });

  test('failed logins are counted for each username and address, and forgotten on success', async () => {
    const { accounts } = stores.one;
    const [name, a, b] = [fresh('u'), fresh('a'), fresh('a')];
    const ofName = async (address: string) => (await accounts.failures(name, address)).ofName;
    assert.deepEqual(await ofName(a), { failures: 0, failed_at: 0 });
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? stores.one : stores.two).accounts.countFailure(name, a, 5, 10),
      ),
    );
    await accounts.countFailure(name, b, 7, 10);
    assert.deepEqual(await ofName(a), { failures: 10, failed_at: 5 });
    assert.deepEqual(await ofName(b), { failures: 1, failed_at: 7 });
    await accounts.clearFailures(name, a);
    assert.equal((await ofName(a)).failures, 0);
    assert.equal((await ofName(b)).failures, 1);
  });

  test('failed logins of an address are counted over all names, for a time, whoever succeeds from there', async () => {
    const { accounts } = stores.one;
    const address = fresh('a');
    const all = async () => (await stores.two.accounts.failures(fresh('u'), address)).ofAddress;
    assert.deepEqual(await all(), { failures: 0, failed_at: 0 });
    const [name, other] = [fresh('u'), fresh('u')];
    await accounts.countFailure(name, address, 100, 50);
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        (at % 2 ? stores.one : stores.two).accounts.countFailure(fresh('u'), address, 110, 50),
      ),
    );
    await accounts.clearFailures(name, address);
    await accounts.countFailure(other, address, 149, 50);
    assert.deepEqual(await all(), { failures: 12, failed_at: 100 });
    await accounts.countFailure(other, address, 150, 50);
    assert.deepEqual(await all(), { failures: 1, failed_at: 150 }, 'a new time begins');
    assert.equal((await accounts.failures(other, address)).ofName.failures, 2);
    assert.equal((await accounts.failures(other, fresh('a'))).ofAddress.failures, 0);
  });

  test('a session is found together with what its user has stored', async () => {
    const username = fresh('u');
    const token = fresh('t');
    const session = await openSession(stores, token, username, 5);
    const nothing = { ...session, bytes: 0n, quota: null, rev: 0 };
    assert.deepEqual(await stores.one.lookUpUsage().session(token), nothing);
    await addUsage(stores.sql, username, 0, { files: 1, bytes: 2 ** 52, counted: 1 });
    await addUsage(stores.sql, username, 7, { files: 1, bytes: 2 ** 52 + 1, counted: 1 });
    const found = await stores.one.lookUpUsage().session(token);
    assert.deepEqual(found, { ...session, bytes: 2n ** 53n + 1n, quota: null, rev: 2 });
    assert.equal((await stores.one.usage(username)).bytes, found?.bytes);
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
    const transfer = { ...state, streamed: 'no', creator, made_by: null, dir_id: 0 };
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
      await note(stores.sql, { at, actor: 'operator', account: name, action: 'disabled', detail: `${at}` });
    }
    await accounts.countFailure(name, 'old', 1, 10);
    await accounts.countFailure(name, 'kept', 2, 10);
    await accounts.expire(2);
    await sessions.expire(2, 9);
    await audit.expire(2);
    for (const gone of [old, ended]) assert.equal(await sessions.get(gone), undefined);
    for (const still of [kept, lasting]) assert.ok(await sessions.get(still));
    assert.deepEqual(
      (await audit.list({ account: name, limit: 9 })).map(({ detail }) => detail),
      ['2'],
    );
    assert.equal((await accounts.failures(name, 'old')).ofName.failures, 0);
    assert.equal((await accounts.failures(name, 'kept')).ofName.failures, 1);
  });
}
