import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  contentDigest,
  encodeInit,
  headers,
  limits,
  pathOf,
  type Route,
  type RouteName,
  routes,
  type Scope,
} from '@szafa/protocol';
import {
  type Answer,
  admin,
  assertDetail,
  assertError,
  assertOk,
  assertReadable,
  begin,
  beginStreamed,
  complete,
  completeStreamed,
  freshName,
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
  sha256,
  User,
  upload,
  useService,
} from '../harness/index.ts';

const service = useService();

/** Tokens by their letters: full, read and append, for the whole account and (small) for one directory. */
const KINDS = { F: 'full', R: 'read', A: 'append', f: 'full', r: 'read', a: 'append' } as const;
type Kind = keyof typeof KINDS;
const kinds = Object.keys(KINDS) as Kind[];
const isPlaced = (kind: Kind) => kind === kind.toLowerCase();

const OPEN = 'open';
const SYSTEM = '';
/**
 * Which of them may use which route. Written down here once more, and by hand: a line that changes in the table of
 * routes has to change here too.
 */
const MAY: Record<RouteName, string> = {
  register: OPEN,
  login: OPEN,
  me: 'FRAfra',
  logout: 'FRAfra',
  createToken: 'F',
  readKeys: 'FRAfra',
  writeKeys: 'F',
  changePassword: 'F',
  recover: OPEN,
  finishRecovery: OPEN,
  leave: 'F',
  factors: 'F',
  setTotp: 'F',
  removeTotp: 'F',
  passkeyChallenge: OPEN,
  passkeyLogin: OPEN,
  newPasskey: 'F',
  addPasskey: 'F',
  removePasskey: 'F',
  listSessions: 'F',
  endSession: 'F',
  endSessions: 'F',
  quota: 'FRAfra',
  createDir: 'FA',
  listDirs: 'FRAfra',
  renameDir: 'F',
  deleteDir: 'F',
  listFiles: 'FRAfra',
  deleteFile: 'Ff',
  moveFile: 'Ff',
  cloneFile: 'Ff',
  renameFiles: 'F',
  trashFiles: 'Ff',
  restoreFiles: 'Ff',
  listTrash: 'FRAfra',
  readTrashed: 'F',
  emptyTrash: 'F',
  changes: 'FRAfra',
  readVolume: 'FRfr',
  readHeader: 'FRAfra',
  writeThumbnail: 'FAfa',
  readThumbnail: 'FRfr',
  readThumbnails: 'FRfr',
  init: 'FAfa',
  received: 'FAfa',
  writeVolume: 'FAfa',
  writeFile: 'FAfa',
  pull: 'FAfa',
  pullStatus: 'FAfa',
  complete: 'FAfa',
  cancel: 'FAfa',
  createShare: 'F',
  listShares: 'F',
  writeOwn: 'F',
  endShare: 'F',
  readIdentity: 'F',
  listReceived: 'F',
  openReceived: 'F',
  takeReceived: 'F',
  endReceived: 'F',
  openShare: OPEN,
  takeTicket: OPEN,
  readSharedVolume: OPEN,
  createRequest: 'F',
  listRequests: 'F',
  endRequest: 'F',
  openRequest: OPEN,
  beginUpload: OPEN,
  service: OPEN,
  healthz: OPEN,
  readyz: OPEN,
  metrics: SYSTEM,
  openapi: OPEN,
  docs: OPEN,
  listAccounts: SYSTEM,
  showAccount: SYSTEM,
  limitAccount: SYSTEM,
  disableAccount: SYSTEM,
  enableAccount: SYSTEM,
  logoutAccount: SYSTEM,
  deleteAccount: SYSTEM,
  endAccountFactor: SYSTEM,
  invite: SYSTEM,
  listInvitations: SYSTEM,
  endInvitation: SYSTEM,
  listTransfers: SYSTEM,
  cancelTransfer: SYSTEM,
  listAllShares: SYSTEM,
  endAnyShare: SYSTEM,
  listAllRequests: SYSTEM,
  endAnyRequest: SYSTEM,
  status: SYSTEM,
  setReadOnly: SYSTEM,
  audit: SYSTEM,
};
const names = Object.keys(routes) as RouteName[];

