import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import {
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  makeFile,
  PullServer,
  putVolume,
  register,
  send,
  User,
  upload,
} from '../harness/index.ts';
import { Cluster } from './cluster.ts';

let cluster: Cluster;
before(async () => {
  cluster = await Cluster.create(3);
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `logs:\n${cluster.tail()}`);
});
after(() => cluster?.stop());

/** The same person at one node only. */
const at = (node: number, { username, password, token }: User) =>
  new User(cluster.nodes[node]!, username, password, token);

test('any request may go to any node', async () => {
  const user = await register(cluster);
  const [a, b, c] = [at(0, user), at(1, user), at(2, user)];
  const file = makeFile([1_500_000, 10, 0]);
  const transferId = await begin(a, file);
  for (const [position, bytes] of file.volumes.entries()) {
    assert.equal((await putVolume([b, c, a][position]!, transferId, position + 1, bytes)).status, 200);
  }
  const done = await complete(c, transferId);
  assert.equal(done.status, 200, done.text);
  const fileId = String(done.json['file_id']);
  for (const one of [a, b, c]) await assertReadable(one, fileId, file);
  assert.equal((await complete(a, transferId)).json['file_id'], fileId);
  const clone = await b.post(pathOf('cloneFile', { file_id: fileId }), {});
  assert.equal(clone.status, 200, clone.text);
  assert.equal((await b.delete(pathOf('deleteFile', { file_id: fileId }))).status, 200);
  await assertReadable(c, String(clone.json['file_id']), file);
  assert.equal((await listFiles(a)).length, 1);
});

test('a pull runs on one node and is seen on all', async () => {
  const user = await register(cluster);
  const file = makeFile([200_000, 300_000]);
  const transferId = await begin(at(0, user), file);
  await using server = await new PullServer(file).listen();
  const source = { base_url: server.url, token: 'one-time' };
  const pulled = await at(1, user).post(pathOf('pull', { transfer_id: transferId }), source);
  assert.deepEqual(pulled.json, { ok: true, pulled: 2, total: 2 }, pulled.text);
  const status = await at(2, user).get(pathOf('pullStatus', { transfer_id: transferId }));
  assert.deepEqual(status.json, { pulled: 2, total: 2 });
  assert.equal((await complete(at(0, user), transferId)).status, 200);
});

test('a pull whose node dies is done on another, once the lease of the dead one is over', async () => {
  const user = await register(cluster);
  const file = makeFile([200_000, 300_000]);
  const transferId = await begin(user, file);
  let silent = true;
  const arrived = Promise.withResolvers<void>();
  // The first node never gets a byte.
  const answer = () => {
    arrived.resolve();
    return silent;
  };
  await using server = await new PullServer(file, { answer }).listen();
  const source = { base_url: server.url, token: 'one-time' };
  const path = pathOf('pull', { transfer_id: transferId });
  const cut = assert.rejects(at(0, user).post(path, source));
  await arrived.promise;
  await cluster.nodes[0]!.kill9();
  await cut;
  silent = false;
  assert.equal((await at(1, user).post(path, source)).status, 409, 'it may still be running');
  await eventually(async () => assert.equal((await at(1, user).post(path, source)).status, 200), 30_000);
  assert.equal((await complete(at(2, user), transferId)).status, 200);
  await cluster.startNode(cluster.nodes[0]!);
});

test('the right to sweep goes on when its holder ends', async () => {
  const user = await register(cluster);
  const cancelled = async () => {
    const transferId = await begin(user, makeFile([1000]));
    await putVolume(user, transferId, 1, randomBytes(1000));
    assert.equal((await user.delete(pathOf('cancel', { transfer_id: transferId }))).status, 200);
  };
  const s3 = cluster.ceph.client(cluster.id);
  const groups = () => Array.fromAsync(s3.list('groups/')).then((found) => found.length);
  const settled = await groups();
  for (const node of cluster.nodes) {
    // Whichever of them sweeps, it is gone in one of these rounds.
    await cancelled();
    await cluster.terminateNode(node);
    await eventually(async () => assert.equal(await groups(), settled), 15_000);
    await cluster.startNode(node);
  }
  s3.close();
});

test('a rolling restart fails no request; bytes sent twice are few', async (t) => {
  const user = await register(cluster);
  cluster.repeats = true;
  let stop = false;
  let requests = 0;
  const work = Array.from({ length: 4 }, async () => {
    while (!stop) {
      const { fileId, file } = await upload(user, makeFile([300_000, 5]));
      await assertReadable(user, fileId, file);
      requests += 6;
    }
  });
  for (const node of cluster.nodes) {
    await sleep(300);
    await cluster.terminateNode(node);
    await cluster.startNode(node);
  }
  stop = true;
  await Promise.all(work);
  await checkInvariants(cluster, user.token);
  const { requests: again, bytes } = cluster.repeated;
  t.diagnostic(`${requests} requests, ${again} sent again, ${bytes} bytes twice`);
  assert.ok(requests > 0);
});

test('a node whose stores are away says so and comes back by itself', async () => {
  const [node] = cluster.nodes;
  const ready = async () => (await send(node!.url, { path: pathOf('readyz') })).status;
  assert.equal(await ready(), 200);
  await cluster.ceph.killGateway();
  assert.equal(await ready(), 503);
  assert.equal((await send(node!.url, { path: pathOf('healthz') })).status, 200);
  await cluster.ceph.startGateway();
  await cluster.postgres.kill9();
  assert.equal(await ready(), 503);
  await cluster.postgres.restart();
  await eventually(async () => assert.equal(await ready(), 200));
});
