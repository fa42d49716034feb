import assert from 'node:assert/strict';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Actor, Cut, seeded } from '../faults/actor.ts';
import { checkInvariants, eventually } from '../harness/index.ts';
import { Away, Cluster } from './cluster.ts';

const ACTORS = 4;
const seed = Date.now() % 1_000_000;
const random = seeded(seed);

let cluster: Cluster;
let actors: Actor[] = [];

before(async () => {
  cluster = await Cluster.create(3);
  actors = await Promise.all(Array.from({ length: ACTORS }, () => Actor.create(cluster, random)));
});
afterEach((context) => {
  const { passed, diagnostic } = context as TestContext;
  if (!passed) diagnostic.call(context, `seed ${seed}; logs:\n${cluster.tail()}`);
});
after(() => cluster?.stop());

/** Each kills one process; all but a node are back when it resolves. */
const faults = {
  node: () => cluster.killNode(random),
  async postgres() {
    await cluster.postgres.kill9();
    await sleep(random() * 200);
    await cluster.postgres.restart();
  },
  async gateway() {
    await cluster.ceph.killGateway();
    await sleep(random() * 200);
    await cluster.ceph.startGateway();
  },
  async osd() {
    await cluster.ceph.killOsd();
    await cluster.ceph.startOsd();
  },
};
type Fault = keyof typeof faults;
const ROUNDS: Fault[][] = [
  ['node'],
  ['postgres', 'gateway'],
  ['node', 'postgres'],
  ['gateway'],
  ['node', 'node'],
  ['postgres'],
  ['node', 'gateway'],
  ['node', 'postgres', 'gateway'],
  ['gateway', 'postgres'],
  ['node', 'node', 'postgres'],
];
const CYCLES = 5;

test('kill -9 of nodes, PostgreSQL, gateway and OSD: nothing acknowledged is lost, nothing stays half-done', async (t) => {
  let kills = 0;
  const counts: Record<Fault, number> = { node: 0, postgres: 0, gateway: 0, osd: 0 };
  // An OSD takes seconds to come back, so it is killed only now and then.
  const rounds = Array.from({ length: CYCLES }, () => [...ROUNDS, ['osd', 'node'] as Fault[]]).flat();
  for (const round of rounds) {
    const stop = new AbortController();
    const working = Promise.all(actors.map((actor) => actor.work(stop.signal)));
    await Promise.race([working, sleep(50 + random() * 150)]);
    for (const kind of round) {
      kills++;
      counts[kind]++;
    }
    await Promise.all(round.map((kind) => faults[kind]()));
    stop.abort();
    await working;
    await Promise.all(actors.map((actor) => again(() => actor.reconcile())));
  }
  await cluster.whole();
  for (const { user } of actors) await checkInvariants(cluster, user.token);
  assert.ok(kills >= 100, `only ${kills} kills`);
  t.diagnostic(`${kills} kills: ${JSON.stringify(counts)}; cut off: ${JSON.stringify(cutOff())}`);
});

test('what the dead left is taken away by the living', async () => {
  const client = new pg.Client({
    connectionString: cluster.postgres.url,
    options: `-c search_path=${cluster.id}`,
  });
  await client.connect();
  try {
    await eventually(async () => {
      const { rows } = await client.query('SELECT file_id, not_before, claim FROM garbage');
      assert.deepEqual(rows, [], 'groups that wait to be removed');
      const storing = await client.query("SELECT 1 FROM transfers WHERE status = 'storing'");
      assert.equal(storing.rowCount, 0, 'transfers in storing');
    }, 60_000);
    const s3 = cluster.ceph.client(cluster.id);
    const files = await client.query<{ file_id: string }>('SELECT file_id FROM files');
    const transfers = await client.query<{ file_id: string }>(
      "SELECT file_id FROM transfers WHERE status <> 'done'",
    );
    const known = new Set([...files.rows, ...transfers.rows].map(({ file_id }) => file_id));
    const strange: unknown[] = [];
    for await (const { key } of s3.list('volumes/', { delimiter: '/' })) {
      const id = key.slice('volumes/'.length, -1);
      if (known.has(id)) continue;
      // A gateway that was killed may leave a prefix in its index with nothing below it.
      strange.push(...(await Array.fromAsync(s3.list(key))));
    }
    assert.deepEqual(strange, [], 'volumes that nobody knows');
    s3.close();
  } finally {
    await client.end();
  }
});

function cutOff(): Record<string, number> {
  const sums: Record<string, number> = {};
  for (const actor of actors) {
    for (const [kind, count] of Object.entries(actor.counts)) sums[kind] = (sums[kind] ?? 0) + count;
  }
  return sums;
}

/** Checks are requests too and may meet what is only just coming back. */
async function again(check: () => Promise<void>): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return await check();
    } catch (error) {
      const why = error instanceof Cut ? error.cause : error;
      if (tries === 100 || !(why instanceof Away)) throw error;
      await sleep(50);
    }
  }
}
