/** Bodies that cost more than they should: JSON that takes long to parse, bodies that never end, and chunks of a byte. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { contentDigest, limits, pathOf } from '@szafa/protocol';
import { workersOf } from '../faults/processes.ts';
import {
  assertError,
  assertOk,
  eventually,
  RawConnection,
  register,
  type Service,
  sha256,
  useService,
  usually,
} from '../harness/index.ts';

const MIB = 1024 * 1024;
const IDLE_SECONDS = 2;
const service = useService({ env: { SZ_WORKERS: '1', SZ_TRUST_PROXY: '127.0.0.1' } });
const impatient = useService({ env: { SZ_WORKERS: '1', SZ_IDLE_TIMEOUT: String(IDLE_SECONDS) } });

const workerOf = (of: Service) => workersOf(of)[0]!;
/** Of all threads, in milliseconds; the system counts in steps of 10. */
function cpuOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
const memoryOf = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) * 1024;

const head = (path: string, headers: string[]) =>
  [`POST ${path} HTTP/1.1`, 'Host: x', ...headers, '', ''].join('\r\n');

describe('JSON that takes long to parse', () => {
  const bodies: [string, Buffer][] = (
    [
      ['nested arrays', '['],
      ['nested objects', '{"a":'],
      ['empty objects', '{},'],
      ['numbers', '0,'],
      ['keys that are all different', ''],
    ] as const
  ).map(([what, piece]) => {
    const keys = () => Array.from({ length: MIB }, (_, at) => `"k${at}":0`).join(',');
    const text = piece === '' ? `{${keys()}` : `{"files":[${piece.repeat((14 * MIB) / piece.length)}`;
    return [what, Buffer.from(text)];
  });

  /** The status; the rest of the body is sent all the same, as many clients do. */
  async function send(path: string, body: Buffer, token?: string): Promise<number> {
    const known = token ? [`Authorization: Bearer ${token}`] : [];
    const connection = await RawConnection.open(service.url);
    connection.write(head(path, [...known, `Content-Length: ${body.length}`]));
    connection.write(body);
    const { statuses, text } = await connection.until(({ statuses: found }) => found.length > 0, 60_000);
    connection.destroy();
    assert.match(text, /\{"error":"/);
    return statuses[0]!;
  }

  for (const [what, body] of bodies) {
    test(`${what}: refused before they are parsed, with and without a token`, async () => {
      const user = await register(service);
      const before = cpuOf(workerOf(service));
      for (let times = 0; times < usually(3, 10); times++) {
        assert.equal(await send(pathOf('renameFiles'), body, user.token), 400);
        assert.equal(await send(pathOf('login'), body.subarray(0, limits.openBodyBytes)), 400);
        assert.equal(await send(pathOf('login'), body), 413);
      }
      const spent = cpuOf(workerOf(service)) - before;
      // To parse one of them takes seconds.
      assert.ok(spent < usually(1500, 5000), `${spent} ms of CPU`);
    });
  }
});

describe('bodies that do not end', () => {
  test('a JSON body has a deadline (408); a volume that arrives as slowly has none', async () => {
    const user = await register(impatient);
    const begun = await user.post(pathOf('init'), { streamed: true });
    const volume = Buffer.from('a volume that takes its time');
    const slow = await RawConnection.open(impatient.url);
    slow.write(
      `PUT ${pathOf('writeVolume', { transfer_id: String(begun.json['transfer_id']), idx: 1 })} HTTP/1.1\r\n` +
        `Host: x\r\nAuthorization: Bearer ${user.token}\r\nContent-Length: ${volume.length}\r\n` +
        `Content-Digest: ${contentDigest(sha256(volume))}\r\n\r\n`,
    );
    const json = await Promise.all(
      [pathOf('login'), pathOf('renameFiles'), '/api/transfer/files'].map(async (path) => {
        const connection = await RawConnection.open(impatient.url);
        const token = path === pathOf('login') ? [] : [`Authorization: Bearer ${user.token}`];
        connection.write(head(path, [...token, 'Content-Length: 5000']));
        return connection;
      }),
    );
    const began = Date.now();
    for (const byte of volume) {
      slow.write(Buffer.of(byte));
      for (const connection of json) connection.write(' ');
      await sleep((IDLE_SECONDS * 1500) / volume.length);
    }
    for (const connection of json) {
      const { statuses, text, closed } = await connection.until((answer) => answer.closed, 20_000);
      assert.deepEqual(statuses, [408], text);
      assert.match(text, /\{"error":"/);
      assert.ok(closed);
      connection.destroy();
    }
    assert.ok(Date.now() - began >= IDLE_SECONDS * 1000);
    const { statuses } = await slow.until((answer) => answer.statuses.length > 0);
    assert.deepEqual(statuses, [200]);
    slow.destroy();
  });

  /** Bodies of which the last byte is missing, as if a proxy had them from this address. */
  async function unfinished(path: string, bytes: number, count: number, address: string, token?: string) {
    const { port } = new URL(service.url);
    const statuses: number[] = [];
    const sockets: Socket[] = [];
    for (let at = 0; at < count; at++) {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => undefined);
      socket.on('data', (text) => statuses.push(Number(/^HTTP\/1\.1 (\d+)/.exec(String(text))?.[1])));
      const known = token ? [`Authorization: Bearer ${token}`] : [];
      socket.write(head(path, [...known, `X-Forwarded-For: ${address}`, `Content-Length: ${bytes}`]));
      socket.write(Buffer.alloc(bytes - 1, ' '));
      sockets.push(socket);
    }
    return { statuses, leave: () => sockets.forEach((socket) => void socket.destroy()) };
  }

  test('those with a token hold little memory; others notice nothing, and all is free when they hang up', async () => {
    const user = await register(service);
    const before = memoryOf(workerOf(service));
    const count = usually(24, 100);
    const held = await unfinished(
      pathOf('renameFiles'),
      limits.namesBodyBytes,
      count,
      '203.0.113.1',
      user.token,
    );
    try {
      // Two fit into what one address may have.
      await eventually(async () => assert.ok(held.statuses.length >= count - 2, `${held.statuses.length}`));
      assert.deepEqual(new Set(held.statuses), new Set([503]));
      const grown = (memoryOf(workerOf(service)) - before) / MIB;
      assert.ok(grown < 200, `${Math.round(grown)} MiB`);
      const refused = await user.call('POST', pathOf('createDir'), {
        body: Buffer.alloc(MIB, ' '),
        headers: { 'x-forwarded-for': '203.0.113.1' },
      });
      if (refused.status === 503) assert.ok(Number(refused.headers['retry-after']) >= 1);
      const other = { 'x-forwarded-for': '203.0.113.2' };
      const json = { name: 'of another address' };
      assertOk(await user.call('POST', pathOf('createDir'), { json, headers: other }));
    } finally {
      held.leave();
    }
    const pad = ' '.repeat(10 * MIB);
    await eventually(async () => {
      const headers = { 'x-forwarded-for': '203.0.113.1' };
      const body = `{"files":[]${pad}}`;
      assertError(await user.call('POST', pathOf('renameFiles'), { body, headers }), 400);
    });
  });

  test('those without a token do not keep callers with a token, other addresses or small bodies waiting', async () => {
    const user = await register(service);
    const headers = { 'x-forwarded-for': '203.0.113.3' };
    const count = usually(200, 500);
    const held = await unfinished(pathOf('login'), limits.openBodyBytes, count, '203.0.113.3');
    try {
      await eventually(async () => assert.ok(held.statuses.length >= count - 137));
      assert.deepEqual(new Set(held.statuses), new Set([503]));
      assertOk(await user.call('POST', pathOf('createDir'), { json: { name: 'with a token' }, headers }));
      const json = { username: 'nobody', password: 'wrong password' };
      assertError(await service.call({ method: 'POST', path: pathOf('login'), json }), 401);
      // From the same address.
      const body = JSON.stringify(json).padEnd(4000);
      assertError(await service.call({ method: 'POST', path: pathOf('login'), body, headers }), 401);
    } finally {
      held.leave();
    }
  });

  test('chunks of a byte are refused before they are many, and take no memory', async () => {
    const before = memoryOf(workerOf(service));
    const chunks = '1\r\n \r\n'.repeat(usually(60_000, 300_000));
    const sent = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const connection = await RawConnection.open(service.url);
        connection.write(`${head(pathOf('login'), ['Transfer-Encoding: chunked'])}${chunks}`);
        return connection;
      }),
    );
    const answers = await Promise.all(
      sent.map((connection) => connection.until((answer) => answer.closed, 60_000)),
    );
    for (const { statuses, closed } of answers) {
      assert.ok(closed);
      // A reset may overtake the answer.
      assert.ok(statuses.length === 0 || statuses[0] === 400, String(statuses));
    }
    assert.ok(answers.some(({ text }) => text.includes('the chunks of the body are too small')));
    for (const connection of sent) connection.destroy();
    const grown = (memoryOf(workerOf(service)) - before) / MIB;
    assert.ok(grown < 100, `${Math.round(grown)} MiB`);
    const few = `{"username":"nobody","password":"wrong password"}`;
    const one = await RawConnection.open(service.url);
    const pieces = [...few].map((char) => `1\r\n${char}\r\n`).join('');
    one.write(`${head(pathOf('login'), ['Transfer-Encoding: chunked'])}${pieces}0\r\n\r\n`);
    assert.deepEqual((await one.until(({ statuses }) => statuses.length > 0)).statuses, [401]);
    one.destroy();
  });
});
