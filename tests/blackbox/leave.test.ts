/** The end of an account: what goes and what stays, and who may end it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { repairUsage } from '../../server/src/files/quota-recount.ts';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  checkInvariants,
  complete,
  freshName,
  listFiles,
  makeDir,
  makeFile,
  putAll,
  putStreamed,
  putVolume,
  register,
  User,
  upload,
} from '../harness/index.ts';
import { actions, assertGone, groupsOf, idOf, leave, logIn, me, service, sql, useStores } from './leave.ts';

describe('the end of an account', () => {
  useStores();

  test('takes everything that it has, and its name is free', async () => {
    const user = await register(service);
    const accountId = await idOf(user);
    const other = new User(service, user.username, user.password, String((await logIn(user)).json['token']));
    const dirId = await makeDir(user, 'kept');
    await upload(user, makeFile([300, 20]));
    const { fileId } = await upload(user, makeFile([500], { dir_id: dirId }));
    assertOk(await user.post(pathOf('cloneFile', { file_id: fileId }), { dir_id: 0 }));
    await begin(user, makeFile([10]));
    await putAll(user, await begin(user, makeFile([70, 7])), makeFile([70, 7])).catch(() => undefined);
    const streamed = makeFile([100, 50]);
    for (const length of ['sized', 'unsized'] as const) {
      const transferId = await beginStreamed(user, streamed, length);
      assertOk(await putStreamed(user, transferId, 1, streamed.volumes[0]!));
    }
    assertError(await leave(other, 'wrong password'), 403);
    const groups = await groupsOf(user);
    assert.ok(groups.length >= 7);
    assertOk(await leave(other), { ok: true });
    for (const token of [user, other]) assertDetail(await me(token), 401);
    assertError(await logIn(user), 401);
    // Whoever has the name next has nothing of it.
    const next = await register(service, user.username);
    assert.notEqual(await idOf(next), accountId);
    assert.deepEqual(await listFiles(next), []);
    assertOk(await next.get(pathOf('listDirs')), { dirs: [] });
    assert.equal((await next.get(pathOf('quota'))).json['used_bytes'], 0);
    assertDetail(await me(user), 401);
    assertOk(await leave(next));
    await assertGone(user, accountId, groups);
    assert.deepEqual(await actions(user.username), ['registered', 'deleted', 'registered', 'deleted']);
  });

  test('leaves what belongs to others', async () => {
    const [user, friend] = [await register(service), await register(service)];
    const [accountId, dirId] = [await idOf(user), await makeDir(user)];
    // Begun by the one who leaves, in a directory of theirs, and completed by another.
    const shared = makeFile([900], { dir_id: dirId });
    const transferId = await begin(user, shared);
    await putAll(user, transferId, shared);
    const done = await complete(friend, transferId);
    assertOk(done);
    const kept = String(done.json['file_id']);
    // And the other way round.
    const theirs = makeFile([800]);
    const back = await begin(friend, theirs);
    await putAll(friend, back, theirs);
    const taken = String((await complete(user, back)).json['file_id']);
    const open = await begin(friend, theirs);
    assertOk(await putVolume(friend, open, 1, theirs.volumes[0]!));
    // One without an owner, in the store of all.
    const root = admin(service);
    const ownerless = await upload(root, makeFile([60]));
    await sql.execute("UPDATE files SET owner = '' WHERE file_id = ?", ownerless.fileId);
    for (const owner of ['admin', '']) await repairUsage(sql, owner);

    assertOk(await leave(user));
    const listed = await listFiles(friend);
    assert.deepEqual(
      listed.map(({ file_id, dir_id, dir_name }) => [file_id, dir_id, dir_name]),
      [[kept, null, '']],
    );
    await assertReadable(friend, kept, shared);
    await assertReadable(root, ownerless.fileId, ownerless.file);
    assertOk(await complete(friend, open));
    await assertGone(user, accountId, [taken]);
    await checkInvariants(service, friend.token);
    await checkInvariants(service, service.systemToken);
    assertOk(await root.delete(pathOf('deleteFile', { file_id: ownerless.fileId })));
  });

  test('a transfer that the leaver began and another one is completing stays that one’s', async () => {
    const [user, friend] = [await register(service), await register(service)];
    const file = makeFile([300]);
    const transferId = await begin(user, file);
    await putAll(user, transferId, file);
    // As after a fault of the disk: whoever completes it goes on.
    const text = "UPDATE transfers SET status = 'failed', owner = ? WHERE transfer_id = ?";
    await sql.execute(text, friend.username, transferId);
    assertOk(await leave(user));
    const done = await complete(friend, transferId);
    assertOk(done);
    await assertReadable(friend, String(done.json['file_id']), file);
  });
});

test('a token alone deletes no account: the password is needed, and limited as at a login', async () => {
  const user = await register(service);
  for (const password of [undefined, null, 7, {}, []]) {
    assertError(await user.call('DELETE', pathOf('leave'), { json: { password } }), 400);
  }
  assertError(await user.call('DELETE', pathOf('leave')), 400);
  assertError(await user.call('DELETE', pathOf('leave'), { body: '{' }), 400);
  for (let i = 0; i < 10; i++) assertError(await leave(user, `wrong ${i}`), 403);
  assertError(await leave(user), 429);
  assertOk(await me(user));
});

test('the administrator cannot leave, and nobody without a token can', async () => {
  assertError(await leave(admin(service), 'x'), 403);
  const path = pathOf('leave');
  assertDetail(await service.call({ method: 'DELETE', path, json: { password: 'x' } }), 401);
  assertOk(await (await register(service, freshName())).get(pathOf('me')));
});
