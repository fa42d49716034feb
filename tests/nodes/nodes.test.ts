/** One file, although a long one: its tests share PostgreSQL, Ceph and the nodes in front of them. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf, volumeSocket } from '@szafa/protocol';
import {
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  listFiles,
  makeFile,
  type PullRequest,
  PullServer,
  putAll,
  putVolume,
  readVolume,
  register,
  Service,
  send,
  type User,
  upload,
  usually,
} from '../harness/index.ts';
import { Cluster } from './cluster.ts';
import { Nginx } from './nginx.ts';

/** Of a client between two files: the nodes need the processor for their starts. */
const PAUSE_MS = usually(30, 0);

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
const at = (node: number, user: User) => cluster.at(cluster.nodes[node]!, user);

/** One series of what a node counts. */
const counted = async (node: Service, series: string) => (await cluster.metrics(node)).get(series) ?? 0;

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

test('a pull runs on one node and is seen on all, while it runs', async () => {
  const user = await register(cluster);
  const file = makeFile([200_000, 300_000]);
  const transferId = await begin(at(0, user), file);
  const go = Promise.withResolvers<false>();
  const answer = ({ idx }: PullRequest) => (idx === 2 ? go.promise : false);
  await using server = await new PullServer(file, { answer }).listen();
  const source = { base_url: server.url, token: 'one-time' };
  const pulling = at(1, user).post(pathOf('pull', { transfer_id: transferId }), source);
  for (const node of [0, 1, 2]) {
    await eventually(async () => {
      const status = await at(node, user).get(pathOf('pullStatus', { transfer_id: transferId }));
      assert.deepEqual(status.json, { pulled: 1, total: 2 });
    });
    assert.equal(await counted(cluster.nodes[node]!, 'szafa_pulls_running'), 1);
  }
  go.resolve(false);
  const pulled = await pulling;
  assert.deepEqual(pulled.json, { ok: true, pulled: 2, total: 2 }, pulled.text);
  const status = await at(2, user).get(pathOf('pullStatus', { transfer_id: transferId }));
  assert.deepEqual(status.json, { pulled: 2, total: 2 });
  assert.equal(await counted(cluster.nodes[0]!, 'szafa_pulls_running'), 0);
  assert.equal((await complete(at(0, user), transferId)).status, 200);
});

test('a node that dies in a pull, a complete, a clone and a delete leaves nothing that another does not finish', async () => {
  const user = await register(cluster);
  const [storing, pulled] = [makeFile([150_000, 10]), makeFile([200_000, 300_000])];
  const storingId = await begin(user, storing);
  await putAll(user, storingId, storing);
  const pulledId = await begin(user, pulled);
  const [source, unwanted] = [await upload(user), await upload(user)];
  const [dying, living] = [cluster.nodes[0]!, cluster.nodes[1]!];
  const state = async () => [
    await counted(living, 'szafa_transfers{state="storing"}'),
    await counted(living, 'szafa_garbage_groups'),
    await counted(living, 'szafa_pulls_running'),
  ];
  await eventually(async () => assert.deepEqual(await state(), [0, 0, 0]));
  const s3 = cluster.ceph.client(cluster.id);
  const groups = async () => {
    const keys = await Array.fromAsync(s3.list('volumes/'), ({ key }) => key.split('/')[1]!);
    return new Set(keys);
  };
  const before = await groups();

  let silent = true;
  await using server = await new PullServer(pulled, { answer: () => silent }).listen();
  const origin = { base_url: server.url, token: 'one-time' };
  const pull = (one: User) => one.post(pathOf('pull', { transfer_id: pulledId }), origin);
  const person = cluster.at(dying, user);
  // Each comes as far as the store, which does not answer, and has then begun what another must finish.
  cluster.ceph.pauseGateway();
  const requests = [
    pull(person),
    complete(person, storingId),
    person.post(pathOf('cloneFile', { file_id: source.fileId }), { dir_id: null }),
  ];
  // In the first minute of a node nothing is removed, and this one has its answer without the store.
  const removal = person.delete(pathOf('deleteFile', { file_id: unwanted.fileId })).catch(() => undefined);
  const cut = Promise.all([removal, ...requests.map((request) => assert.rejects(request))]);
  try {
    await eventually(async () => assert.deepEqual(await state(), [1, 2, 1]));
    await eventually(async () => assert.notEqual(server.requests.length, 0));
    await cluster.kill(dying);
  } finally {
    cluster.ceph.resumeGateway();
  }
  await cut;
  silent = false;

  const one = cluster.at(living, user);
  assert.equal((await pull(one)).status, 409, 'it may still be running');
  // Nobody asks for it again.
  await eventually(async () => {
    const files = (await listFiles(one)).map((file) => file.sha256).sort();
    assert.deepEqual(files, [storing.init.total_sha256, source.file.init.total_sha256].sort());
  });
  await eventually(async () => assert.equal((await pull(one)).status, 200));
  const done = await complete(at(2, user), pulledId);
  assert.equal(done.status, 200, done.text);
  await eventually(async () => assert.deepEqual(await state(), [0, 0, 0]), 60_000);
  before.delete(unwanted.fileId);
  before.add(String(done.json['file_id']));
  assert.deepEqual([...(await groups())].sort(), [...before].sort(), 'volumes of these files, and no others');
  s3.close();
  await checkInvariants(cluster, user.token);
  await cluster.startNode(dying);
});

