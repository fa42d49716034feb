/** What operators do with the service: who may, uploads under way, invitations, read-only. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { pathOf, type Route, routes } from '@szafa/protocol';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  command,
  complete,
  freshName,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  putVolume,
  received,
  register,
  sharedUser,
  upload,
  useService,
  withService,
} from '../harness/index.ts';
import { actions, auditOf, logIn, of, show } from './operator.ts';

const service = useService();

const operatorRoutes = (Object.entries(routes) as [keyof typeof routes, Route][]).filter(
  ([, route]) => route.path.startsWith('/api/admin/') || route.path === '/metrics',
);

test('every route of operators is 403 for an account, whatever it sends, and does nothing', async () => {
  const [user, victim] = [await sharedUser(service), await register(service)];
  assert.ok(operatorRoutes.length > 14);
  for (const [name, { method, path }] of operatorRoutes) {
    const filled = path.replace('{username}', victim.username).replace(/\{\w+\}/g, 'x');
    const sent = { read_only: true, quota_bytes: 1 };
    assertError(await user.call(method, filled, { json: sent }), 403);
    assertError(await user.call(method, filled), 403);
    assertDetail(await service.call({ method, path: filled }), 401);
    assert.ok(name);
  }
  assert.equal((await show(service, victim)).limits.quota_bytes, null);
  assert.deepEqual(await actions(service, victim), [
    ['account', 'registered', (await show(service, victim)).account_id],
  ]);
});

test('uploads under way: listed by account, cancelled by an operator, not once they are files', async () => {
  const user = await register(service);
  const file = makeFile([10, 10]);
  const ids = [await begin(user, file), await begin(user, makeFile([5]))];
  const list = async (query = '') => {
    const answer = await admin(service).get(`${pathOf('listTransfers')}?account=${user.username}${query}`);
    assertOk(answer);
    return {
      ...answer.json,
      transfers: answer.json['transfers'] as { file_id: string; chunk_count: number }[],
    };
  };
  const { transfers } = await list();
  assert.deepEqual(transfers.map(({ chunk_count }) => chunk_count).sort(), [1, 2]);
  const answer = JSON.stringify(transfers);
  for (const id of ids) assert.ok(!answer.includes(id), 'the id that lets others use it is not shown');
  const first = await list('&limit=1');
  const next = (first as Record<string, unknown>)['next_cursor'];
  const second = await list(`&limit=1&cursor=${next}`);
  assert.deepEqual([...first.transfers, ...second.transfers], transfers);
  assert.ok(!('next_cursor' in second));

  const { file_id } = transfers.find(({ chunk_count }) => chunk_count === 2)!;
  assertOk(await admin(service).delete(pathOf('cancelTransfer', { file_id })), { ok: true });
  assertError(await putVolume(user, ids[0]!, 1, file.volumes[0]!), 404);
  assertError(await admin(service).delete(pathOf('cancelTransfer', { file_id })), 404);
  assert.equal((await list()).transfers.length, 1);
  assert.deepEqual((await actions(service, user))[0], ['system token', 'upload cancelled', file_id]);
  const done = await upload(user);
  assertError(await admin(service).delete(pathOf('cancelTransfer', { file_id: done.fileId })), 409);
  await assertReadable(user, done.fileId, done.file);
});

test('status', async () => {
  const answer = await admin(service).get(pathOf('status'));
  assertOk(answer);
  const { read_only_since, contested_since, registration, quota_enforced } = answer.json;
  assert.deepEqual(
    [read_only_since, contested_since, registration, quota_enforced],
    [null, null, 'open', false],
  );
});

test('registration by invitation: each is used once, by one of many, and may carry a quota', async () => {
  await withService({ env: { SZ_REGISTRATION: 'invite', SZ_WORKERS: '2' } }, async (own) => {
    const root = admin(own);
    const signUp = (invite: unknown, username = freshName()) =>
      own.call({
        method: 'POST',
        path: pathOf('register'),
        json: { username, password: 'secret-word', ...(invite === undefined ? {} : { invite }) },
      });
    const invite = async (json: object = {}) => {
      const answer = await root.post(pathOf('invite'), json);
      assertOk(answer);
      own.witness.keepSecret(answer.json['invite']);
      return answer.json as { invite: string; id: string; expires_at: string };
    };
    assert.equal((await own.call({ path: pathOf('service') })).json['registration'], 'invite');
    assertError(await signUp(undefined), 403);
    assertError(await signUp('nosuchinvitation'), 403);
    assertError(await signUp('x'.repeat(65)), 400);
    assertError(await signUp(5), 400);
    for (const bad of [
      { expires_in: 0 },
      { expires_in: 10 ** 12 },
      { quota_bytes: -1 },
      { note: 'x'.repeat(201) },
      { days: 1 },
    ])
      assertError(await root.post(pathOf('invite'), bad), 400);

    // Many at once: one account, and the others are told.
    const { invite: wanted, id } = await invite({ note: 'for ada', quota_bytes: 777 });
    const answers = await Promise.all(Array.from({ length: 6 }, () => signUp(wanted)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 403, 403, 403, 403, 403]);
    assertError(await signUp(wanted), 403);
    const winner = answers.find(({ status }) => status === 200)!.json as { username: string; token: string };
    const quota = await own.call({ path: pathOf('quota'), token: winner.token });
    assert.equal(quota.json['quota_bytes'], 777);
    const listed = await root.get(pathOf('listAccounts'));
    assert.equal((listed.json['accounts'] as unknown[]).length, 1);
    const used = (await auditOf(own, winner.username)).find(({ action }) => action === 'invitation used');
    assert.equal(used?.detail, id);

    // A name that is taken leaves the invitation as it was.
    const { invite: second } = await invite();
    assertError(await signUp(second, winner.username), 409);
    assertOk(await signUp(second));

    // It ends, by its time or by an operator.
    const short = await invite({ expires_in: 1 });
    const { invite: third, id: gone } = await invite();
    const ids = async () =>
      ((await root.get(pathOf('listInvitations'))).json['invitations'] as { id: string }[]).map(
        (one) => one.id,
      );
    assert.ok((await ids()).includes(gone));
    assertOk(await root.delete(pathOf('endInvitation', { id: gone })), { ok: true });
    assertError(await signUp(third), 403);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(short.expires_at) - Date.now() + 50));
    assertError(await signUp(short.invite), 403);
    assert.deepEqual(await ids(), []);
  });
});

describe('read-only', () => {
  test('writes are 503 with Retry-After on every way, reads and logins go on, across a restart', async () => {
    await withService({}, async (own) => {
      const user = await register(own);
      const done = await upload(user);
      const dirId = await makeDir(user);
      const file = makeFile([100, 100]);
      const transferId = await begin(user, file);
      assertOk(await putVolume(user, transferId, 1, file.volumes[0]!));
      const set = (read_only: boolean) => admin(own).put(pathOf('setReadOnly'), { read_only });
      for (const bad of [{}, { read_only: 1 }, { read_only: 'on' }])
        assertError(await admin(own).put(pathOf('setReadOnly'), bad), 400);

      // A body that began before it ends after it, and is not taken.
      const { promise: rest, resolve: sendRest } = Promise.withResolvers<void>();
      const slow = (async function* () {
        yield file.volumes[1]!.subarray(0, 50);
        await rest;
        yield file.volumes[1]!.subarray(50);
      })();
      const late = putVolume(user, transferId, 2, slow);
      const lateDir = user.call('POST', pathOf('createDir'), {
        body: (async function* () {
          yield Buffer.from('{"name": ');
          await rest;
          yield Buffer.from('"late"}');
        })(),
        headers: { 'transfer-encoding': 'chunked' },
      });
      assertOk(await command(own, ['read-only', 'on', '--json']).then((result) => ({ ...answered(result) })));
      sendRest();
      const refused = (answer: Answer) => {
        assertError(answer, 503);
        assert.equal(answer.headers['retry-after'], '60');
      };
      refused(await late);
      refused(await lateDir);

      const everything = async () => {
        refused(await user.post(pathOf('init'), makeFile().init));
        refused(await putVolume(user, transferId, 2, file.volumes[1]!));
        refused(await putFile(user, newTransferId(), makeFile([10])));
        refused(await complete(user, transferId));
        refused(await user.delete(pathOf('cancel', { transfer_id: transferId })));
        refused(await user.post(pathOf('createDir'), { name: 'new' }));
        refused(await user.delete(pathOf('deleteDir', { dir_id: dirId })));
        refused(await user.delete(pathOf('deleteFile', { file_id: done.fileId })));
        refused(await user.put(pathOf('moveFile', { file_id: done.fileId }), { dir_id: dirId }));
        refused(await user.post(pathOf('cloneFile', { file_id: done.fileId }), {}));
        refused(await admin(own).delete(pathOf('deleteAccount', of(user))));
        const json = { username: freshName(), password: 'secret-word' };
        refused(await own.call({ method: 'POST', path: pathOf('register'), json }));
        await assertReadable(user, done.fileId, done.file);
        assert.deepEqual(await received(user, transferId), [1]);
        assert.equal((await listFiles(user)).length, 1);
        assertOk(await logIn(own, user));
        assert.ok((await admin(own).get(pathOf('status'))).json['read_only_since']);
      };
      await everything();
      await own.restart();
      await everything();
      assertOk(await set(false), { ok: true, read_only: false });
      await eventuallyOk(() => putVolume(user, transferId, 2, file.volumes[1]!));
      assertOk(await complete(user, transferId));
      assertOk(await user.delete(pathOf('deleteFile', { file_id: done.fileId })));
      const told = (await auditOf(own, '')).map(({ actor, action }) => [actor, action]);
      assert.deepEqual(told, [
        ['system token', 'read-only off'],
        ['operator', 'read-only on'],
      ]);
    });
  });
});

/** A result of a command as an answer, for the same assertions. */
function answered({ code, errors }: { code: number | null; errors: string }): Answer {
  assert.equal(code, 0, errors);
  return { status: 200 } as Answer;
}

async function eventuallyOk(attempt: () => Promise<Answer>): Promise<void> {
  for (const end = Date.now() + 60_000; ; ) {
    const answer = await attempt();
    if (answer.status === 200) return;
    assert.ok(Date.now() < end, answer.text);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
