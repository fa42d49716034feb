import assert from 'node:assert/strict';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import pg from 'pg';
import { Ceph } from '../engines/ceph.ts';
import { Postgres } from '../engines/postgres.ts';
import { Actor, seeded } from '../faults/actor.ts';
import {
  type Answer,
  assertReadable,
  begin,
  type Call,
  checkInvariants,
  complete,
  eventually,
  makeFile,
  putVolume,
  readVolume,
  register,
  Service,
  send,
  User,
  upload,
} from '../harness/index.ts';
import { Away } from './cluster.ts';
import { type Cable, Network } from './network.ts';

/** What a client may have to wait for a 503 when nothing at all comes back. */
const LIMIT_MS = 50_000;
const seed = Date.now() % 1_000_000;
const random = seeded(seed);

/** A node whose stores may be out of reach: then its answer is a 503, and comes in time. */
class Node extends Service {
  override async call(call: Call): Promise<Answer> {
    const answer = await send(this.url, { timeoutMs: LIMIT_MS, ...call });
    this.witness.note(call, answer);
    if (answer.status === 503) throw new Away(answer.text);
    assert.ok(answer.status < 500, `${call.method} ${call.path}: ${answer.excerpt}`);
    return answer;
  }
}

let network: Network;
let toDatabase: Cable;
let toGateway: Cable;
let toClients: Cable;
let postgres: Postgres;
let ceph: Ceph;
let database: pg.Client;
/** The first is joined to its stores by the two cables; the second, and the tests, are where the stores are. */
let far: Node;
let near: Node;

before(async () => {
  network = await Network.create();
  [toDatabase, toGateway, toClients] = [network.cable(), network.cable(), network.cable()];
  [postgres, ceph] = await Promise.all([Postgres.start({}, toDatabase.near), Ceph.start(toGateway.near)]);
  database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
  const env = {
    SZ_DATABASE: `${postgres.url}?schema=cut`,
    SZ_VOLUMES: ceph.url('cut'),
    SZ_WORKERS: '1',
    SZ_SWEEP_INTERVAL: '1',
    ...ceph.environment,
  };
  far = new Node({ env: { ...env, SZ_HOST: toClients.far }, within: network.command });
  near = new Node({ env });
  await far.start();
  await near.start();
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (passed) return;
  diagnostic.call(context, `seed ${seed}; far:\n${far?.tail()}\nnear:\n${near?.tail()}`);
});
after(async () => {
  await Promise.all([far?.discard(), near?.discard(), database?.end()]);
  await Promise.all([postgres?.stop(), ceph?.stop()]);
  await network?.remove();
});

/** The same person at the other node. */
const at = (node: Node, { username, password, token }: User) => new User(node, username, password, token);

/** Whose sessions the database has, by the address they came from. */
async function sessions(having = ''): Promise<string[]> {
  const { rows } = await database.query<{ from: string }>(
    `SELECT DISTINCT host(client_addr) AS from FROM pg_stat_activity
     WHERE application_name = 'szafa' ${having} ORDER BY 1`,
  );
  return rows.map(({ from }) => from);
}
const sweeps = () => sessions("AND pid IN (SELECT pid FROM pg_locks WHERE locktype = 'advisory')");

/** What a person at the far node meets when this cable is cut: no answer but a 503, until it is mended. */
async function meetsCut(cable: Cable, meanwhile: (user: User) => Promise<void>): Promise<void> {
  const user = await register(far);
  const { fileId, file } = await upload(user, makeFile([2_000_000, 40]));
  const pending = makeFile([3_000_000, 50]);
  const transferId = await begin(user, pending);

  cable.cut();
  await Promise.all([
    assert.rejects(putVolume(user, transferId, 1, pending.volumes[0]!), Away),
    assert.rejects(readVolume(user, fileId, 1), Away),
    assert.rejects(user.get(pathOf('received', { transfer_id: transferId })), Away),
    assert.rejects(far.call({ path: pathOf('readyz') }), Away),
    far.call({ path: pathOf('healthz') }),
    meanwhile(user),
    // The other node goes on.
    assertReadable(at(near, user), fileId, file),
  ]);
  cable.mend();

  await ready();
  for (const [position, bytes] of pending.volumes.entries()) {
    assert.equal((await putVolume(user, transferId, position + 1, bytes)).status, 200);
  }
  const done = await complete(user, transferId);
  assert.equal(done.status, 200, done.text);
  await assertReadable(user, fileId, file);
  await assertReadable(user, String(done.json['file_id']), pending);
  assert.equal((await readVolume(user, fileId, 1, { range: 'bytes=5-9' })).status, 206);
  await checkInvariants(far, user.token);
}

/** By itself, soon after its cables are whole. */
const ready = () =>
  eventually(async () => assert.equal((await far.call({ path: pathOf('readyz') })).status, 200));

test('a cut cable to the gateway alone: 503 in bounded time, and what needs no volume goes on', () =>
  meetsCut(toGateway, async (user) => {
    assert.equal((await user.get(pathOf('quota'))).status, 200);
  }));

test('a node that is cut off at work: the other one takes over, and it comes back by itself', async (t) => {
  const actors = await Promise.all(
    Array.from({ length: 3 }, () => Actor.create(far, random, toClients.near)),
  );
  const other = await Actor.create(near, random);
  const othersGoOn = async () => {
    await other.work(AbortSignal.timeout(1000));
    assert.deepEqual(other.counts, {}, 'requests to the other node that failed');
  };
  assert.deepEqual(await sweeps(), [toDatabase.far], 'who was here first sweeps');
  const wanted = ['pull', 'complete', undefined] as const;
  const working = actors.map((actor, one) => actor.work(AbortSignal.timeout(LIMIT_MS), wanted[one]));
  await sleep(500 + random() * 1000);

  for (const cable of [toDatabase, toGateway]) cable.cut();
  await Promise.all([
    // Each works until its request gets a 503; one that gets no answer in time fails the test.
    ...working,
    assert.rejects(far.call({ path: pathOf('readyz') }), Away),
    far.call({ path: pathOf('healthz') }),
    othersGoOn(),
  ]);
  for (const { counts } of actors) assert.notDeepEqual(counts, {}, 'every one of them was cut off');
  // The database gives up on it too: what it held is free, and nothing it had sent can have an effect any more.
  await eventually(async () => assert.deepEqual(await sessions(), [toDatabase.near]), LIMIT_MS);
  await eventually(async () => assert.deepEqual(await sweeps(), [toDatabase.near]));
  await othersGoOn();
  await eventually(async () => {
    const { rows } = await database.query('SELECT file_id FROM cut.garbage WHERE not_before < $1', [
      Date.now(),
    ]);
    assert.deepEqual(rows, [], 'groups that wait to be removed');
  }, 20_000);

  for (const cable of [toDatabase, toGateway]) cable.mend();
  await ready();
  for (const actor of [...actors, other]) {
    await actor.reconcile();
    for (const node of [far, near]) await checkInvariants(node, actor.user.token);
  }
  await eventually(async () => {
    const { rows } = await database.query("SELECT file_id FROM cut.transfers WHERE status = 'storing'");
    assert.deepEqual(rows, [], 'transfers in storing');
  });
  assert.equal((await sweeps()).length, 1, 'one of them sweeps');
  t.diagnostic(`cut off: ${JSON.stringify(actors.map(({ counts }) => counts))}`);
});

test('a cut cable to the database alone: 503 in bounded time', () =>
  meetsCut(toDatabase, async (user) => {
    await assert.rejects(user.get(pathOf('quota')), Away);
  }));
