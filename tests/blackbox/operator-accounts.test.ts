/** What operators do with accounts, and the limits that they set for one. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type AccountDetails, pathOf } from '@szafa/protocol';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  batched,
  begin,
  beginStreamed,
  complete,
  freshName,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  putFiles,
  putStreamed,
  putVolume,
  readVolume,
  received,
  register,
  type Service,
  STRICT_QUOTA,
  sharedUser,
  type User,
  upload,
  useService,
} from '../harness/index.ts';
import { actions, auditOf, logIn, of, show } from './operator.ts';

const service = useService();
const strict = useService(STRICT_QUOTA);

const limit = (from: Service, user: User, json: object) =>
  admin(from).put(pathOf('limitAccount', of(user)), json);
const act = (from: Service, name: 'disableAccount' | 'enableAccount' | 'logoutAccount', user: User) =>
  admin(from).post(pathOf(name, of(user)));

describe('accounts', () => {
  test('a list in pages has every account once, with its use', async () => {
    const users = await Promise.all(Array.from({ length: 5 }, () => register(service)));
    await upload(users[0]!, makeFile([300], { file_size: 123 }));
    const names: string[] = [];
    let cursor = '';
    let largest = 0;
    for (let pages = 0; pages < 1000; pages++) {
      const answer = await admin(service).get(`${pathOf('listAccounts')}?limit=3${cursor}`);
      assertOk(answer);
      const accounts = answer.json['accounts'] as AccountDetails[];
      largest = Math.max(largest, accounts.length);
      names.push(...accounts.map(({ username }) => username));
      for (const { username, files, used_bytes, quota_bytes, disabled_at } of accounts) {
        if (username !== users[0]!.username) continue;
        assert.deepEqual([files, used_bytes, quota_bytes, disabled_at], [1, 123, 10 * 1024 ** 3, null]);
      }
      if (answer.json['next_cursor'] === undefined) break;
      cursor = `&cursor=${answer.json['next_cursor']}`;
    }
    assert.equal(largest, 3);
    assert.equal(new Set(names).size, names.length);
    for (const { username } of users) assert.ok(names.includes(username));
    assert.ok(!names.includes('admin'));
  });

  for (const query of ['limit=0', 'limit=x', 'cursor=%00', `cursor=${'x'.repeat(81)}`, 'limit=1000000']) {
    test(`a list with ${query.slice(0, 20)} is 400`, async () => {
      for (const name of ['listAccounts', 'listInvitations', 'listTransfers', 'audit'] as const)
        assertError(await admin(service).get(`${pathOf(name)}?${query}`), 400);
    });
  }

  test('a cursor that no list gave is refused or an empty page, never a fault', async () => {
    for (const cursor of ['zzz', '1_2_3', '99999999999999999999', '_', '0_x']) {
      for (const name of ['listAccounts', 'listInvitations', 'listTransfers', 'audit'] as const) {
        const { status, text } = await admin(service).get(`${pathOf(name)}?cursor=${cursor}`);
        assert.ok(status === 200 || status === 400, `${name} ${cursor}: ${text}`);
      }
    }
  });

  test('what is done to nobody is 404, also to admin, who is no account', async () => {
    const root = admin(service);
    for (const username of [freshName(), 'admin', '%00', 'x'.repeat(3000), "a'b"]) {
      const at = { username };
      assertError(await root.get(pathOf('showAccount', at)), 404);
      assertError(await root.put(pathOf('limitAccount', at), { pulls: 1 }), 404);
      for (const name of ['disableAccount', 'enableAccount', 'logoutAccount'] as const)
        assertError(await root.post(pathOf(name, at)), 404);
      assertError(await root.delete(pathOf('deleteAccount', at)), 404);
    }
    for (const path of ['accounts/%00', 'accounts/a%00b', 'accounts/%F0%9F%98%80'])
      assertError(await root.get(`/api/admin/${path}`), 404);
    for (const list of ['transfers', 'audit']) assertOk(await root.get(`/api/admin/${list}?account=a%00b`));
    assertError(await root.delete('/api/admin/transfers/%00'), 404);
    assertError(await root.delete('/api/admin/invitations/%00'), 404);
    assertError(await root.delete(pathOf('endInvitation', { id: 'x' })), 404);
    assertError(await root.delete(pathOf('cancelTransfer', { file_id: 'x' })), 404);
  });

  test('show tells sessions, use and what is open', async () => {
    const user = await register(service);
    await logIn(service, user);
    await begin(user, makeFile([10, 10, 10]));
    const { sessions, open_transfers, open_volumes, used_at, created_at } = await show(service, user);
    assert.deepEqual([sessions, open_transfers, open_volumes], [2, 1, 3]);
    for (const time of [used_at, created_at]) assert.ok(Math.abs(Date.now() - Date.parse(time!)) < 60_000);
  });

  test('a disabled account is refused everywhere, keeps all it has, and works on when it is enabled', async () => {
    const [user, other] = [await register(service), await register(service)];
    const { fileId, file } = await upload(user);
    const pending = makeFile([100, 100]);
    const transferId = await begin(user, pending);
    assertOk(await putVolume(user, transferId, 1, pending.volumes[0]!));
    assertOk(await act(service, 'disableAccount', user), { ok: true });
    assertOk(await act(service, 'disableAccount', user), { ok: true });
    const disabled = (answer: Answer) => {
      assertError(answer, 403);
      assert.equal(answer.json['error'], 'this account is disabled');
    };
    disabled(await user.get(pathOf('me')));
    disabled(await user.get(pathOf('listFiles')));
    disabled(await user.get(pathOf('listDirs')));
    disabled(await user.get(pathOf('quota')));
    disabled(await readVolume(user, fileId, 1));
    disabled(await user.delete(pathOf('deleteFile', { file_id: fileId })));
    disabled(await user.post(pathOf('init'), makeFile().init));
    disabled(await putVolume(user, transferId, 2, pending.volumes[1]!));
    disabled(await putFile(user, newTransferId(), makeFile([10])));
    disabled(await user.get(pathOf('received', { transfer_id: transferId })));
    disabled(await complete(user, transferId));
    disabled(await logIn(service, user));
    // Nobody learns of it who does not know the password.
    const { username } = user;
    const guess = { username, password: 'not this one' };
    assertError(await service.call({ method: 'POST', path: pathOf('login'), json: guess }), 401);
    assertOk(await other.get(pathOf('me')));
    assert.ok((await show(service, user)).disabled_at);

    assertOk(await act(service, 'enableAccount', user), { ok: true });
    assertOk(await user.get(pathOf('me')));
    assertOk(await logIn(service, user));
    await assertReadable(user, fileId, file);
    assert.deepEqual(await received(user, transferId), [1]);
    assertOk(await putVolume(user, transferId, 2, pending.volumes[1]!));
    assertOk(await complete(user, transferId));
    assert.deepEqual(await actions(service, user), [
      ['system token', 'enabled', ''],
      ['system token', 'disabled', ''],
      ['account', 'registered', (await show(service, user)).account_id],
    ]);
  });

  test('logout ends every session of one account, and of no other', async () => {
    const [user, other] = [await register(service), await register(service)];
    const second = String((await logIn(service, user)).json['token']);
    assertOk(await act(service, 'logoutAccount', user), { ok: true, ended: 2 });
    for (const token of [user.token, second])
      assertDetail(await service.call({ path: pathOf('me'), token }), 401);
    assertOk(await other.get(pathOf('me')));
    assertOk(await logIn(service, user));
  });

  test('delete takes the account with its files and uploads; the name is free, and nothing of it comes back', async () => {
    const [user, other] = [await register(service), await register(service)];
    const [{ fileId }, kept] = [await upload(user), await upload(other)];
    await makeDir(user);
    const transferId = await begin(user, makeFile([10]));
    const { account_id } = await show(service, user);
    assertOk(await admin(service).delete(pathOf('deleteAccount', of(user))), { ok: true });
    assertDetail(await user.get(pathOf('me')), 401);
    assertError(await logIn(service, user), 401);
    assertError(await admin(service).get(pathOf('showAccount', of(user))), 404);
    assertError(await admin(service).delete(pathOf('deleteAccount', of(user))), 404);
    const again = await register(service, user.username);
    assert.notEqual((await show(service, again)).account_id, account_id);
    assert.deepEqual(await listFiles(again), []);
    assertError(await readVolume(again, fileId, 1), 404);
    assertError(await again.get(pathOf('received', { transfer_id: transferId })), 404);
    await assertReadable(other, kept.fileId, kept.file);
    const deleted = (await auditOf(service, user.username)).find(({ action }) => action === 'deleted');
    assert.equal(deleted?.actor, 'system token');
  });
});

describe('limits of one account', () => {
  test('a quota of its own holds where the quota is enforced, and shows; others have the setting', async () => {
    const [user, other] = [await register(strict), await register(strict)];
    const init = (who: User, size: number) => who.post(pathOf('init'), makeFile([size]).init);
    const set = await limit(strict, user, { quota_bytes: 5000 });
    assertOk(set);
    assert.equal(set.json['quota_bytes'], 5000);
    assert.equal((await user.get(pathOf('quota'))).json['quota_bytes'], 5000);
    assert.equal((await other.get(pathOf('quota'))).json['quota_bytes'], 1000);
    assertError(await init(user, 5001), 507);
    assertError(await init(other, 1001), 507);
    const { fileId } = await upload(user, makeFile([3000]));
    assertError(await user.post(pathOf('cloneFile', { file_id: fileId }), {}), 507);
    assertError(await putFile(user, newTransferId(), makeFile([2001])), 507);
    assertOk(await init(user, 2000));
    // A volume of a transfer whose length nobody knows counts for whoever began it.
    const streamed = makeFile([1]);
    const transferId = await beginStreamed(user, streamed, 'unsized');
    assertError(await putStreamed(other, transferId, 1, streamed.volumes[0]!), 507);
    assertOk(await limit(strict, user, { quota_bytes: 5001 }));
    assertOk(await putStreamed(other, transferId, 1, streamed.volumes[0]!));
    // Smaller than what is there: nothing goes, and nothing comes.
    assertOk(await limit(strict, user, { quota_bytes: 0 }));
    assertError(await init(user, 1), 507);
    assert.equal((await listFiles(user)).length, 1);
    assertOk(await limit(strict, user, { quota_bytes: null }));
    assert.equal((await user.get(pathOf('quota'))).json['quota_bytes'], 1000);
    assert.deepEqual((await actions(strict, user)).slice(0, 2), [
      ['system token', 'quota changed', 'quota_bytes as the settings say'],
      ['system token', 'quota changed', 'quota_bytes 0'],
    ]);
  });

  test('open uploads and their volumes', async () => {
    const [user, other] = [await register(service), await register(service)];
    assertOk(await limit(service, user, { open_transfers: 2, open_volumes: 5 }));
    const init = (who: User, count: number) => who.post(pathOf('init'), makeFile(Array(count).fill(1)).init);
    assertError(await init(user, 6), 429);
    assertOk(await init(user, 3));
    assertError(await init(user, 3), 429);
    assertOk(await init(other, 6));
    const streamed = makeFile([1, 1, 1]);
    const transferId = await beginStreamed(user, streamed, 'unsized');
    assertError(await init(user, 1), 429);
    for (const [at, status] of [200, 200, 429].entries())
      assert.equal((await putStreamed(user, transferId, at + 1, streamed.volumes[at]!)).status, status);
    assertOk(await limit(service, user, { open_transfers: null, open_volumes: null }));
    assertOk(await init(user, 1));
  });

  test('failed logins', async () => {
    const user = await register(service);
    assertOk(await limit(service, user, { login_attempts: 1 }));
    assertError(
      await logIn(service, { ...user, username: user.username, password: 'wrong word' } as User),
      401,
    );
    assertError(await logIn(service, user), 429);
    assertOk(await limit(service, user, { login_attempts: 5 }));
    assertOk(await logIn(service, user));
  });

  test('bytes a second, of all connections together, up and down, on every worker', async () => {
    const [user, free] = [await register(service), await register(service)];
    const rate = 512 * 1024;
    assertOk(await limit(service, user, { upload_rate: rate, download_rate: rate }));
    const file = makeFile(Array(6).fill(256 * 1024));
    // The first second may be used at once.
    const least = (file.volumes.length * 256 * 1024) / rate - 1;
    const seconds = async (work: () => Promise<unknown>) => {
      const since = performance.now();
      await work();
      return (performance.now() - since) / 1000;
    };
    const transferId = await begin(user, file);
    const up = await seconds(() =>
      Promise.all(
        file.volumes.map(async (bytes, at) => assertOk(await putVolume(user, transferId, at + 1, bytes))),
      ),
    );
    assert.ok(up >= least - 0.3, `${up} s up`);
    const done = await complete(user, transferId);
    assertOk(done);
    const fileId = String(done.json['file_id']);
    const down = await seconds(() =>
      Promise.all(
        file.volumes.map(async (bytes, at) => {
          const answer = await readVolume(user, fileId, at + 1);
          assert.ok(answer.body.equals(bytes));
        }),
      ),
    );
    assert.ok(down >= least - 0.3, `${down} s down`);
    const small = Array.from({ length: 6 }, () => batched(makeFile([256 * 1024])));
    const together = await seconds(async () => assertOk(await putFiles(user, small)));
    assert.ok(together >= least - 0.3, `${together} s up in one request`);
    const without = await seconds(() => upload(free, makeFile(Array(6).fill(256 * 1024))));
    assert.ok(without < 60, 'nobody else waits');
  });

  for (const bad of [
    {},
    { quota_bytes: -1 },
    { quota_bytes: 1.5 },
    { quota_bytes: 2 ** 53 },
    { quota_bytes: '5' },
    { open_transfers: 0 },
    { upload_rate: 1000 },
    { quota: 5 },
    { pulls: 1, password_hash: 'x' },
  ]) {
    test(`${JSON.stringify(bad)} is 400 and changes nothing`, async () => {
      const user = await sharedUser(service);
      assertError(await limit(service, user, bad), 400);
      assert.ok(Object.values((await show(service, user)).limits).every((value) => value === null));
    });
  }
});
