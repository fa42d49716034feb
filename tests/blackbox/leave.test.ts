import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { headers as headerNames, pathOf, toBase64 } from '@szafa/protocol';
import { readConfig } from '../../server/src/config.ts';
import type { SqlStore } from '../../server/src/metadata/sql.ts';
import { mendUsage } from '../../server/src/metadata/usage.ts';
import { newProcessName, openDatabase, openVolumes } from '../../server/src/services.ts';
import type { VolumeStore } from '../../server/src/volumes/store.ts';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  checkInvariants,
  complete,
  eventually,
  freshName,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  PullServer,
  putAll,
  putStreamed,
  putVolume,
  register,
  storeEnvironment,
  User,
  upload,
  useService,
  usually,
} from '../harness/index.ts';

const service = useService({ env: { SZ_SWEEP_INTERVAL: '1' } });
const leave = (user: User, password: unknown = user.password) =>
  user.call('DELETE', pathOf('leave'), { json: { password } });
const logIn = ({ username, password }: User) =>
  service.call({ method: 'POST', path: pathOf('login'), json: { username, password } });
const me = (user: User) => user.get(pathOf('me'));

describe('the end of an account', () => {
  let sql: SqlStore;
  let volumes: VolumeStore;
  before(async () => {
    const config = readConfig({ SZ_DATA: service.data, ...process.env, ...storeEnvironment(service.id) });
    sql = await openDatabase(config);
    volumes = openVolumes(config, newProcessName());
  });
  after(() => sql.close());

  const idOf = async ({ username }: User) => {
    const text = 'SELECT account_id FROM users WHERE username = ?';
    return String((await sql.query<{ account_id: string }>(text, username))[0]!.account_id);
  };
  const groupsOf = async ({ username }: User) => {
    const text = `SELECT file_id FROM files WHERE owner = ?
      UNION SELECT file_id FROM transfers WHERE creator = ? OR owner = ?
      UNION SELECT file_id FROM garbage WHERE owner = ?`;
    const rows = await sql.query<{ file_id: string }>(text, ...Array<string>(4).fill(username));
    return rows.map(({ file_id }) => file_id);
  };

  /** Nothing of it is left in the database but what happened to it; a while later nothing in the store either. */
  async function assertGone(user: User, accountId: string, groups: string[]): Promise<void> {
    const { username } = user;
    for (const [table, column] of [
      ...[
        ['users', 'username'],
        ['sessions', 'username'],
        ['login_failures', 'username'],
        ['dirs', 'owner'],
      ],
      ...[
        ['files', 'owner'],
        ['usage', 'owner'],
        ['transfers', 'creator'],
        ['transfers', 'owner'],
      ],
      ...[['garbage', 'owner']],
    ]) {
      // One that is done is its file's, whoever began it.
      const only = table === 'transfers' ? "AND NOT (status = 'done' AND owner <> creator)" : '';
      const text = `SELECT COUNT(*) AS count FROM ${table} WHERE ${column} = ? ${only}`;
      const [row] = await sql.query<{ count: number }>(text, username);
      assert.equal(Number(row!.count), 0, `${table}.${column}`);
    }
    for (const table of ['users', 'sessions', 'recoveries']) {
      assert.deepEqual(await sql.query(`SELECT 1 FROM ${table} WHERE account_id = ?`, accountId), [], table);
    }
    await eventually(async () => {
      assert.equal(await volumes.account(accountId), undefined, 'its document');
      const text = 'SELECT 1 FROM account_documents WHERE account_id = ?';
      assert.deepEqual(await sql.query(text, accountId), []);
      for (const id of groups) {
        assert.deepEqual(await volumes.list(id), [], `the volumes of ${id}`);
        assert.equal(await volumes.hasManifest(id), false, `the manifest of ${id}`);
        for (const table of ['garbage', 'files', 'transfers', 'volume_blocks', 'streamed_volumes'])
          assert.deepEqual(await sql.query(`SELECT 1 FROM ${table} WHERE file_id = ?`, id), [], table);
      }
    }, 40_000);
  }

  async function actions(username: string): Promise<string[]> {
    const text = 'SELECT action FROM audit WHERE account = ? ORDER BY seq';
    return (await sql.query<{ action: string }>(text, username)).map(({ action }) => action);
  }

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
    for (const owner of ['admin', '']) await mendUsage(sql, owner);

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

  /** A body whose second half waits. */
  function held(bytes: Uint8Array): {
    body: AsyncIterable<Uint8Array>;
    goOn: () => void;
    sent: Promise<void>;
  } {
    const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* pieces() {
      yield bytes.subarray(0, bytes.length / 2);
      first.resolve();
      await second.promise;
      yield bytes.subarray(bytes.length / 2);
    }
    return { body: pieces(), goOn: second.resolve, sent: first.promise };
  }

  test('volumes and files on their way leave nothing, not to the next of that name either', async () => {
    const user = await register(service);
    const accountId = await idOf(user);
    const file = makeFile([200_000]);
    const transferId = await begin(user, file);
    const streamed = await beginStreamed(user, file, 'sized');
    const bodies = [held(file.volumes[0]!), held(file.volumes[0]!)];
    const one = { [headerNames.init]: toBase64(JSON.stringify(file.init)) };
    const calls: Promise<Answer>[] = [
      user.call('PUT', pathOf('writeVolume', { transfer_id: transferId, idx: 1 }), { body: bodies[0]!.body }),
      user.call('PUT', pathOf('writeFile', { transfer_id: newTransferId() }), {
        body: bodies[1]!.body,
        headers: one,
      }),
    ];
    await Promise.all(bodies.map(({ sent }) => sent));
    const groups = await groupsOf(user);
    assertOk(await leave(user));
    const next = await register(service, user.username);
    for (const { goOn } of bodies) goOn();
    const [volume, whole] = await Promise.all(calls);
    // The bytes of a volume may be there before anybody looks for its transfer.
    assert.ok([200, 404, 409].includes(volume!.status), volume!.text);
    assertDetail(whole!, 401);
    // No record ever named its group: nobody would come back for it.
    for await (const { id } of volumes.groups())
      assert.notEqual((await volumes.manifest(id))?.account_id, accountId, 'a file of nobody');
    assertError(await next.get(pathOf('received', { transfer_id: streamed })), 404);
    assert.deepEqual(await listFiles(next), []);
    assertOk(await leave(next));
    await assertGone(user, accountId, groups);
  });

  test('a request that comes slowly does nothing to the next of that name', async () => {
    const user = await register(service);
    const slow = held(Buffer.from('{"x": "ignored"}'));
    const headers = { 'transfer-encoding': 'chunked' };
    const ended = user.call('DELETE', pathOf('endSessions'), { body: slow.body, headers });
    await slow.sent;
    await sleep(300);
    assertOk(await leave(user));
    const next = await register(service, user.username);
    slow.goOn();
    assertDetail(await ended, 401);
    assertOk(await me(next));
  });

  test('a pull that runs ends, and what it fetched goes', async () => {
    const user = await register(service);
    const accountId = await idOf(user);
    const file = makeFile([5000, 6000]);
    const transferId = await begin(user, file);
    const [asked, waited] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await using server = await new PullServer(file, {
      async answer({ idx }) {
        if (idx !== 2) return false;
        asked.resolve();
        await waited.promise;
        return false;
      },
    }).listen();
    const json = { base_url: server.url, token: 'one-time-pull-token-0123456789' };
    const pulled = user.post(pathOf('pull', { transfer_id: transferId }), json);
    await asked.promise;
    const groups = await groupsOf(user);
    assertOk(await leave(user));
    const next = await register(service, user.username);
    waited.resolve();
    assertError(await pulled, 404, 409);
    assert.deepEqual(await listFiles(next), []);
    assertOk(await leave(next));
    await assertGone(user, accountId, groups);
    await eventually(async () => {
      assert.deepEqual(await sql.query('SELECT 1 FROM pulls WHERE transfer_id = ?', transferId), []);
    }, 30_000);
  });

  test('whatever goes on at the same time, nothing is left to nobody', async () => {
    for (let round = 0; round < usually(2, 20); round++) {
      const user = await register(service);
      const accountId = await idOf(user);
      const source = await upload(user, makeFile([3000]));
      const file = makeFile([100]);
      const ready = await begin(user, file);
      await putAll(user, ready, file);
      const groups = new Set(await groupsOf(user));
      const acts: (() => Promise<Answer>)[] = [
        () => leave(user),
        () => logIn(user),
        () => user.post(pathOf('createDir'), { name: 'late' }),
        () => user.post(pathOf('init'), file.init),
        () => complete(user, ready),
        () => user.post(pathOf('cloneFile', { file_id: source.fileId }), {}),
        () => user.delete(pathOf('deleteFile', { file_id: source.fileId })),
        () => user.delete(pathOf('listSessions')),
      ];
      const order = acts
        .map((act) => ({ act, at: randomBytes(4).readUInt32LE() }))
        .sort((a, b) => a.at - b.at);
      const answers = await Promise.all(order.map(({ act }) => act()));
      for (const answer of answers) assert.ok(answer.status < 500, answer.text);
      // A session that was ended by another act in time could not leave.
      const again = await logIn(user);
      if (again.status === 200) {
        const same = new User(service, user.username, user.password, String(again.json['token']));
        for (const id of await groupsOf(user)) groups.add(id);
        assertOk(await leave(same));
      } else assertError(again, 401);
      const next = await register(service, user.username);
      assert.deepEqual(await listFiles(next), []);
      assertOk(await next.get(pathOf('listDirs')), { dirs: [] });
      assertOk(await leave(next));
      await assertGone(user, accountId, [...groups]);
    }
  });

  test('of many who delete it at once one does, and registrations meanwhile get the name once', async () => {
    const user = await register(service);
    await upload(user);
    const accountId = await idOf(user);
    const json = { username: user.username, password: 'another secret' };
    const registerAgain = () => service.call({ method: 'POST', path: pathOf('register'), json });
    const answers = await Promise.all([
      leave(user),
      leave(user),
      leave(user),
      registerAgain(),
      registerAgain(),
    ]);
    const left = answers.slice(0, 3);
    assert.equal(left.filter(({ status }) => status === 200).length, 1);
    for (const answer of left) {
      if (answer.status === 401) assertDetail(answer, 401);
      else if (answer.status !== 200) assertError(answer, 403);
    }
    const made = answers.slice(3).filter(({ status }) => status === 200);
    assert.ok(made.length <= 1);
    for (const answer of answers.slice(3)) if (answer.status !== 200) assertError(answer, 409);
    const token = String((made[0] ?? (await registerAgain())).json['token']);
    const next = new User(service, user.username, json.password, token);
    assert.notEqual(await idOf(next), accountId);
    assert.deepEqual(await listFiles(next), []);
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
