import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { layoutOf, sealedSize } from '@szafa/format';
import { limits } from '@szafa/protocol';
import { pullHost } from '../src/node/index.ts';
import { VolumeSupply } from '../src/transfers/upload/supply.ts';
import { engine } from './service.ts';

const MIB = 2 ** 20;
const MORE = 2 * limits.pullDownloads;
/** Several times what the system takes for a connection that nobody reads. */
const VOLUME = 16 * MIB;

after(() => engine.close());

function zeros(volumes: number, volumeSize: number): VolumeSupply {
  const source = {
    size: volumes * volumeSize,
    read: async (_offset: number, length: number) => new Uint8Array(length),
    check: async () => {},
  };
  const layout = layoutOf(source.size, volumeSize);
  const secrets = { fileId: engine.random(16), fileKey: engine.random(32) };
  return new VolumeSupply({ engine, source, layout, secrets });
}

/** How many volumes are in memory, and how many were at most. */
function watch(supply: VolumeSupply): { now: number; most: number } {
  const held = { now: 0, most: 0 };
  const take = supply.take.bind(supply);
  supply.take = async (idx) => {
    held.most = Math.max(held.most, ++held.now);
    const sealed = await take(idx);
    return {
      ...sealed,
      release: () => {
        held.now--;
        sealed.release();
      },
    };
  };
  return held;
}

test('connections that do not read hold no more volumes than the service fetches at once', async () => {
  const supply = zeros(MORE, VOLUME);
  const held = watch(supply);
  const offer = await pullHost({ server: 'http://127.0.0.1', host: '127.0.0.1' }).serve('t', supply);
  const { hostname, port } = new URL(offer.baseUrl);
  const ask = async (idx: number): Promise<Socket> => {
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(`GET /pull/t/${idx}?token=${offer.token} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    return socket;
  };
  const sockets: Socket[] = [];
  try {
    for (let idx = 1; idx <= MORE; idx++) sockets.push(await ask(idx));
    let served = 0;
    const enough = Promise.withResolvers<void>();
    for (const socket of sockets)
      socket.once('readable', () => ++served === limits.pullDownloads && enough.resolve());
    await enough.promise;
    assert.equal(held.most, limits.pullDownloads);
    sockets.pop()!.destroy();
    const sizes = await Promise.all(
      sockets.map(async (socket) =>
        (await Array.fromAsync(socket)).reduce((sum, part) => sum + part.length, 0),
      ),
    );
    for (const size of sizes) assert.ok(size > sealedSize(VOLUME), `${size} bytes, head and volume`);
    assert.ok(held.most * VOLUME <= 192 * MIB, `${held.most} volumes at once`);
  } finally {
    for (const socket of sockets) socket.destroy();
    await offer.close();
  }
  assert.equal(held.now, 0, 'everything was given back');
});
