/**
 * Connections that end at random moments, in every way there is, while the disk fails for some of them and everything that nobody
 * holds is collected. Every segment that nobody has holds a canary. SZ_TEST_ATTACKS sets how many there are.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes, randomInt } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { receive } from '../../server/src/platform/volumes/receiver.ts';
import type { VolumeHandler } from '../../server/src/transfers/put.ts';
import { Disk } from '../faults/mounts.ts';
import { usually } from '../harness/long.ts';
import { collect, GuardedPool } from './canaries.ts';
import { Attacker, OK, soon, withLane } from './lane-fixture.ts';
import { reset } from './reset.ts';

const CONNECTIONS = Number(process.env['SZ_TEST_ATTACKS'] ?? usually(300, 1500));
const AT_ONCE = 24;
const CHECK_EVERY = 50;
const MIB = 1024 * 1024;

const LARGEST = 400_000;
const BYTES = randomBytes(LARGEST);
const pick = <T>(...choices: T[]): T => choices[randomInt(choices.length)]!;

/** The first bytes of the same noise, so that nobody needs to hash them twice. */
const SIZES = [0, 1, 5000, 70_000, 131_073, 200_000, LARGEST].map((size) => ({
  size,
  sha256: createHash('sha256').update(BYTES.subarray(0, size)).digest('hex'),
}));

/** What a PUT meets, by the id of its transfer. */
const FATES = ['good', 'full', 'refused', 'late'] as const;

function handler(disks: { good: string; full: string }, pool: GuardedPool): VolumeHandler {
  let count = 0;
  return async ({ transferId, length, idx }, body, begin) => {
    const [fate = ''] = transferId.split('-');
    if (fate === 'refused') return { status: 401, body: {} };
    if (fate === 'late') await sleep(randomInt(5));
    begin();
    const path = join(fate === 'full' ? disks.full : disks.good, String(count++));
    const { size, sha256 } = SIZES[Number(idx) - 1]!;
    assert.equal(size, length);
    try {
      await receive(path, { idx: 1, size, sha256 }, body, pool);
      return OK;
    } catch (error) {
      const { name, code = name } = error as NodeJS.ErrnoException;
      return { status: code === 'ENOSPC' ? 507 : 409, body: { error: code } };
    } finally {
      await rm(path, { force: true });
    }
  };
}

interface Put {
  fate: (typeof FATES)[number];
  size: number;
  bytes: Buffer;
  /** Of its head; one in pieces is left to Node's server. */
  head: number;
}

function somePut(): Put {
  const fate = pick(...FATES, 'good', 'good');
  const idx = 1 + randomInt(SIZES.length);
  const { size } = SIZES[idx - 1]!;
  const extra = pick('', '', '', 'Connection: close\r\n', 'Expect: 100-continue\r\n');
  const line = `PUT /api/transfer/${fate}-${randomInt(1e9)}/chunk/${idx} HTTP/1.1`;
  const head = `${line}\r\nHost: x\r\nContent-Length: ${size}\r\n${extra}\r\n`;
  return {
    fate,
    size,
    bytes: Buffer.concat([Buffer.from(head), BYTES.subarray(0, size)]),
    head: head.length,
  };
}

/** Bytes in pieces of random sizes, the first ones together, some with a pause before them; false when the connection ended meanwhile. */
async function send(attacker: Attacker, bytes: Buffer, first = 0): Promise<boolean> {
  const most = pick(1000, 20_000, 100_000, LARGEST * 2);
  for (let at = 0; at < bytes.length; ) {
    const end = Math.min(bytes.length, Math.max(first, at + 1 + randomInt(most)));
    if (!(await attacker.push(bytes.subarray(at, end)))) return false;
    at = end;
    if (randomInt(8) === 0) await sleep(randomInt(3));
  }
  return true;
}

const LEAVE: ((attacker: Attacker) => void)[] = [
  ({ socket }) => socket.destroy(),
  ({ socket }) => reset(socket),
  ({ socket }) => socket.end(),
  ({ socket }) => socket.pause(),
];

/** One connection to its end; the status of each whole PUT is what its fate says. */
async function attack(port: number): Promise<void> {
  const attacker = new Attacker(port);
  try {
    for (let puts = randomInt(4); puts >= 0; puts--) {
      const put = somePut();
      if (randomInt(3) === 0) {
        await send(attacker, put.bytes.subarray(0, randomInt(put.bytes.length)));
        pick(...LEAVE)(attacker);
        // Some go on sending, whatever they have been told.
        if (randomInt(2) === 0) await Promise.race([send(attacker, BYTES), sleep(50)]);
        return;
      }
      const before = attacker.text.length;
      if (!(await send(attacker, put.bytes, put.head))) return;
      const told = () => attacker.text.slice(before).replace(/^HTTP\/1\.1 100 .*\r\n\r\n/, '');
      await soon(
        `an answer to ${put.fate}, ${put.size}`,
        () => told().includes('\r\n\r\n') || attacker.closed,
      );
      const status = Number(/^HTTP\/1\.1 (\d+)/.exec(told())?.[1]);
      if (put.fate === 'good' || put.fate === 'late') assert.equal(status, 200, told());
      if (put.fate === 'refused' && !Number.isNaN(status)) assert.equal(status, 401);
      if (put.fate === 'full' && put.size > 0 && !Number.isNaN(status)) assert.equal(status, 507, told());
      if (/Connection: close/.test(told()) || attacker.closed) return;
    }
    if (randomInt(3) === 0) {
      attacker.write('GET /else HTTP/1.1\r\nHost: x\r\n\r\n');
      await soon('an answer to GET', () => attacker.text.endsWith('general') || attacker.closed);
      assert.ok(attacker.text.endsWith('general'));
    }
  } finally {
    // Long enough for what is on its way to arrive.
    if (randomInt(2) === 0) await sleep(randomInt(10));
    attacker.socket.destroy();
  }
}

test(`${CONNECTIONS} connections that end at random moments, failing disks, forced collection`, async (context) => {
  await using good = await Disk.create('tmpfs', 64 * MIB);
  await using full = await Disk.create('tmpfs', 4096);
  await fillUp(full);
  // Fewer than are wanted at once, so that some requests get none, and large enough that bodies go through them in turns.
  const pool = new GuardedPool(16, 64 * 1024);
  await withLane(handler({ good: good.path, full: full.path }, pool), async (port, server) => {
    let begun = 0;
    let most = 0;
    const lane = async () => {
      while (begun < CONNECTIONS) {
        if (++begun % CHECK_EVERY === 0) {
          collect();
          pool.check();
          most = Math.max(most, process.memoryUsage().rss);
        }
        await attack(port);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
    await soon('every segment is back', () => pool.kept === 16);
    const open = () => new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    for (let tries = 0; tries < 1000 && (await open()) > 0; tries++) await sleep(5);
    assert.equal(await open(), 0, 'connections are left');
    collect();
    pool.check();
    tell(context, most);
  });
});

function tell(context: TestContext, most: number): void {
  context.diagnostic(`${CONNECTIONS} connections, at most ${Math.round(most / MIB)} MiB in memory`);
}

async function fillUp(disk: Disk): Promise<void> {
  await assert.rejects(writeFile(join(disk.path, 'filler'), Buffer.alloc(MIB)), { code: 'ENOSPC' });
}
