import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DiskLender, DiskSpace, type Reservation } from '../src/platform/disk-space.ts';
import { ApiError } from '../src/platform/http/api-error.ts';
import type { Sink } from '../src/platform/volumes/body.ts';

const MIB = 1024 * 1024;

/** A disk, and processes that write to it. */
class Node {
  free: number;
  readonly lender: DiskLender;
  readonly spaces: DiskSpace[];
  asked = 0;

  constructor(free: number, minFreeBytes: number, processes: number, holdsVolumes = true) {
    this.free = free;
    this.lender = new DiskLender(
      () => this.free,
      minFreeBytes,
      async () => {
        for (const [at, space] of this.spaces.entries()) this.lender.settle(String(at), space.returnUnused());
      },
    );
    this.spaces = Array.from({ length: processes }, (_, at) => {
      const borrow = async (least: number, ended: number) => {
        this.asked++;
        // As far away as another process.
        await new Promise((resolve) => setImmediate(resolve));
        return this.lender.lend(String(at), least, ended);
      };
      return new DiskSpace({ free: () => this.free, minFreeBytes, holdsVolumes, borrow });
    });
  }

  /** A body that comes in whole. */
  async write(process: number, bytes: number): Promise<void> {
    const room = await this.spaces[process]!.forVolumes(bytes);
    this.free -= bytes;
    room.end();
  }
}

const isFull = (error: unknown) => error instanceof ApiError && error.status === 507;

test('however many bodies come at once, to however many processes, what must stay free does', async () => {
  const node = new Node(100 * MIB, 20 * MIB, 3);
  const asked = await Promise.allSettled(
    Array.from({ length: 40 }, (_, at) => node.spaces[at % 3]!.forVolumes(7 * MIB)),
  );
  const rooms = asked.filter((one) => one.status === 'fulfilled').map(({ value }) => value as Reservation);
  assert.equal(rooms.length, 11, '11 * 7 fit into 80');
  for (const one of asked) assert.ok(one.status === 'fulfilled' || isFull(one.reason));
  // Ten of them do not come after all; one is written.
  node.free -= 7 * MIB;
  for (const room of rooms) room.end();
  for (const room of rooms) room.end();
  for (let more = 0; more < 10; more++) await node.write(more % 3, 7 * MIB);
  await assert.rejects(node.write(0, 7 * MIB), isFull);
  assert.ok(node.free >= 20 * MIB);
});

test('every byte that is not reserved is given to whoever asks, whichever process it was lent to', async () => {
  const node = new Node(1000 * MIB, 0, 4);
  for (let at = 0; at < 4; at++) await node.write(at, MIB);
  const room = await node.spaces[0]!.forVolumes(900 * MIB);
  await assert.rejects(node.spaces[1]!.forVolumes(97 * MIB), isFull);
  await node.write(1, 96 * MIB);
  room.end();
});

test('what a process that died was lent is free again', async () => {
  const node = new Node(100 * MIB, 0, 2);
  await node.spaces[0]!.forVolumes(80 * MIB);
  await assert.rejects(node.spaces[1]!.forVolumes(60 * MIB), isFull);
  node.lender.forget('0');
  await node.write(1, 60 * MIB);
});

test('bytes that others write to the disk are seen, an init only looks, and space is asked for in large pieces', async () => {
  const node = new Node(2 ** 40, 100 * MIB, 2);
  for (let at = 0; at < 1000; at++) await node.write(at % 2, 8 * MIB);
  assert.ok(node.asked < 200, `asked ${node.asked} times for 1000 bodies`);
  node.free = 105 * MIB;
  assert.throws(() => node.spaces[0]!.requireForVolumes(6 * MIB), isFull);
  await assert.rejects(node.spaces[0]!.forVolumes(6 * MIB), isFull);
  for (let at = 0; at < 100; at++) node.spaces[0]!.requireForVolumes(5 * MIB);
});

test('with S3 only what lands counts', async () => {
  const node = new Node(100 * MIB, 50 * MIB, 1, false);
  const [space] = node.spaces as [DiskSpace];
  space.requireForVolumes(2 ** 40);
  (await space.forVolumes(2 ** 40)).end();
  const room = await space.forLanding(30 * MIB, 40 * MIB);
  await assert.rejects(space.forLanding(30 * MIB, 0), isFull);
  room.end();
  const local = new Node(100 * MIB, 50 * MIB, 1);
  await assert.rejects(local.spaces[0]!.forLanding(30 * MIB, 40 * MIB), isFull);
});