test('one node sweeps; when it dies, or ends, another one does', async () => {
  const user = await register(cluster);
  const cancelled = async () => {
    const transferId = await begin(user, makeFile([1000]));
    await putVolume(user, transferId, 1, randomBytes(1000));
    assert.equal((await user.delete(pathOf('cancel', { transfer_id: transferId }))).status, 200);
  };
  const s3 = cluster.ceph.client(cluster.id);
  const groups = () => Array.fromAsync(s3.list('groups/')).then((found) => found.length);
  const settled = await groups();
  const sweeper = async (among: Service[]) => {
    let [found]: Service[] = [];
    await eventually(async () => {
      const swept = await Promise.all(
        among.map((node) => counted(node, 'szafa_sweep_success_timestamp_seconds')),
      );
      assert.equal(swept.filter((at) => at > 0).length, 1, `they swept at ${swept.join(', ')}`);
      found = among[swept.findIndex((at) => at > 0)];
    });
    return found!;
  };
  for (const end of ['kill', 'terminateNode'] as const) {
    const first = await sweeper(cluster.nodes);
    await cluster[end](first);
    await cancelled();
    await eventually(async () => assert.equal(await groups(), settled));
    const next = await sweeper(cluster.nodes.filter((node) => node !== first));
    await cluster.startNode(first);
    assert.equal(await sweeper(cluster.nodes), next);
  }
  s3.close();
});

