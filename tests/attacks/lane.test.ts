import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { receive } from '../../server/src/platform/volumes/receiver.ts';
import { Disk } from '../faults/mounts.ts';
import { collect, GuardedPool } from './canaries.ts';
import { Attacker, headOf, NO, soon, withLane } from './lane-fixture.ts';

const MIB = 1024 * 1024;
const DRAIN_MIB = 64;
const REFUSED = { status: 401, reason: 'Unauthorized', body: { detail: 'no' } };
const HUGE = 900_000_000_000;

/** What a client can add to a PUT that will be refused, and still go on sending. */
const WAYS: Record<string, string[]> = {
  'Connection: close': ['Connection: close'],
  'Expect: 100-continue': ['Expect: 100-continue'],
  both: ['Connection: close', 'Expect: 100-continue'],
  'nothing special': [],
};

test('the memory a refused connection is read into stays with it until it is closed', async () => {
  const CONNECTIONS = 24;
  let freed = 0;
  const registry = new FinalizationRegistry(() => {
    freed++;
  });
  const allocate = Buffer.allocUnsafeSlow;
  Buffer.allocUnsafeSlow = (size) => {
    const memory = allocate(size);
    registry.register(memory.buffer, undefined);
    return memory;
  };
  try {
    await withLane(
      async () => REFUSED,
      async (port) => {
        const ways = Object.values(WAYS);
        const attackers = Array.from({ length: CONNECTIONS }, (_, at) => {
          const attacker = new Attacker(port);
          attacker.write(headOf(HUGE, ...ways[at % ways.length]!));
          return attacker;
        });
        for (const attacker of attackers) await soon('refused', () => attacker.count(401) === 1);
        for (let times = 0; times < 5; times++) {
          collect();
          await sleep(10);
          for (const attacker of attackers) attacker.write(Buffer.alloc(20_000, 0x41));
        }
        assert.equal(freed, 0, 'memory of open connections was collected');
        for (const { socket } of attackers) socket.destroy();
        // Otherwise this test could not see it.
        const seen = async () => {
          for (let times = 0; times < 200 && freed < CONNECTIONS; times++) {
            collect();
            await sleep(10);
          }
        };
        await seen();
        assert.ok(freed >= CONNECTIONS, `${freed} of ${CONNECTIONS} collected after the end`);
      },
    );
  } finally {
    Buffer.allocUnsafeSlow = allocate;
  }
});

for (const [name, headers] of Object.entries(WAYS)) {
  test(`a refused connection is read no further than the drain limit: ${name}`, async () => {
    await withLane(
      async () => REFUSED,
      async (port) => {
        const attacker = new Attacker(port);
        attacker.write(headOf(HUGE, ...headers));
        await soon('refused', () => attacker.count(401) === 1);
        const block = Buffer.alloc(MIB, 0x41);
        let sent = 0;
        while (sent < 2 * DRAIN_MIB && (await attacker.push(block))) sent++;
        assert.ok(sent < 2 * DRAIN_MIB, `${sent} MiB were taken`);
        assert.ok(
          sent >= DRAIN_MIB / 2,
          `ended after ${sent} MiB: a client in full flow never sees its answer`,
        );
      },
    );
  });
}

test('after a failed write nothing more is read into the segments of the request', async () => {
  await using disk = await Disk.create('tmpfs', MIB);
  const full = join(disk.path, 'volume');
  const pool = new GuardedPool(2, 256 * 1024);
  const size = 64 * MIB;
  const failures: string[] = [];
  const failing = async (_head: unknown, body: Parameters<typeof receive>[2]) => {
    await receive(full, { idx: 1, size, sha256: '0'.repeat(64) }, body, pool).catch((error) => {
      failures.push(error.code);
    });
    await rm(full, { force: true });
    return { status: 507, reason: 'Insufficient Storage', body: {} };
  };
  await withLane(failing, async (port) => {
    for (const headers of Object.values(WAYS)) {
      const attacker = new Attacker(port);
      attacker.write(headOf(size, ...headers));
      // Slowly: most failures are then told outside of a read.
      for (let sent = 0; sent < 1000 && attacker.count(507) === 0; sent++) {
        await attacker.push(Buffer.alloc(16 * 1024, 0x61));
        await sleep(1);
      }
      assert.equal(attacker.count(507), 1);
      assert.equal(pool.kept, 2);
      for (let times = 0; times < 5; times++) {
        await attacker.push(Buffer.alloc(200_000, 0x41));
        await sleep(10);
        pool.check();
      }
      attacker.socket.destroy();
    }
    assert.deepEqual(failures, ['ENOSPC', 'ENOSPC', 'ENOSPC', 'ENOSPC']);
  });
});

