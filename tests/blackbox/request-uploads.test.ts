/** Uploads of whoever was given the link of a request. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { contentDigest, limits, pathOf, type RouteName, routes } from '@szafa/protocol';
import {
  assertDetail,
  assertError,
  assertOk,
  completeBody,
  completeStreamed,
  eventually,
  headOf,
  listFiles,
  makeFile,
  putStreamed,
  RawConnection,
  received,
  register,
  SocketClient,
  sha256,
  User,
  upload,
  withService,
} from '../harness/index.ts';
import { ask, file, listed, service, strict } from './requests.ts';
import { random } from './shares.ts';

describe('requests', () => {
  test('of many at once, no more begin than there is room for, in number and in bytes', async () => {
    const { owner, visitor } = await ask({ max_files: 3 });
    const answers = await Promise.all(Array.from({ length: 12 }, () => visitor.begin(file([100]))));
    assert.equal(answers.filter(({ status }) => status === 200).length, 3);
    for (const answer of answers.filter(({ status }) => status !== 200)) {
      assertError(answer, 409);
      assert.deepEqual([answer.json['files_left'], answer.json['bytes_left']], [0, 99_700]);
    }
    assert.equal((await listed(owner))[0]!.uploading, 3);
    const small = await ask({ max_bytes: 1000, max_files: 100 });
    const many = await Promise.all(Array.from({ length: 12 }, () => small.visitor.begin(file([300]))));
    assert.equal(many.filter(({ status }) => status === 200).length, 3);
    assertError(await small.visitor.begin(file([101])), 409);
    assertOk(await small.visitor.begin(file([100])));
  });

  test('the same token is the same upload, counted once; one that is cancelled counts no more', async () => {
    const { owner, visitor } = await ask({ max_files: 1 });
    const [made, token] = [file(), random(32)];
    const answers = await Promise.all(Array.from({ length: 6 }, () => visitor.begin(made, token)));
    for (const answer of answers) assertOk(answer);
    const [transferId, ...others] = new Set(answers.map(({ json }) => String(json['transfer_id'])));
    assert.deepEqual(others, []);
    const user = new User(service, '', '', token);
    assertOk(await putStreamed(user, transferId!, 1, made.volumes[0]!));
    assert.deepEqual(await received(user, transferId!), [1]);
    assertError(await visitor.begin(made), 409);
    // At another request it is no token.
    const other = await ask();
    assertError(await other.visitor.begin(made, token), 400);
    assert.equal((await listed(other.owner))[0]!.uploading, 0);
    assertOk(await user.delete(pathOf('cancel', { transfer_id: transferId! })));
    assertDetail(await putStreamed(user, transferId!, 2, made.volumes[1]!), 401);
    await visitor.send(made);
    assert.equal((await listed(owner))[0]!.ended, 'used up');
  });

  test('too many cannot be on their way at a time', async () => {
    const { visitor } = await ask({ max_files: 1000 });
    for (let at = 0; at < limits.uploadsOfAddress; at++) assertOk(await visitor.begin(file([1])));
    const refused = await visitor.begin(file([1]));
    assertError(refused, 429);
    assert.ok(Number(refused.headers['retry-after']) > 0);
    // Others may have the same address as this proxy: they share what the link has.
    const proxied = () => visitor.begin(file([1]), random(32), {}, { via: '1.1 x' });
    for (let at = limits.uploadsOfAddress; at < limits.uploadsOfRequest; at++) assertOk(await proxied());
    assertError(await proxied(), 429);
  });

  test('the token of an upload reaches its own transfer, by what it was begun with, and nothing else of the account', async () => {
    const { owner, visitor } = await ask();
    const made = file();
    const [mine, other] = [await visitor.upload(made), await visitor.upload(made)];
    const ownTransfer = await upload(owner, makeFile([10]));
    for (const transferId of [other.transferId, ownTransfer.transferId, random(16)]) {
      assertDetail(await putStreamed(mine.user, transferId, 1, made.volumes[0]!), 401);
      assertDetail(await completeStreamed(mine.user, transferId, made), 401);
      assertDetail(await mine.user.get(pathOf('received', { transfer_id: transferId })), 401);
      assertDetail(await mine.user.delete(pathOf('cancel', { transfer_id: transferId })), 401);
    }
    // Every other route that needs a token.
    const params = {
      transfer_id: mine.transferId,
      file_id: ownTransfer.fileId,
      dir_id: 1,
      idx: 1,
      number: 1,
    };
    const reached = new Set<RouteName>(['received', 'writeVolume', 'complete', 'cancel']);
    for (const name of Object.keys(routes) as RouteName[]) {
      const { access, method } = routes[name];
      if (access === 'open' || reached.has(name)) continue;
      const ids = {
        session_id: 'x',
        passkey_id: 'x',
        share_id: 'x',
        request_id: visitor.id,
        id: 'x',
        username: 'x',
      };
      const answer = await mine.user.call(method, pathOf(name, { ...params, ...ids } as never));
      assert.equal(answer.status, 401, `${name}: ${answer.excerpt}`);
    }
    // Nobody else makes a file of their own of it, neither another account nor the owner.
    const [thief, values] = [await register(service), { file_name: 'mine', file_size: 1e6 }];
    for (const user of [thief, owner])
      assertError(await completeStreamed(user, mine.transferId, made, values), 403);
    assert.deepEqual(await listFiles(thief), []);
    // Neither other sizes than it said, nor more volumes, nor another size for the record.
    const [first] = made.volumes;
    assertError(
      await putStreamed(mine.user, mine.transferId, 1, Buffer.concat([first!, Buffer.from('x')])),
      409,
    );
    assertError(await putStreamed(mine.user, mine.transferId, 3, first!), 409);
    for (const [at, bytes] of made.volumes.entries())
      assertOk(await putStreamed(mine.user, mine.transferId, at + 1, bytes));
    for (const file_size of [0, 1499, 1501, 2 ** 50])
      assertError(await completeStreamed(mine.user, mine.transferId, made, { file_size }), 400);
    assertError(await completeStreamed(mine.user, mine.transferId, made, { chunk_count: 1 }), 409);
    // Whatever it is called there.
    const named = { file_name: 'README.txt' };
    const done = await completeStreamed(mine.user, mine.transferId, made, named);
    assertOk(done);
    assertOk(await completeStreamed(mine.user, mine.transferId, made, { file_name: 'other' }), done.json);
    const names = (await listFiles(owner)).map(({ file_name }) => file_name);
    assert.deepEqual(
      names.toSorted(),
      [`delivery-${visitor.id}`, ownTransfer.file.init.file_name].toSorted(),
    );
    assertError(await mine.user.delete(pathOf('cancel', { transfer_id: mine.transferId })), 409);
  });

  test('of one volume a visitor sends few bodies at a time: each takes room that the request does not count', async () => {
    await withService({}, async (own) => {
      const { owner, visitor } = await ask({}, own);
      const made = file([4096]);
      const { user, transferId } = await visitor.upload(made);
      const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
      await using connections = new AsyncDisposableStack();
      const statuses: (number | undefined)[] = [];
      for (let at = 0; at < 6; at++) {
        const connection = await RawConnection.open(own.url);
        connections.defer(() => connection.destroy());
        const said = [`Content-Digest: ${contentDigest(sha256(Buffer.from([at])))}`, 'Expect: 100-continue'];
        connection.write(`${headOf(path, 4096, user.token, said)}\r\n\r\n`);
        statuses.push((await connection.until((answer) => answer.statuses.length > 0)).statuses[0]);
      }
      assert.deepEqual(statuses, [100, 100, 100, 100, 429, 429]);
      await connections.disposeAsync();
      await eventually(async () => assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!)));
      assertOk(await completeStreamed(user, transferId, made));
      assert.equal((await listFiles(owner)).length, 1);
    });
  });

  test('volumes also come by the volume socket', async () => {
    const { owner, visitor } = await ask();
    const made = file([2000]);
    const { user, transferId } = await visitor.upload(made);
    const socket = await SocketClient.open(service);
    try {
      const path = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
      const said = [`Content-Digest: ${contentDigest(sha256(made.volumes[0]!))}`];
      const head = headOf(path, 2000, user.token, said);
      assert.equal((await socket.put(head, made.volumes[0]!)).status, 200);
    } finally {
      socket.close();
    }
    assertOk(await completeStreamed(user, transferId, made));
    assert.equal((await listFiles(owner)).length, 1);
  });

  test('the quota of the owner counts', async () => {
    const { owner, visitor } = await ask({}, strict);
    await visitor.send(file([600]));
    assertError(await visitor.begin(file([500])), 507);
    assert.equal((await listed(owner))[0]!.uploading, 0);
    assertOk(await visitor.begin(file([400])));
    assertError(await owner.post(pathOf('init'), makeFile([1]).init), 507);
  });

  test('a request survives another password; what a visitor sends goes on', async () => {
    const { owner, visitor } = await ask();
    const made = file();
    const { user, transferId } = await visitor.upload(made);
    assertOk(await putStreamed(user, transferId, 1, made.volumes[0]!));
    const next = 'another-password';
    assertOk(await owner.post(pathOf('changePassword'), { current: owner.password, next }));
    assertOk(await putStreamed(user, transferId, 2, made.volumes[1]!));
    assertOk(await user.post(pathOf('complete', { transfer_id: transferId }), completeBody(made)));
    assert.equal((await listFiles(owner)).length, 1);
  });
});