test('a rolling restart fails no request; bytes sent twice are few', async (t) => {
  const user = await register(cluster);
  cluster.repeats = true;
  let stop = false;
  let requests = 0;
  const [clients, volume] = [usually(2, 4), 300_000];
  const work = Array.from({ length: clients }, async () => {
    while (!stop) {
      const { fileId, file } = await upload(user, makeFile([volume, 5]));
      await assertReadable(user, fileId, file);
      requests += 6;
      await sleep(PAUSE_MS);
    }
  });
  for (const node of usually(cluster.nodes.slice(1), cluster.nodes)) {
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
  assert.ok(
    bytes <= cluster.nodes.length * clients * volume,
    'more than each volume that was under way, once',
  );
});

test('a node whose stores are away says so, counts it, and comes back by itself', async () => {
  const [node] = cluster.nodes;
  const user = cluster.at(node!, await register(cluster));
  const { fileId } = await upload(user);
  const errors = async () => [
    await counted(node!, 'szafa_store_errors_total{store="volumes"}'),
    await counted(node!, 'szafa_store_errors_total{store="database"}'),
  ];
  const before = await errors();
  const ready = async () => (await send(node!.url, { path: pathOf('readyz') })).status;
  // What it says may be a second old.
  const says = (status: number) => eventually(async () => assert.equal(await ready(), status));
  await says(200);
  await cluster.ceph.killGateway();
  await says(503);
  assert.equal((await send(node!.url, { path: pathOf('healthz') })).status, 200);
  assert.equal((await readVolume(user, fileId, 1)).status, 503);
  await cluster.ceph.startGateway();
  const after = await errors();
  assert.ok(after[0]! > before[0]!, 'errors of the volumes');
  assert.equal(after[1], before[1]);
  await cluster.postgres.kill9();
  await says(503);
  assert.equal((await user.get(pathOf('quota'))).status, 503);
  await cluster.postgres.restart();
  await says(200);
  assert.ok((await errors())[1]! > after[1]!, 'errors of the database');
});

test('a node shows how much of its connections to the database is in use', async () => {
  const [node] = cluster.nodes;
  const user = cluster.at(node!, await register(cluster));
  const waiting = () => counted(node!, 'szafa_database_waiting');
  const busy = () => counted(node!, 'szafa_database_connections{state="busy"}');
  const database = await cluster.connect();
  await database.query('BEGIN');
  await database.query('LOCK TABLE transfers IN EXCLUSIVE MODE');
  const begun = Promise.all(Array.from({ length: 20 }, () => begin(user, makeFile())));
  try {
    await eventually(async () => assert.ok((await waiting()) > 0 && (await busy()) > 5));
  } finally {
    await database.end();
  }
  await begun;
  await eventually(async () => assert.equal(await waiting(), 0));
  assert.ok((await counted(node!, 'szafa_database_connections{state="idle"}')) > 0);
});

test('nginx as it is in deploy/ passes all of it on, and goes around a dead node', async () => {
  const [, one, other] = cluster.nodes;
  const balancer = await Nginx.create([one!, other!]);
  try {
    const user = await register(balancer);
    // More than nginx takes by default, and more than it would buffer.
    const { fileId, file } = await upload(user, makeFile([3_000_000, 10]));
    // Those who come from outside get none of it, not even with the token.
    const metrics = await send(balancer.url, { path: pathOf('metrics'), token: cluster.systemToken });
    assert.equal(metrics.status, 404);
    const address = balancer.url.replace('http', 'ws') + volumeSocket.path;
    const socket = new WebSocket(address, volumeSocket.protocol);
    await once(socket, 'open', { signal: AbortSignal.timeout(20_000) });
    socket.close();
    await cluster.kill(one!);
    for (let times = 0; times < 4; times++) await assertReadable(user, fileId, file);
    await checkInvariants(balancer, user.token);
    await cluster.startNode(one!);
  } finally {
    await balancer.stop();
  }
});

test('a rolling restart behind nginx fails no request, however soon one node follows the other', async (t) => {
  const nodes = cluster.nodes.slice(1);
  const balancer = await Nginx.create(nodes);
  try {
    const user = await register(balancer);
    let stop = false;
    let requests = 0;
    const work = Array.from({ length: usually(3, 6) }, async () => {
      while (!stop) {
        const { fileId, file } = await upload(user, makeFile([300_000, 5]));
        await assertReadable(user, fileId, file);
        requests += 6;
        await sleep(PAUSE_MS);
      }
    });
    const failed = Promise.all(work).catch((error: unknown) => {
      stop = true;
      throw error;
    });
    failed.catch(() => undefined /* told below */);
    for (const node of usually(nodes, [...nodes, ...nodes])) {
      await cluster.terminateNode(node);
      await cluster.startNode(node);
    }
    stop = true;
    await failed;
    const { access } = await balancer.logs();
    const lines = access
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    const again = lines.filter(({ node }) => node.includes(',')).length;
    t.diagnostic(`${requests} requests, ${again} went on to another node`);
    assert.deepEqual(
      lines.filter(({ status }) => status >= 500),
      [],
    );
    assert.ok(requests > 0);
  } finally {
    await balancer.stop();
  }
});

test('no node starts on a database that may forget what it has acknowledged', async () => {
  for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
    const reset = await set(setting, 'off');
    const node = new Service({ env: cluster.environment });
    assert.equal(await node.startAndFail(), 2, node.log);
    assert.match(node.log, new RegExp(`^szafa: SZ_DATABASE: ${setting} is off;`, 'm'));
    await node.discard();
    await reset();
  }
});

/** Until it is reset, for all who connect from now on. */
async function set(setting: string, value: string): Promise<() => Promise<void>> {
  const apply = async (change: string, expected: string) => {
    const database = await cluster.connect();
    await database.query(`ALTER SYSTEM ${change}`);
    await database.query('SELECT pg_reload_conf()');
    await database.end();
    await eventually(async () => {
      const later = await cluster.connect();
      const { rows } = await later.query(`SHOW ${setting}`);
      await later.end();
      assert.equal(rows[0][setting], expected);
    });
  };
  await apply(`SET ${setting} = ${value}`, value);
  return () => apply(`RESET ${setting}`, 'on');
}
