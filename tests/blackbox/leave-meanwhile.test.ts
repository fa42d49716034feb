/** The end of an account while something of it is under way. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { headers as headerNames, pathOf, toBase64 } from '@szafa/protocol';
import {
  type Answer,
  assertDetail,
  assertError,
  assertOk,
  batched,
  begin,
  beginStreamed,
  complete,
  eventually,
  filesBody,
  listFiles,
  makeFile,
  newTransferId,
  PullServer,
  putAll,
  register,
  User,
  upload,
  usually,
} from '../harness/index.ts';
import { assertGone, groupsOf, idOf, leave, logIn, service, sql, useStores, volumes } from './leave.ts';

describe('the end of an account', () => {
  useStores();

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
    const many = filesBody([batched(makeFile([100_000])), batched(makeFile([100_000]))]);
    const bodies = [held(file.volumes[0]!), held(file.volumes[0]!), held(many)];
    const one = { [headerNames.init]: toBase64(JSON.stringify(file.init)) };
    const calls: Promise<Answer>[] = [
      user.call('PUT', pathOf('writeVolume', { transfer_id: transferId, idx: 1 }), { body: bodies[0]!.body }),
      user.call('PUT', pathOf('writeFile', { transfer_id: newTransferId() }), {
        body: bodies[1]!.body,
        headers: one,
      }),
      user.call('POST', pathOf('writeFiles'), { body: bodies[2]!.body }),
    ];
    await Promise.all(bodies.map(({ sent }) => sent));
    const groups = await groupsOf(user);
    assertOk(await leave(user));
    const next = await register(service, user.username);
    for (const { goOn } of bodies) goOn();
    const [volume, ...whole] = await Promise.all(calls);
    // The bytes of a volume may be there before anybody looks for its transfer.
    assert.ok([200, 404, 409].includes(volume!.status), volume!.text);
    for (const answer of whole) assertDetail(answer, 401);
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
    const slow = held(Buffer.from('{"name": "late"}'));
    const headers = { 'transfer-encoding': 'chunked' };
    const made = user.call('POST', pathOf('createDir'), { body: slow.body, headers });
    await slow.sent;
    await sleep(300);
    assertOk(await leave(user));
    const next = await register(service, user.username);
    slow.goOn();
    assertDetail(await made, 401);
    const { json } = await next.get(pathOf('listDirs'));
    assert.deepEqual(json, { dirs: [] });
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
    });
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
