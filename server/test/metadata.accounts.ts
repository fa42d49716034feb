/** The part of the metadata contract about accounts: their secrets, and who proved to know them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Stores } from './metadata.contract.ts';
import { fresh } from './metadata.fixture.ts';

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
    const of = (username: string, keys: string | undefined, passwordHash = 'hash') => ({
      username,
      passwordHash,
      keys,
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

  test('a change of password ends all sessions but one; of many at once one wins', async () => {
    const { accounts, sessions, audit } = stores.one;
    const [ann, own] = [fresh('u'), fresh('token')];
    await accounts.create(ann, 'hash', 1, { keys: 'first', session: { tokenHash: own, device: '' } });
    const others = Array.from({ length: 3 }, () => fresh('token'));
    for (const tokenHash of others) await accounts.openSession(ann, 'hash', { tokenHash, device: '' }, 2);
    await stores.one.recoveries.begin(ann, 'none', fresh('token'), 1000);
    const before = { username: ann, passwordHash: 'hash', keys: 'first' };
    const change = (at: number, was = before) =>
      (at % 2 ? stores.one : stores.two).accounts.changePassword(
        was,
        { passwordHash: `hash ${at}`, keys: `keys ${at}`, recoveryHash: undefined },
        { tokenHash: own, now: 3 },
      );
    assert.equal(await change(99, { ...before, keys: 'other' }), false);
    assert.equal(await change(99, { ...before, passwordHash: 'other' }), false);
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
    const noted = await audit.list(10, ann);
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
      const before = { username: ann, passwordHash: 'hash', keys: undefined };
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
    const by = { username: ann, passwordHash: 'hash', keys: undefined, now: 2 };
    const open = (at: number, code?: { secret: string; step: number }) =>
      (at % 2 ? stores.one : stores.two).accounts.openSession(
        ann,
        'hash',
        { tokenHash: fresh('t'), device: '' },
        3,
        code,
      );
    assert.equal(await factors.setTotp({ secret: 'S', step: 7 }, { ...by, passwordHash: 'other' }), false);
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
        { ...by, passwordHash: 'other' },
      ],
    ] as const)
      assert.equal(await factors.removeTotp(code, who), false);
    assert.ok(await factors.removeTotp({ secret, step: 9 }, by));
    assert.equal(await open(0, { secret, step: 10 }), false);
    assert.ok(await open(0));
    const noted = await audit.list(10, ann);
    assert.deepEqual(noted.map(({ action, detail }) => [action, detail]).slice(0, 2), [
      ['factor off', 'totp'],
      ['factor on', 'totp'],
    ]);
  });

  test('a recovery sets everything once, within its time, and leaves one session', async () => {
    const { accounts, recoveries, sessions } = stores.one;
    const [ann, token, old, mine] = [fresh('u'), fresh('t'), fresh('t'), fresh('t')];
    const session = { tokenHash: old, device: '' };
    await accounts.create(ann, 'hash', 1, { keys: 'first', recoveryHash: 'recovery', session });
    const by = { username: ann, passwordHash: 'hash', keys: undefined, now: 1 };
    assert.ok(await stores.one.factors.setTotp({ secret: 'S', step: 1 }, by));
    assert.equal(await recoveries.begin(ann, 'other', token, 1000), false);
    assert.equal(await recoveries.begin(fresh('u'), 'recovery', token, 1000), false);
    assert.ok(await recoveries.begin(ann, 'recovery', token, 1000));
    assert.equal(await recoveries.find(token, 1000), undefined, 'its time is over');
    assert.deepEqual(
      { ...(await recoveries.find(token, 999)) },
      { username: ann, keys: 'first', disabled_at: null },
    );
    const secrets = { passwordHash: 'new', keys: 'second', recoveryHash: 'recovery 2' };
    const finish = (at: string, keys: string, now: number, tokenHash = mine) =>
      recoveries.finish(at, keys, secrets, { tokenHash, device: 'd' }, now);
    await assert.rejects(finish(token, 'other', 999), { status: 412 });
    await assert.rejects(finish(token, 'first', 1000), { status: 401 });
    const won = await Promise.allSettled(
      Array.from({ length: 6 }, (_, at) => finish(token, 'first', 999, at === 0 ? mine : fresh('t'))),
    );
    assert.equal(won.filter(({ status }) => status === 'fulfilled').length, 1);
    assert.equal((await sessions.list(ann)).length, 1);
    assert.equal(await sessions.get(old), undefined);
    const { password_hash, keys, recovery_hash, totp_secret } = (await accounts.credentials(ann))!;
    assert.deepEqual([password_hash, keys, recovery_hash], ['new', 'second', 'recovery 2']);
    assert.equal(totp_secret, null, 'the second factor is off');
    await assert.rejects(finish(token, 'second', 999), { status: 401 });
    // The latest token takes the place of an earlier one, and a change of password ends it.
    const [first, second] = [fresh('t'), fresh('t')];
    for (const one of [first, second]) assert.ok(await recoveries.begin(ann, 'recovery 2', one, 1000));
    assert.equal(await recoveries.find(first, 999), undefined);
    const before = { username: ann, passwordHash: 'new', keys: 'second' };
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
}