async function makeToken(
  by: Person,
  scope: Scope,
  more: { dir_id?: number | null; expires_at?: string | null } = {},
): Promise<{ id: string; user: Person }> {
  const answer = await by.post(pathOf('createToken'), { device: `${scope} token`, scope, ...more });
  assertOk(answer);
  const { id, token } = answer.json;
  return { id: String(id), user: new User(service, by.username, by.password, String(token)) };
}

/** Not whatever 403: the token may not, and programs can tell. */
function assertOutOfScope(answer: Answer, what: string, text = /^this (token|needs)/): void {
  assert.equal(answer.status, 403, `${what}: ${answer.excerpt}`);
  assert.match(String(answer.headers['www-authenticate']), /^Bearer error="insufficient_scope"$/, what);
  if (answer.body.length > 0) assert.match(String(answer.json['error']), text, what);
}

/** An account with a token of every kind, and what they are tried on. */
class World {
  readonly owner: Person;
  readonly inside: number;
  readonly outside: number;
  readonly users: Record<Kind, Person>;

  private constructor(owner: Person, inside: number, outside: number, users: Record<Kind, Person>) {
    this.owner = owner;
    this.inside = inside;
    this.outside = outside;
    this.users = users;
  }

  static async make(): Promise<World> {
    const [username, password, keys] = [freshName(), 'secret-word', 'AQID'];
    const json = { username, password, keys };
    const answer = await service.call({ method: 'POST', path: pathOf('register'), json });
    assertOk(answer);
    const owner = new User(service, username, password, String(answer.json['token']));
    const [inside, outside] = [await makeDir(owner), await makeDir(owner)];
    const users: Partial<Record<Kind, Person>> = {};
    for (const kind of kinds) {
      users[kind] = (await makeToken(owner, KINDS[kind], isPlaced(kind) ? { dir_id: inside } : {})).user;
    }
    return new World(owner, inside, outside, users as Record<Kind, Person>);
  }

  /** One more of the kind, which may be ended. */
  async another(kind: Kind): Promise<Person> {
    return (await makeToken(this.owner, KINDS[kind], isPlaced(kind) ? { dir_id: this.inside } : {})).user;
  }

  /** A file in that directory. */
  async file(dirId: number, by = this.owner): Promise<string> {
    const answer = await putFile(by, newTransferId(), makeFile([100], { dir_id: dirId }));
    assertOk(answer);
    return String(answer.json['file_id']);
  }
}

/** A request by somebody who tries it in that directory, and what is answered if the token may. */
type Try = [tried: (world: World, kind: Kind, dirId: number) => Promise<Answer>, status: number];
const at = (name: RouteName, params: Record<string, string | number> = {}) => pathOf(name, params);
const onFile =
  (name: RouteName, json?: object): Try[0] =>
  async (world, kind, dirId) => {
    const params = { file_id: await world.file(dirId), idx: 1 };
    return world.users[kind].call(routes[name].method, at(name, params), {
      ...(json && { json: { dir_id: dirId, ...json } }),
    });
  };
const onFiles =
  (name: RouteName): Try[0] =>
  async (world, kind, dirId) => {
    // One that is elsewhere refuses all.
    const files = [await world.file(world.inside), await world.file(dirId)];
    return world.users[kind].post(at(name), { files });
  };
const onTransfer =
  (name: RouteName, json?: object): Try[0] =>
  async (world, kind, dirId) => {
    const transfer_id = await begin(world.owner, makeFile([10], { dir_id: dirId }));
    return world.users[kind].call(routes[name].method, at(name, { transfer_id }), { ...(json && { json }) });
  };
const plainly =
  (name: RouteName, json?: object): Try[0] =>
  (world, kind) => {
    const { method, path } = routes[name] as Route;
    return world.users[kind].call(method, path.replace(/\{\w+\}/g, 'nosuch'), { ...(json && { json }) });
  };

