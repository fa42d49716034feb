import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Intake } from '../src/fastlane/intake.ts';
import { probeIntake } from '../src/fastlane/intake-probe.ts';
import { Disconnected, type Sink } from '../src/platform/volumes/body.ts';

const OWN_BYTES = 1000;
const open: Socket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

/** A connection that an intake has taken over after its first bytes, and the client at its other end. */
async function taken(remaining: number): Promise<{ intake: Intake; client: Socket }> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  open.push(client);
  client.setNoDelay(true);
  client.on('error', () => undefined);
  client.write('first');
  const [socket] = (await once(server, 'connection')) as [Socket];
  await once(socket, 'data');
  const intake = Intake.takeOver(socket, () => true, OWN_BYTES, remaining);
  open.push(intake.socket);
  intake.socket.on('error', () => undefined);
  server.close();
  return { intake, client };
}

test('Node has what an intake needs', async () => {
  assert.equal(await probeIntake(), undefined);
});

test('a socket with unsent bytes, or one that is read here already, is not taken over', async () => {
  const { intake } = await taken(0);
  assert.equal(Intake.of(intake.socket), intake);
  assert.throws(() => Intake.takeOver(intake.socket, () => true, OWN_BYTES), /cannot be taken over/);
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const other = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [socket] = (await once(server, 'connection')) as [Socket];
  open.push(other, socket);
  other.pause();
  while (socket.write(Buffer.alloc(1024 * 1024)));
  assert.throws(() => Intake.takeOver(socket, () => true, OWN_BYTES), /unsent bytes/);
  server.close();
});

/** A sink of one piece of memory whose second advance waits for what the test decides. */
function waitingSink() {
  const memory = Buffer.alloc(4000);
  const room = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let count = 0;
  const sink: Sink = {
    target: () => memory,
    advance: () => {
      if (++count !== 2) return undefined;
      begun.resolve();
      return room.promise;
    },
  };
  return { memory, room, begun, sink };
}

test('a sink that fails while nothing is read has its memory for itself, and the connection goes on', async () => {
  const { intake, client } = await taken(100_000);
  const { memory, room, begun, sink } = waitingSink();
  const poured = intake.pour(sink);
  client.write(Buffer.alloc(10_000, 1));
  await begun.promise;
  room.reject(new Error('full'));
  await assert.rejects(poured, /full/);
  memory.fill(0xee);
  const drained: number[] = [];
  intake.onBytes = (bytes) => drained.push(bytes.length) > 0;
  client.write(Buffer.alloc(90_000, 2));
  intake.resume();
  for (let tries = 0; tries < 1000 && intake.remaining > 0; tries++) await sleep(5);
  assert.equal(intake.remaining, 0);
  assert.ok(drained.every((length) => length <= OWN_BYTES));
  assert.ok(memory.every((byte) => byte === 0xee));
});

test('a pour that is broken off settles when the sink is through with what it has', async () => {
  const { intake, client } = await taken(100_000);
  const { room, begun, sink } = waitingSink();
  let settled = false;
  const poured = intake.pour(sink).finally(() => {
    settled = true;
  });
  poured.catch(() => undefined);
  client.write(Buffer.alloc(10_000, 1));
  await begun.promise;
  intake.socket.destroy();
  await once(intake.socket, 'close');
  await sleep(20);
  assert.equal(settled, false, 'the sink still has bytes to take');
  room.resolve();
  await assert.rejects(poured, Disconnected);
  await assert.rejects(intake.pour(sink), Disconnected);
});
