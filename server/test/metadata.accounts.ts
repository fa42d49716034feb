import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUsage } from '../src/metadata/usage.ts';
import type { Stores } from './metadata.contract.ts';
import { begin, DIGEST, filed, fresh, NOW } from './metadata.fixture.ts';

export function accountsContract(stores: Stores): void {
  test('a username is taken once, also when many ask at once', async () => {
    const name = fresh('u');
    const won = await Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        (at % 2 ? stores.one : stores.two).accounts.create(name, `hash ${at}`, 1),
      ),
    );
    assert.equal(won.filter(Boolean).length, 1);
    assert.equal(await stores.one.accounts.passwordHash(name), `hash ${won.indexOf(true)}`);
    assert.equal(await stores.one.accounts.passwordHash(fresh('u')), undefined);
  });

  test('keys are replaced by whoever knows the ones before, one at a time', async () => {
    const [ann, ben] = [fresh('u'), fresh('u')];
    const { accounts } = stores.one;
    await accounts.create(ann, 'hash', 1, { keys: 'first' });
    await accounts.create(ben, 'hash', 1);
    assert.equal(await stores.two.accounts.keys(ann), 'first');
    assert.equal(await accounts.keys(ben), undefined);
    assert.equal(await accounts.keys(fresh('u')), undefined);
    assert.equal(await accounts.replaceKeys(ann, undefined, 'second'), false);
    assert.equal(await accounts.replaceKeys(ben, 'first', 'second'), false);
    for (const [name, before] of [
      [ann, 'first'],
      [ben, undefined],
    ] as const) {
      const won = await Promise.all(
        Array.from({ length: 10 }, (_, at) =>
          (at % 2 ? stores.one : stores.two).accounts.replaceKeys(name, before, `keys ${at}`),
        ),
      );
      assert.equal(won.filter(Boolean).length, 1);
      assert.equal(await accounts.keys(name), `keys ${won.indexOf(true)}`);
    }
  });

  test('sessions are opened, found, touched and closed one by one', async () => {
    const { accounts } = stores.one;
    const [first, second] = [fresh('token'), fresh('token')];
    await accounts.openSession(first, 'ann', 100);
    await accounts.openSession(second, 'ann', 100);
    await accounts.touchSession(first, 200);
    assert.deepEqual({ ...(await stores.two.accounts.session(first)) }, { username: 'ann', used_at: 200 });
    await accounts.closeSession(first);
    assert.equal(await accounts.session(first), undefined);
    assert.deepEqual({ ...(await accounts.session(second)) }, { username: 'ann', used_at: 100 });
    await accounts.closeSession(first);
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
    const { accounts } = stores.one;
    const username = fresh('u');
    const token = fresh('t');
    await accounts.openSession(token, username, 5);
    assert.deepEqual(await stores.one.lookUpUsage().session(token), { username, used_at: 5, bytes: 0n });
    await addUsage(stores.sql, username, 0, { files: 1, bytes: 2 ** 52, counted: 1 });
    await addUsage(stores.sql, username, 7, { files: 1, bytes: 2 ** 52 + 1, counted: 1 });
    const found = await stores.one.lookUpUsage().session(token);
    assert.deepEqual(found, { username, used_at: 5, bytes: 2n ** 53n + 1n });
    assert.equal((await stores.one.usage(username)).bytes, found?.bytes);
    assert.equal(await stores.one.lookUpUsage().session(fresh('t')), undefined);
    // Made up for this test: the sums of the others are held against their files.
    await stores.sql.execute('DELETE FROM usage WHERE owner = ?', username);
  });

  test('a session is found together with a transfer, of whomever', async () => {
    const { accounts, transfers } = stores.one;
    const [username, token] = [fresh('u'), fresh('t')];
    const session = { username, used_at: 5 };
    await accounts.openSession(token, username, 5);
    const { transferId, fileId } = await begin(stores.one, fresh('u'));
    const state = { file_id: fileId, status: 'uploading', chunk_count: 1, touched_at: NOW };
    const transfer = { ...state, streamed: 'no' };
    assert.deepEqual(await transfers.lookUp(transferId).session(token), { ...session, transfer });
    assert.deepEqual({ ...(await transfers.state(transferId)) }, transfer);
    const unknown = fresh('t');
    assert.deepEqual(await transfers.lookUp(unknown).session(token), { ...session, transfer: undefined });
    assert.equal(await transfers.state(unknown), undefined);
    assert.equal(await transfers.lookUp(transferId).session(unknown), undefined);
  });

  test('a session is found together with a file and one of its volumes, of whomever', async () => {
    const { accounts, files } = stores.one;
    const [username, token, owner] = [fresh('u'), fresh('t'), fresh('u')];
    const session = { username, used_at: 5 };
    await accounts.openSession(token, username, 5);
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
    const { accounts } = stores.one;
    const [old, kept, name] = [fresh('token'), fresh('token'), fresh('u')];
    await accounts.openSession(old, 'ann', 1);
    await accounts.openSession(kept, 'ann', 2);
    await accounts.countFailure(name, 'old', 1, 10);
    await accounts.countFailure(name, 'kept', 2, 10);
    await accounts.expire(2, 2);
    assert.equal(await accounts.session(old), undefined);
    assert.ok(await accounts.session(kept));
    assert.equal((await accounts.failures(name, 'old')).ofName.failures, 0);
    assert.equal((await accounts.failures(name, 'kept')).ofName.failures, 1);
  });
}
