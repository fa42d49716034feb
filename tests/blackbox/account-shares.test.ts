import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { headers, pathOf } from '@szafa/protocol';
import {
  admin,
  assertError,
  assertOk,
  freshName,
  makeFile,
  register,
  sha256,
  type User,
  upload,
  useService,
  WITHOUT_SHARES,
} from '../harness/index.ts';
import {
  bodyOf,
  give,
  identityOf,
  open,
  person,
  putAway,
  read,
  received,
  service,
  take,
} from './account-shares.ts';
import { end, listed, random } from './shares.ts';

const off = useService(WITHOUT_SHARES);

describe('shares with an account', () => {
  test('the account lists it, opens it, takes a ticket and reads; a third one sees nothing of it', async () => {
    const [bob, carol] = [await person(), await person()];
    const { owner, body, file } = await give(bob, { downloads: 2 });
    const [share, ...others] = await received(bob);
    assert.deepEqual(others, []);
    const { created_at, ...rest } = share!;
    assert.ok(Math.abs(Date.now() - Date.parse(created_at)) < 60_000);
    const whose = { id: body.id, from: owner.username, identity: owner.identity, letter: body.to!.letter };
    assert.deepEqual(rest, { ...whose, expires_at: null, downloads_left: 2, files: 1, missing: 0 });
    const opened = await open(bob, body.id);
    assertOk(opened, { header: body.header, expires_at: null, downloads_left: 2, missing: [] });
    assert.equal(opened.headers['cache-control'], 'no-store');
    const ticket = random(32);
    assertOk(await take(bob, body.id, ticket));
    assertOk(await take(bob, body.id, ticket));
    const volume = await read(body.id, ticket);
    assert.equal(volume.status, 200);
    assert.equal(volume.headers.etag, `"${sha256(file.volumes[0]!)}"`);
    assert.equal(volume.headers['x-enc-params'], undefined);
    assert.deepEqual(
      (await listed(owner)).map(({ to, downloaded }) => [to, downloaded]),
      [[bob.username, 1]],
    );
    // Neither carol, nor the owner, nor somebody without an account, whatever is sent as access.
    assert.deepEqual(await received(carol), []);
    const never = random(16);
    for (const who of [carol, owner]) {
      for (const id of [body.id, never]) {
        const answers = [await open(who, id), await open(who, id, ticket), await take(who, id, random(32))];
        for (const answer of [...answers, await putAway(who, id)]) {
          assertError(answer, 404);
          assert.equal(answer.json['error'], 'nothing like this is shared with you');
        }
      }
    }
    for (const access of ['', 'null', body.to!.letter, random(32)]) {
      const path = pathOf('openShare', { share_id: body.id });
      assertError(
        await service.call({ method: 'GET', path, headers: { [headers.shareAccess]: access } }),
        404,
      );
    }
    assertError(await read(body.id, random(32)), 404);
    assert.equal((await read(body.id, ticket)).status, 200);
  });

  test('it is over when the owner ends it, the other puts it away, it expires or is used up', async () => {
    const bob = await person();
    const [ended, away, used] = [await give(bob), await give(bob), await give(bob, { downloads: 1 })];
    const ticket = random(32);
    for (const { body } of [ended, away, used]) assertOk(await take(bob, body.id, ticket));
    assertOk(await end(ended.owner, ended.body.id));
    assertOk(await putAway(bob, away.body.id));
    assertError(await putAway(bob, away.body.id), 404);
    for (const { body } of [ended, away]) {
      assertError(await read(body.id, ticket), 404);
      const answer = await open(bob, body.id, ticket);
      assertError(answer, 410);
      assert.equal(answer.json['ended'], 'ended');
    }
    const seen = (await listed(away.owner)).map(({ to, ended: why }) => [to, why]);
    assert.deepEqual(seen, [[bob.username, 'ended']]);
    assert.equal((await open(bob, used.body.id)).json['ended'], 'used up');
    assertError(await take(bob, used.body.id, random(32)), 410);
    assertOk(await open(bob, used.body.id, ticket));
    assert.deepEqual(
      (await received(bob)).map(({ id, downloads_left }) => [id, downloads_left]),
      [[used.body.id, 0]],
    );
    const expires_at = new Date(Date.now() + 3000).toISOString();
    const soon = bodyOf([used.fileId], bob.username, { expires_at });
    assertOk(await used.owner.post(pathOf('createShare'), soon));
    assertOk(await take(bob, soon.id, ticket));
    assert.equal((await received(bob)).length, 2);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(expires_at) - Date.now() + 5));
    assertError(await read(soon.id, ticket), 404);
    assert.equal((await open(bob, soon.id)).json['ended'], 'expired');
    assert.equal((await received(bob)).length, 1);
  });

  test('it ends with its file, and is not served from the trash', async () => {
    const bob = await person();
    const { owner, body, fileId } = await give(bob);
    const ticket = random(32);
    assertOk(await take(bob, body.id, ticket));
    assertOk(await owner.post(pathOf('trashFiles'), { files: [fileId] }));
    assertError(await read(body.id, ticket), 404);
    assert.equal((await received(bob))[0]!.missing, 1);
    assertOk(await owner.post(pathOf('restoreFiles'), { files: [fileId] }));
    assert.equal((await read(body.id, ticket)).status, 200);
    assertOk(await owner.delete(pathOf('deleteFile', { file_id: fileId })));
    assertError(await read(body.id, ticket), 404);
    assert.equal((await open(bob, body.id)).json['ended'], 'ended');
  });

  test('who is disabled gets nothing and gives nothing, with a ticket either', async () => {
    const bob = await person();
    const { owner, body } = await give(bob);
    const operator = admin(service);
    const ticket = random(32);
    assertOk(await take(bob, body.id, ticket));
    for (const who of [bob, owner]) {
      assertOk(await operator.post(pathOf('disableAccount', { username: who.username })));
      assertError(await read(body.id, ticket), 404);
      if (who === owner) {
        assert.deepEqual(await received(bob), []);
        assertError(await open(bob, body.id), 404);
        assertError(await identityOf(bob, owner.username), 404);
      } else assertError(await owner.post(pathOf('createShare'), { ...body, id: random(16) }), 404);
      assertOk(await operator.post(pathOf('enableAccount', { username: who.username })));
    }
    assert.equal((await read(body.id, ticket)).status, 200);
  });

  test('with either account it is gone; who has the name next gets nothing', async () => {
    const bob = await person();
    const [given, other] = [await give(bob), await give(bob)];
    const ticket = random(32);
    for (const { body } of [given, other]) assertOk(await take(bob, body.id, ticket));
    const leave = (who: User) => who.call('DELETE', pathOf('leave'), { json: { password: who.password } });
    assertOk(await leave(other.owner));
    assertError(await read(other.body.id, ticket), 404);
    assert.deepEqual(
      (await received(bob)).map(({ id }) => id),
      [given.body.id],
    );
    assertOk(await leave(bob));
    assertError(await read(given.body.id, ticket), 404);
    assert.deepEqual(
      (await listed(given.owner)).map(({ to, ended }) => [to, ended]),
      [[bob.username, 'ended']],
    );
    const next = await register(service, bob.username);
    assert.deepEqual(await received(next), []);
    assertError(await open(next, given.body.id), 404);
    // The next one has no keys.
    assertError(await identityOf(given.owner, bob.username), 404);
    const again = bodyOf([given.fileId], bob.username);
    const refused = await given.owner.post(pathOf('createShare'), again);
    assertError(refused, 404);
    assert.deepEqual(refused.json['files'], []);
  });

  test('bad bodies are refused: for nobody, for oneself, for both or for neither', async () => {
    const bob = await person();
    const { owner, fileId, body } = await give(bob);
    const access = createHash('sha256').update('x').digest('hex');
    const good = bodyOf([fileId], bob.username);
    const { to: _, ...neither } = good;
    const bad: object[] = [
      { ...good, access },
      neither,
      { ...good, to: { username: owner.username, letter: 'x' } },
      { ...good, to: { username: bob.username } },
      { ...good, to: { username: bob.username, letter: '' } },
      { ...good, to: { username: bob.username, letter: 'no letter!' } },
      { ...good, to: { username: bob.username, letter: 'x'.repeat(8193) } },
      { ...good, to: { username: 7, letter: 'x' } },
      { ...good, to: bob.username },
      { ...good, to: { ...good.to!, identity: bob.identity } },
      { ...good, id: `${good.id.slice(0, -1)}B` },
    ];
    for (const json of bad) assertError(await owner.post(pathOf('createShare'), json), 400);
    for (const username of [freshName(), '', 'admin', `${bob.username} `, '\0', '\ud800'])
      assertError(await owner.post(pathOf('createShare'), { ...good, to: { username, letter: 'x' } }), 404);
    // The same again is no other one, and nobody else's.
    assertOk(await owner.post(pathOf('createShare'), body));
    const other = { ...body, to: { ...body.to!, letter: random(160) } };
    assertError(await owner.post(pathOf('createShare'), other), 409);
    // Who has no keys cannot sign.
    const plain = await register(service);
    const { fileId: own } = await upload(plain, makeFile([10]));
    assertError(await plain.post(pathOf('createShare'), bodyOf([own], bob.username)), 409);
    assert.equal((await received(bob)).length, 1);
    for (const ticket of [undefined, '', 'x', 1])
      assertError(await bob.post(pathOf('takeReceived', { share_id: body.id }), { ticket }), 400);
    for (const id of ['\0', 'x'.repeat(2000), body.id.slice(1)]) {
      for (const answer of [await open(bob, id), await take(bob, id, random(32)), await putAway(bob, id)])
        assertError(answer, 404);
    }
    assertError(await admin(service).get(pathOf('listReceived')), 403);
  });

  test('the operator sees for whom it is, and ends it; both stand in the audit log', async () => {
    const bob = await person();
    const { owner, body } = await give(bob);
    const operator = admin(service);
    const answer = await operator.get(`${pathOf('listAllShares')}?account=${owner.username}`);
    const [row] = answer.json['shares'] as { id: string; to: string }[];
    assert.deepEqual([row!.id, row!.to], [body.id, bob.username]);
    assertOk(await operator.delete(pathOf('endAnyShare', { id: body.id })));
    assert.deepEqual(await received(bob), []);
    const audit = await operator.get(`${pathOf('audit')}?account=${owner.username}`);
    const entries = audit.json['entries'] as { action: string; detail: string }[];
    assert.ok(
      entries.some(
        ({ action, detail }) => action === 'share made' && detail === `${body.id} for ${bob.username}`,
      ),
    );
    // Nothing is noted of bob, who has done nothing: others could fill his log.
    const his = await operator.get(`${pathOf('audit')}?account=${bob.username}`);
    assert.deepEqual(
      (his.json['entries'] as { action: string }[]).map(({ action }) => action),
      ['registered'],
    );
  });
});

test('where sharing is off nothing is shared with accounts either', async () => {
  const [ann, bob] = [await person(off), await person(off)];
  const { fileId } = await upload(ann, makeFile([10]));
  const body = bodyOf([fileId], bob.username);
  assertError(await ann.post(pathOf('createShare'), body), 403);
  assert.deepEqual(await received(bob), []);
  assertError(await open(bob, body.id), 404);
});
