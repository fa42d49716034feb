/** Connections that do nothing hold little: volume sockets without a token, and downloads that nobody reads. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf, volumeSocket } from '@szafa/protocol';
import { workersOf } from '../faults/processes.ts';
import {
  eventually,
  makeFile,
  RawConnection,
  register,
  type Service,
  upload,
  useService,
  usually,
} from '../harness/index.ts';

const MIB = 1024 * 1024;
const COUNT = usually(300, 2000);
/** What garbage that is not collected yet may add. */
const SLACK_BYTES = 48 * MIB;

const service = useService({ env: { SZ_WORKERS: '1' } });

const workerOf = (of: Service) => workersOf(of)[0]!;
const openFiles = (pid: number) => readdirSync(`/proc/${pid}/fd`).length;
const memoryOf = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

/** Sends the request along many connections, and compares the memory of the worker once `settled` resolves. */
async function hold(
  request: string,
  eachBytes: number,
  reads: boolean,
  settled: (connections: RawConnection[]) => Promise<void>,
): Promise<void> {
  const worker = workerOf(service);
  const [memory, files] = [memoryOf(worker), openFiles(worker)];
  const connections: RawConnection[] = [];
  try {
    for (let at = 0; at < COUNT; at++) {
      const connection = await RawConnection.open(service.url);
      connections.push(connection);
      if (!reads) connection.pause();
      connection.write(request);
    }
    await settled(connections);
    const grown = memoryOf(worker) - memory;
    const most = COUNT * eachBytes + SLACK_BYTES;
    assert.ok(grown < most, `${Math.round(grown / MIB)} MiB, not ${Math.round(most / MIB)}`);
  } finally {
    for (const connection of connections) connection.destroy();
  }
  await eventually(async () =>
    assert.ok(openFiles(worker) < files + 10, `${openFiles(worker)} files are open`),
  );
}

test('volume sockets without a token', async () => {
  const upgrade = [
    `GET ${volumeSocket.path} HTTP/1.1`,
    'Host: x',
    'Upgrade: websocket',
    'Connection: Upgrade',
    'Sec-WebSocket-Version: 13',
    'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==',
    `Sec-WebSocket-Protocol: ${volumeSocket.protocol}`,
    '',
    '',
  ].join('\r\n');
  await hold(upgrade, 64 * 1024, true, async (connections) => {
    for (const connection of connections) {
      const { statuses } = await connection.until((answer) => answer.statuses.length > 0, 60_000);
      assert.deepEqual(statuses, [101]);
    }
  });
});

test('downloads that nobody reads', async () => {
  const user = await register(service);
  const { fileId } = await upload(user, makeFile([20 * MIB]));
  const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
  const get = `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\n\r\n`;
  // All have begun by then; the system takes a few MiB of each.
  await hold(get, 256 * 1024, false, () => sleep(3000));
});
