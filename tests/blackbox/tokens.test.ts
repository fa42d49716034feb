/** How far a token reaches, and how it is made and ends. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { encodeInit, headers, limits, pathOf, type Route, routes } from '@szafa/protocol';
import {
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  complete,
  completeStreamed,
  headOf,
  inPieces,
  listFiles,
  makeDir,
  makeFile,
  newTransferId,
  type User as Person,
  putAll,
  putFile,
  putStreamed,
  putVolume,
  readVolume,
  received,
  register,
  SocketClient,
  upload,
} from '../harness/index.ts';
import {
  assertOutOfScope,
  isPlaced,
  kinds,
  MAY,
  makeToken,
  names,
  OPEN,
  putThumbnail,
  service,
  World,
} from './tokens.ts';

describe('tokens with a scope', () => {
  let world: World;
  before(async () => {
    world = await World.make();
  });

  test('a token for one directory sees that one, its files, and the quota of the account', async () => {
    const own = await World.make();
    const [inside, elsewhere] = [await own.file(own.inside), await own.file(own.outside)];
    await own.file(0);
    for (const kind of ['f', 'r', 'a'] as const) {
      const user = own.users[kind];
      const dirs = (await user.get(pathOf('listDirs'))).json['dirs'] as { dir_id: number }[];
      assert.deepEqual(
        dirs.map(({ dir_id }) => dir_id),
        [own.inside],
      );
      for (const query of ['', '?limit=10', `?limit=10&dir_id=${own.inside}`]) {
        const files = await listFiles(user, query);
        assert.deepEqual(
          files.map(({ file_id }) => file_id),
          [inside],
          query,
        );
      }
      assertOutOfScope(await user.get(`${pathOf('listFiles')}?dir_id=0`), 'the root');
      assertOutOfScope(await user.get(`${pathOf('listFiles')}?limit=5&dir_id=${own.outside}`), 'another');
      assert.equal((await user.get(pathOf('quota'))).json['used_bytes'], 300);
    }
    // Neither in nor out.
    const { f } = own.users;
    const move = (file_id: string, dir_id: number | null) =>
      f.put(pathOf('moveFile', { file_id }), { dir_id });
    const clone = (file_id: string, dir_id: number | null) =>
      f.post(pathOf('cloneFile', { file_id }), { dir_id });
    for (const act of [move, clone]) {
      assertOutOfScope(await act(inside, own.outside), 'out');
      assertOutOfScope(await act(inside, null), 'to the root');
      assertOutOfScope(await act(elsewhere, own.inside), 'in');
    }
    assertOutOfScope(await f.call('PUT', pathOf('moveFile', { file_id: inside })), 'no body');
    // What is not there, or another account's, is answered as ever.
    assertError(await f.delete(pathOf('deleteFile', { file_id: 'nosuch' })), 404);
    const { fileId } = await upload(await register(service));
    assertDetail(await f.delete(pathOf('deleteFile', { file_id: fileId })), 403);
  });

  test('a directory that is deleted takes the reach of its tokens with it', async () => {
    const own = await World.make();
    const fileId = await own.file(own.inside);
    const transferId = await begin(own.users.a, makeFile([10], { dir_id: own.inside }));
    assertOk(await own.owner.delete(pathOf('deleteDir', { dir_id: own.inside })));
    for (const kind of ['f', 'r', 'a'] as const) {
      const user = own.users[kind];
      assertOk(await user.get(pathOf('me')));
      assertOk(await user.get(pathOf('listDirs')), { dirs: [] });
      assert.deepEqual(await listFiles(user), []);
      const head = await user.call('HEAD', pathOf('readHeader', { file_id: fileId, idx: 1 }));
      assertOutOfScope(head, 'its file is in the root now');
    }
    const { a } = own.users;
    assertOutOfScope(await complete(a, transferId), 'so is its upload');
    assertError(await a.post(pathOf('init'), makeFile([10], { dir_id: own.inside }).init), 403);
    // A new one of the same name is another one.
    const again = await makeDir(own.owner);
    assert.notEqual(again, own.inside);
  });

  test('PUT is checked alike on every way in: lane, server, socket', async () => {
    const socket = await SocketClient.open(service);
    const { owner, inside, outside, users } = world;
    const bySocket = async (user: Person, path: string, bytes: Buffer, more: string[] = []) => {
      const { status, body } = await socket.put(headOf(path, bytes.length, user.token, more), bytes);
      return { status, text: JSON.stringify(body) };
    };
    const volume = (transfer_id: string) => pathOf('writeVolume', { transfer_id, idx: 1 });
    for (const kind of kinds) {
      for (const place of [inside, outside]) {
        const may = MAY.writeVolume.includes(kind) && (!isPlaced(kind) || place === inside);
        const file = makeFile([2000], { dir_id: place });
        const [bytes] = file.volumes as [Buffer];
        const transferId = await begin(owner, file);
        const init = encodeInit(file.init)!;
        const fileAt = () => pathOf('writeFile', { transfer_id: newTransferId() });
        const user = users[kind];
        const answers = [
          await putVolume(user, transferId, 1, bytes),
          await putVolume(user, transferId, 1, inPieces(bytes)),
          await bySocket(user, volume(transferId), bytes),
          await user.call('PUT', fileAt(), { body: bytes, headers: { [headers.init]: init } }),
          await user.call('PUT', fileAt(), { body: inPieces(bytes), headers: { [headers.init]: init } }),
          await bySocket(user, fileAt(), bytes, [`${headers.init}: ${init}`]),
        ];
        for (const [way, { status, text }] of answers.entries()) {
          assert.equal(status, may ? 200 : 403, `${kind} ${place} way ${way}: ${text}`);
          if (!may) assert.match(text, /^\{"error":"this token /);
        }
        const numbers = await received(owner, transferId);
        assert.deepEqual(numbers, may ? [1] : [], 'nothing of a refused volume is kept');
      }
    }
    socket.close();
  });

  test('append uploads in every manner, lists, and cancels what it has begun, but nothing else', async () => {
    const own = await World.make();
    const stranger = await world.file(world.inside);
    for (const kind of ['A', 'a'] as const) {
      const user = own.users[kind];
      const placed = { dir_id: own.inside };
      const file = makeFile([3000, 10], placed);
      const transferId = await begin(user, file);
      await putAll(user, transferId, file);
      const done = await complete(user, transferId);
      assertOk(done);
      await assertReadable(own.owner, String(done.json['file_id']), file);
      // Again, as after an answer that was lost.
      assertOk(await complete(user, transferId), done.json);
      const streamed = makeFile([3000, 10], placed);
      const streamedId = await beginStreamed(user, streamed, 'unsized');
      for (const [index, bytes] of streamed.volumes.entries())
        assertOk(await putStreamed(user, streamedId, index + 1, bytes));
      assertOk(await completeStreamed(user, streamedId, streamed));
      const head = { file_id: String(done.json['file_id']), idx: 1 };
      const header = await user.call('HEAD', pathOf('readHeader', head));
      assert.equal(header.status, 200);
      assert.ok(header.headers['x-enc-params']);
      assertOutOfScope(await readVolume(user, head.file_id, 1), 'bytes');
      assertOutOfScope(await readVolume(user, head.file_id, 1, { range: 'bytes=0-0' }), 'one byte');
      const other = await begin(own.owner, makeFile([10], placed));
      const another = await begin(await own.another(kind), makeFile([10], placed));
      for (const transfer_id of [other, another]) {
        // It could resume it, as with the token that follows on another one.
        assert.deepEqual(await received(user, transfer_id), []);
        assertOutOfScope(await user.delete(pathOf('cancel', { transfer_id })), 'cancel', /scope full/);
        assert.deepEqual(await received(own.owner, transfer_id), []);
      }
      const mine = await begin(user, makeFile([10], placed));
      assertOk(await user.delete(pathOf('cancel', { transfer_id: mine })));
      // A thumbnail is for ever: it gets its own files theirs, and spoils no other one's.
      assertOk(await putThumbnail(user, head.file_id));
      for (const by of [own.owner, await own.another(kind)]) {
        const fileId = await own.file(own.inside, by);
        assertOutOfScope(await putThumbnail(user, fileId), 'a thumbnail', /scope full/);
        assertOk(await putThumbnail(own.owner, fileId, Buffer.from('the right one')));
      }
      assertError(await putThumbnail(user, 'nosuch'), 404);
      assertDetail(await putThumbnail(user, stranger), 403);
    }
  });

  test('whoever knows the id may use a transfer, but a token that may do less only one of its account', async () => {
    const stranger = await register(service);
    const file = makeFile([100]);
    const transferId = await begin(stranger, file);
    const { F, A, a, f } = world.users;
    for (const user of [A, a, f]) {
      assertOutOfScope(await putVolume(user, transferId, 1, file.volumes[0]!), 'PUT', /own account/);
      const path = pathOf('received', { transfer_id: transferId });
      assertOutOfScope(await user.get(path), 'chunks', /own account/);
      assertOutOfScope(await complete(user, transferId), 'complete', /own account/);
    }
    assertOk(await putVolume(F, transferId, 1, file.volumes[0]!));
    const done = await complete(F, transferId);
    assertOk(done);
    await assertReadable(world.owner, String(done.json['file_id']), file);
  });

  test('a token ends at its time, and with the word of its owner', async () => {
    const { owner } = world;
    const soon = new Date(Date.now() + 4000).toISOString();
    const { user: short } = await makeToken(owner, 'full', { expires_at: soon });
    const { user: read, id } = await makeToken(owner, 'read', { expires_at: '2199-01-01T00:00Z' });
    assertOk(await short.get(pathOf('me')), { username: owner.username });
    // It could live on in one that it made.
    assertError(await short.post(pathOf('createToken'), { device: 'x', scope: 'read' }), 403);
    const sessions = (await owner.get(pathOf('listSessions'))).json['sessions'] as Record<string, unknown>[];
    const listed = sessions.find((session) => session['id'] === id);
    assert.deepEqual(
      [
        listed?.['device'],
        listed?.['scope'],
        listed?.['dir_id'],
        listed?.['expires_at'],
        listed?.['current'],
      ],
      ['read token', 'read', null, '2199-01-01T00:00:00.000Z', false],
    );
    assert.ok(
      sessions.some((session) => session['dir_id'] === world.inside && session['scope'] === 'append'),
    );
    assertOk(await owner.delete(pathOf('endSession', { session_id: id })));
    assertDetail(await read.get(pathOf('me')), 401);
    await new Promise((resolve) => setTimeout(resolve, Date.parse(soon) - Date.now() + 5));
    for (const name of names.filter((one) => MAY[one] !== OPEN && routes[one].method !== 'HEAD')) {
      const { method, path } = routes[name] as Route;
      assertDetail(await short.call(method, path.replace(/\{\w+\}/g, 'nosuch')), 401);
    }
    assertDetail(await putFile(short, newTransferId(), makeFile([10])), 401);
  });

  test('what no token can be made of', async () => {
    const { owner, outside } = world;
    const make = (json: unknown, by = owner) => by.post(pathOf('createToken'), json);
    const good = { device: 'x', scope: 'read' };
    for (const bad of [
      undefined,
      [],
      {},
      { device: 'x' },
      { scope: 'read' },
      { ...good, scope: 'write' },
      { ...good, scope: 'admin' },
      { ...good, scope: ['read'] },
      { ...good, device: '' },
      { ...good, device: ' \u0000 ' },
      { ...good, device: 'x'.repeat(limits.deviceChars + 1) },
      { ...good, device: 7 },
      { ...good, dir_id: 0 },
      { ...good, dir_id: 1.5 },
      { ...good, dir_id: '1' },
      { ...good, expires_at: 'tomorrow' },
      { ...good, expires_at: 1_900_000_000 },
      { ...good, expires_at: '2030-02-30T00:00:00+01:00' },
      { ...good, expires_at: '2020-01-01T00:00:00Z' },
      { ...good, expires_at: '2030-99-01T00:00:00Z' },
    ]) {
      assertError(await make(bad), 400);
    }
    const foreign = await makeDir(await register(service));
    for (const dir_id of [foreign, -1, 2 ** 53, 1e300]) assertError(await make({ ...good, dir_id }), 403);
    assertError(await make(good, admin(service)), 403);
    assertOk(await make({ ...good, device: 'é'.repeat(limits.deviceChars), dir_id: outside }));
  });
});
