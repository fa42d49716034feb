import assert from 'node:assert/strict';
import { after, afterEach, before, type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readConfig } from '../../server/src/config.ts';
import { openServices } from '../../server/src/services.ts';
import { Custody } from '../../server/src/upkeep/custody.ts';
import { Sweeper } from '../../server/src/upkeep/sweeper.ts';
import { Actor, Cut, cutOff, rarest, seeded } from '../faults/actor.ts';
import { eventually } from '../harness/index.ts';
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
    await sleep(random() * 200);
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

test('kill -9 of nodes, PostgreSQL, gateway and OSD during requests of each kind: after each, the invariants hold', async (t) => {
  let kills = 0;
  const counts: Record<Fault, number> = { node: 0, postgres: 0, gateway: 0, osd: 0 };
  // An OSD takes seconds to come back, so it is killed only now and then.
  const rounds = Array.from({ length: CYCLES }, () => [...ROUNDS, ['osd'] as Fault[]]).flat();
  const survive = async (round: Fault[]) => {
    const stop = new AbortController();
    const working = Promise.all(actors.map((actor) => actor.work(stop.signal, rarest(actors, random))));
    await Promise.race([working, sleep(50 + random() * 150)]);
    for (const kind of round) {
      kills++;
      counts[kind]++;
    }
    await Promise.all(round.map((kind) => faults[kind]()));
    stop.abort();
    await working;
    await Promise.all(actors.map((actor) => again(() => actor.reconcile())));
  };
  for (const round of rounds) await survive(round);
  // A short request is rarely the one that a kill meets.
  const isLucky = () => Object.values(cutOff(actors)).some((count) => count === 0);
  for (let more = 0; more < 60 && isLucky(); more++) await survive(ROUNDS[more % ROUNDS.length]!);
  await cluster.whole();
  await Promise.all(actors.map((actor) => actor.reconcile()));
  const requests = cutOff(actors);
  t.diagnostic(`${kills} kills: ${JSON.stringify(counts)}; cut off: ${JSON.stringify(requests)}`);
  assert.ok(kills >= 100, `only ${kills} kills`);
  for (const [kind, count] of Object.entries(requests)) assert.ok(count > 0, `${kind} was never cut off`);
});

test('what the dead left is taken away by the living', async () => {
  const client = await cluster.connect();
  const s3 = cluster.ceph.client(cluster.id);
  try {
    await eventually(async () => {
      const { rows } = await client.query('SELECT file_id, not_before, clone_key FROM garbage');
      assert.deepEqual(rows, [], 'groups that wait to be removed');
      const storing = await client.query("SELECT 1 FROM transfers WHERE status = 'storing'");
      assert.equal(storing.rowCount, 0, 'transfers in storing');
    }, 60_000);
    await sweepLater();
    const { rows } = await client.query<{ file_id: string }>(
      "SELECT file_id FROM files UNION SELECT file_id FROM transfers WHERE status <> 'done'",
    );
    const known = new Set(rows.map(({ file_id }) => file_id));
    // Cut off between its manifest and its record: it looks like a file, and a person decides.
    const orphans = await client.query<{ file_id: string }>('SELECT file_id FROM orphans');
    for (const { file_id } of orphans.rows) {
      if ((await s3.size(`files/${file_id}.json`)) !== undefined) known.add(file_id);
    }
    const strange: string[] = [];
    for (const prefix of ['groups/', 'files/', 'volumes/']) {
      for await (const { key } of s3.list(prefix)) {
        if (!known.has(key.slice(prefix.length).split(/[./]/)[0]!)) strange.push(key);
      }
    }
    assert.deepEqual(strange, [], 'objects that nobody knows');
  } finally {
    s3.close();
    await client.end();
  }
});

/** Volumes that came before their record, and it never did, are left alone for an hour: somebody may be at work there. */
async function sweepLater(): Promise<void> {
  const services = await openServices(readConfig(cluster.environment), 'later');
  let later = 0;
  const now = () => Date.now() + later;
  const custody = new Custody({ ...services, now });
  const sweeper = new Sweeper({ ...services, custody, shared: true, now });
  // One round notes them, the one of the next day dooms them, and one removes what is doomed.
  for (const hours of [26, 52, 52]) {
    later = hours * 3_600_000;
    await sweeper.sweep();
  }
  await services.metadata.close();
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