/** Answers that the client does not read, until so many of them have waited in the service, or no more are let in. */
async function unreadAnswers(port: number, asked: () => number, lane: () => Socket, waiting: number) {
  for (let times = 0; times < 5; times++) {
    const attacker = new Attacker(port);
    attacker.socket.pause();
    const before = asked();
    for (let sent = 1, waited = 0; sent < 5000 && !attacker.closed; sent++) {
      attacker.write(headOf(0));
      // A machine that stands still for a moment lets the connection time out.
      await soon('asked', () => asked() === before + sent || (sent > 1 && lane().destroyed));
      if (lane().destroyed) break;
      await sleep(0);
      if (lane().writableLength === 0) continue;
      if (++waited === waiting) return attacker;
      // Nothing more is read before the answers have gone: some do, into room that the system finds for them.
      for (let looks = 0; looks < 20 && lane().writableLength > 0; looks++) await sleep(10);
      if (lane().writableLength > 0) return attacker;
    }
    attacker.socket.destroy();
  }
  return assert.fail('no answer ever waited');
}

test('answers that wait are not lost when something else than a volume comes', async () => {
  let asked = 0;
  let lane: Socket | undefined;
  const many = async (_head: unknown, body: unknown) => {
    asked++;
    lane = (body as { socket: Socket }).socket;
    return { ...NO, body: { error: 'x'.repeat(20_000) } };
  };
  await withLane(many, async (port) => {
    for (const waiting of [1, 2, 3]) {
      const attacker = await unreadAnswers(
        port,
        () => asked,
        () => lane!,
        waiting,
      );
      attacker.write('GET /else HTTP/1.1\r\nHost: x\r\n\r\n');
      await sleep(50);
      attacker.socket.resume();
      await soon('the last answer', () => attacker.text.endsWith('general') || attacker.closed);
      assert.deepEqual([attacker.count(409), attacker.count(200)], [asked, 1]);
      attacker.socket.destroy();
      asked = 0;
    }
  });
});

test('an ending connection times out: behind unread answers, and however slowly its client sends', async () => {
  const IDLE_MS = 1000;
  let asked = 0;
  let lane: Socket | undefined;
  const many = async (_head: unknown, body: unknown) => {
    asked++;
    lane = (body as { socket: Socket }).socket;
    return { ...NO, body: { error: 'x'.repeat(20_000) } };
  };
  await withLane(
    many,
    async (port) => {
      const stuck = await unreadAnswers(
        port,
        () => asked,
        () => lane!,
        1,
      );
      stuck.write(headOf(0, 'Connection: close'));
      const before = lane!;
      await soon('the stuck connection is closed', () => before.destroyed, IDLE_MS * 15);

      const slow = new Attacker(port);
      slow.write(headOf(HUGE, 'Connection: close'));
      await soon('refused', () => slow.count(409) === 1);
      const ending = lane!;
      const trickle = setInterval(() => slow.write('a'), IDLE_MS / 4);
      await soon('the slow connection is closed', () => ending.destroyed, IDLE_MS * 15).finally(() =>
        clearInterval(trickle),
      );
      stuck.socket.destroy();
      slow.socket.destroy();
    },
    IDLE_MS,
  );
});

test('the handle of a connection is touched in one file', () => {
  // One of the others is of a server that listens, one of standard output: nothing is read from either.
  const allowed = [
    'server/src/fastlane/handover.ts',
    'server/src/fastlane/intake.ts',
    'server/src/fastlane/stdout.ts',
  ];
  const touching = (pattern: RegExp) =>
    globSync('server/src/**/*.ts')
      .filter((file) => pattern.test(readFileSync(file, 'utf8')))
      .sort();
  assert.deepEqual(touching(/\b_handle\b/), allowed);
  assert.deepEqual(touching(/useUserBuffer|\bonread:|new Socket\(/), ['server/src/fastlane/intake.ts']);
});