test('while somebody waits for what is called back, nobody gets a reserve', async () => {
  const called = Promise.withResolvers<void>();
  const lender: DiskLender = new DiskLender(
    () => 100 * MIB,
    0,
    () => called.promise,
  );
  const reserve = await lender.lend('a', 0, 0);
  await lender.lend('b', 70 * MIB, 0);
  const waits = lender.lend('c', 30 * MIB, 0);
  assert.equal(await lender.lend('b', 0, 0), 0);
  lender.settle('a', reserve);
  called.resolve();
  assert.equal(await waits, 30 * MIB);
});

/** A body whose bytes come when it is told, and a sink that writes them to the disk of a node. */
class SlowBody {
  readonly #node: Node;
  #next = Promise.withResolvers<number>();
  #taken: () => void = () => undefined;
  written = 0;

  constructor(node: Node) {
    this.#node = node;
  }

  pour = async (sink: Sink): Promise<void> => {
    for (;;) {
      const bytes = await this.#next.promise;
      this.#next = Promise.withResolvers();
      if (bytes === 0) return;
      for (let at = 0; at < bytes; at += MIB) await sink.advance(Math.min(MIB, bytes - at));
      this.#taken();
    }
  };

  sink = (): Sink => ({
    target: () => new Uint8Array(MIB),
    advance: (count) => {
      this.written += count;
      this.#node.free -= count;
      return undefined;
    },
  });

  send(bytes: number): Promise<void> {
    return new Promise((resolve) => {
      this.#taken = resolve;
      this.#next.resolve(bytes);
    });
  }

  breakOff(): void {
    // While it waits for space, nobody asks for the next bytes.
    this.#next.promise.catch(() => undefined);
    this.#next.reject(new Error('the client broke off'));
    this.#node.free += this.written;
    this.written = 0;
  }
}

test('a body that is announced and does not come holds next to nothing, whatever its size', async () => {
  const node = new Node(1000 * MIB, 100 * MIB, 2);
  const held = await Promise.all(
    Array.from({ length: 100 }, (_, at) =>
      node.spaces[at % 2]!.forBody(800 * MIB, { pour: async () => undefined }),
    ),
  );
  await node.write(0, 300 * MIB);
  await node.write(1, 300 * MIB);
  for (const one of held) one.end();
  await assert.rejects(node.spaces[0]!.forBody(301 * MIB, { pour: async () => undefined }), isFull);
});

test('what a body has reserved beyond its bytes is given back, also while it waits for more', async () => {
  const node = new Node(500 * MIB, 0, 2);
  for (const ending of ['whole', 'breaks off', 'breaks off while it waits']) {
    const slow = new SlowBody(node);
    const size = 300 * MIB;
    const space = await node.spaces[0]!.forBody(size, slow);
    const poured = space.body.pour(slow.sink());
    poured.catch(() => undefined);
    if (ending === 'whole') {
      await slow.send(size);
      void slow.send(0);
      await poured;
    } else {
      await slow.send(100 * MIB);
      // What is on the disk is not reserved any more.
      const rest = await node.spaces[1]!.forVolumes(250 * MIB);
      if (ending === 'breaks off while it waits') {
        node.free = 0;
        void slow.send(64 * MIB);
        await new Promise((resolve) => setImmediate(resolve));
        node.free = 500 * MIB;
      }
      slow.breakOff();
      rest.end();
    }
    space.end();
    // It may still be trying to get more.
    await sleep(1100);
    node.free = 500 * MIB;
    await node.write(1, 495 * MIB);
    node.free = 500 * MIB;
  }
});

test('of many that run out of space together, some finish', async () => {
  const node = new Node(100 * MIB, 20 * MIB, 2);
  const size = 20 * MIB;
  const outcomes = await Promise.allSettled(
    Array.from({ length: 8 }, async (_, at) => {
      const slow = new SlowBody(node);
      const space = await node.spaces[at % 2]!.forBody(size, slow);
      try {
        const poured = space.body.pour(slow.sink());
        poured.catch(() => undefined);
        for (let sent = 0; sent < size; sent += MIB) await Promise.race([slow.send(MIB), poured]);
        void slow.send(0);
        await poured;
      } catch (error) {
        node.free += slow.written;
        throw error;
      } finally {
        space.end();
      }
    }),
  );
  assert.ok(node.free >= 20 * MIB);
  const stored = outcomes.filter(({ status }) => status === 'fulfilled').length;
  assert.ok(stored >= 1 && stored <= 4, `${stored} were stored`);
  for (const one of outcomes) assert.ok(one.status === 'fulfilled' || isFull(one.reason));
  await node.write(0, (4 - stored) * size);
});
