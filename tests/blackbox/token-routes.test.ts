/** Every route with a token of every scope. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { pathOf, type Route, type RouteName, routes } from '@szafa/protocol';
import {
  type Answer,
  assertDetail,
  batched,
  begin,
  freshName,
  makeDir,
  makeFile,
  newTransferId,
  putFile,
  putFiles,
  putVolume,
  register,
} from '../harness/index.ts';
import {
  assertOutOfScope,
  isPlaced,
  KINDS,
  type Kind,
  kinds,
  MAY,
  makeToken,
  names,
  OPEN,
  putThumbnail,
  service,
  World,
} from './tokens.ts';

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
  readDigests: [onFile('readDigests'), 200],
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
  writeFiles: [
    (world, kind, dirId) => {
      // One that is for elsewhere refuses all.
      const files = [world.inside, dirId].map((dir_id) => batched(makeFile([10], { dir_id })));
      return putFiles(world.users[kind], files);
    },
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
});