const putThumbnail = (user: User, file_id: string, body = Buffer.from('thumbnail')) =>
  user.call('PUT', at('writeThumbnail', { file_id }), {
    body,
    headers: { [headers.contentDigest]: contentDigest(sha256(body)) },
  });

const TRIES: Partial<Record<RouteName, Try>> = {
  me: [plainly('me'), 200],
  logout: [async (world, kind) => (await world.another(kind)).post(at('logout')), 200],
  createToken: [plainly('createToken', { device: 'x', scope: 'read' }), 200],
  readKeys: [plainly('readKeys'), 200],
  writeKeys: [plainly('writeKeys', { password: 'x', keys: 'AQID' }), 428],
  changePassword: [plainly('changePassword', { current: 'x', next: 'secret-word', keys: 'AQID' }), 403],
  leave: [plainly('leave', { password: 'not this one' }), 403],
  factors: [plainly('factors'), 200],
  setTotp: [plainly('setTotp', {}), 400],
  removeTotp: [plainly('removeTotp', {}), 400],
  newPasskey: [plainly('newPasskey'), 404],
  addPasskey: [plainly('addPasskey', {}), 400],
  removePasskey: [plainly('removePasskey', {}), 400],
  listSessions: [plainly('listSessions'), 200],
  endSession: [plainly('endSession'), 404],
  // It would end all the others.
  endSessions: [
    async (world, kind) => {
      const of = kind === 'F' ? (await makeToken(await register(service), 'full')).user : world.users[kind];
      return of.delete(at('endSessions'));
    },
    200,
  ],
  quota: [plainly('quota'), 200],
  createDir: [(world, kind) => world.users[kind].post(at('createDir'), { name: freshName() }), 200],
  listDirs: [plainly('listDirs'), 200],
  deleteDir: [
    async (world, kind) => {
      return world.users[kind].delete(at('deleteDir', { dir_id: await makeDir(world.owner) }));
    },
    200,
  ],
  renameDir: [plainly('renameDir', {}), 400],
  listFiles: [(world, kind, dirId) => world.users[kind].get(`${at('listFiles')}?dir_id=${dirId}`), 200],
  deleteFile: [onFile('deleteFile'), 200],
  moveFile: [onFile('moveFile', {}), 200],
  cloneFile: [onFile('cloneFile', {}), 200],
  renameFiles: [plainly('renameFiles', {}), 400],
  trashFiles: [onFiles('trashFiles'), 200],
  restoreFiles: [onFiles('restoreFiles'), 200],
  listTrash: [(world, kind, dirId) => world.users[kind].get(`${at('listTrash')}?dir_id=${dirId}`), 200],
  readTrashed: [plainly('readTrashed'), 404],
  emptyTrash: [plainly('emptyTrash', { files: ['nosuch'] }), 200],
  changes: [plainly('changes'), 200],
  readVolume: [onFile('readVolume'), 200],
  readHeader: [onFile('readHeader'), 200],
  writeThumbnail: [
    async (world, kind, dirId) => {
      // What append adds to it has uploaded itself.
      const isOwn = KINDS[kind] === 'append' && (!isPlaced(kind) || dirId === world.inside);
      return putThumbnail(
        world.users[kind],
        await world.file(dirId, isOwn ? world.users[kind] : world.owner),
      );
    },
    200,
  ],
  readThumbnail: [onFile('readThumbnail'), 404],
  readThumbnails: [onFiles('readThumbnails'), 200],
  init: [
    (world, kind, dirId) => world.users[kind].post(at('init'), makeFile([10], { dir_id: dirId }).init),
    200,
  ],
  received: [onTransfer('received'), 200],
  writeVolume: [
    async ({ owner, users }, kind, dirId) => {
      const file = makeFile([10], { dir_id: dirId });
      return putVolume(users[kind], await begin(owner, file), 1, file.volumes[0]!);
    },
    200,
  ],
  writeFile: [
    (world, kind, dirId) => putFile(world.users[kind], newTransferId(), makeFile([10], { dir_id: dirId })),
    200,
  ],
  createShare: [plainly('createShare', {}), 400],
  listShares: [plainly('listShares'), 200],
  writeOwn: [plainly('writeOwn', {}), 400],
  endShare: [plainly('endShare'), 404],
  createRequest: [plainly('createRequest', {}), 400],
  listRequests: [plainly('listRequests'), 200],
  endRequest: [plainly('endRequest'), 404],
  readIdentity: [plainly('readIdentity'), 404],
  listReceived: [plainly('listReceived'), 200],
  openReceived: [plainly('openReceived'), 404],
  takeReceived: [plainly('takeReceived', { ticket: 'x'.repeat(43) }), 404],
  endReceived: [plainly('endReceived'), 404],
  pull: [onTransfer('pull', { base_url: 'ftp://x', token: 'x' }), 400],
  pullStatus: [onTransfer('pullStatus'), 200],
  complete: [onTransfer('complete'), 409],
  cancel: [
    async ({ owner, users }, kind, dirId) => {
      // What it may cancel it has begun itself.
      const mayBegin = MAY.init.includes(kind) && (!isPlaced(kind) || dirId !== 0);
      const file = makeFile([10], { dir_id: dirId });
      const begun = mayBegin ? await users[kind].post(at('init'), file.init) : undefined;
      const own = begun?.status === 200 ? String(begun.json['transfer_id']) : await begin(owner, file);
      return users[kind].delete(at('cancel', { transfer_id: own }));
    },
    200,
  ],
};

describe('tokens with a scope', () => {
  let world: World;
  before(async () => {
    world = await World.make();
  });

  for (const name of names.filter((one) => MAY[one] !== OPEN)) {
    test(`${name}: every token may what it may, and is refused otherwise`, async () => {
      const [tried, status] = TRIES[name] ?? [plainly(name), 0];
      for (const kind of kinds) {
        const answer = await tried(world, kind, world.inside);
        const what = `${name} with ${KINDS[kind]}${isPlaced(kind) ? ' for one directory' : ''}`;
        if (MAY[name].includes(kind)) {
          assert.equal(answer.status, status, `${what}: ${answer.excerpt}`);
          assert.equal(answer.headers['www-authenticate'], undefined, what);
        } else assertOutOfScope(answer, what);
      }
      const { method, path } = routes[name] as Route;
      const bare = await service.call({ method, path: path.replace(/\{\w+\}/g, 'nosuch') });
      if (method === 'HEAD') assert.equal(bare.status, 401);
      else assertDetail(bare, 401);
    });
  }

  test('what is open is open to a token of any scope, too', async () => {
    for (const name of names.filter((one) => MAY[one] === OPEN)) {
      const { method, path } = routes[name] as Route;
      for (const kind of ['R', 'a'] as const) {
        const { status } = await world.users[kind].call(method, path);
        // This server does not know its own address, and so offers no passkeys; and there is no such share or request.
        const wanted =
          name === 'passkeyChallenge' || /^\/api\/(shares|requests)\//.test(path) ? [404, 400] : [200, 400];
        assert.ok(wanted.includes(status), `${name} ${status}`);
      }
    }
  });

  const PLACED = names.filter(
    (name) => /[fra]/.test(MAY[name]) && /file|trash|transfer|init/i.test(routes[name].path),
  );
  test('a token for one directory reaches nothing outside of it, by no route', async () => {
    assert.ok(PLACED.length >= 14, PLACED.join());
    for (const name of PLACED) {
      const [tried] = TRIES[name]!;
      for (const kind of kinds.filter((one) => isPlaced(one) && MAY[name].includes(one))) {
        for (const place of [world.outside, 0]) {
          assertOutOfScope(await tried(world, kind, place), `${name} in ${place}`, /directory/);
        }
      }
    }
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
    const soon = new Date(Date.now() + 1500).toISOString();
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
