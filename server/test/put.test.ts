/** The same PUT through each way: along the fast lane, by Node's own server, through TLS, and in a WebSocket. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectSecurely } from 'node:tls';
import { encodeInit, type InitBody, pathOf, volumeSocket } from '@szafa/protocol';
import pino from 'pino';
import { createApp } from '../src/app.ts';
import type { Config } from '../src/config.ts';
import { parseCidrs } from '../src/platform/http/addresses.ts';
import { Metrics } from '../src/platform/metrics/registry.ts';
import { InProcess, initOf, TOKEN } from './in-process.ts';

const pem = readFileSync(new URL('pull/tls.pem', import.meta.url));
const FORWARDED = 'X-Forwarded-For: 1.2.3.4, 5.6.7.8, 10.9.9.9\r\n';
const BODY = Buffer.from('hello');
const INIT = `X-Init: ${encodeInit(initOf([BODY]) as InitBody)}\r\n`;

interface Way {
  settings: Partial<Config>;
  /** The bytes by which a connection becomes one for PUTs. */
  hello?: string;
  head?: (text: string) => Buffer;
  body?: (bytes: Buffer) => Buffer;
}

const frame = (opcode: number, payload: Buffer) =>
  Buffer.concat([
    Buffer.from([0x80 | opcode, 0x80 | 126, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0]),
    payload,
  ]);
const webSocket = {
  hello:
    `GET ${volumeSocket.path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n${FORWARDED}` +
    'Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n' +
    `Sec-WebSocket-Protocol: ${volumeSocket.protocol}\r\n\r\n`,
  head: (text: string) => frame(1, Buffer.from(text)),
  body: (bytes: Buffer) => frame(2, bytes),
};
const tls = { cert: pem.toString(), key: pem.toString() };
const WAYS: Record<string, Way> = {
  lane: { settings: {} },
  'without lane': { settings: { lane: false } },
  TLS: { settings: { tls } },
  WebSocket: { settings: {}, ...webSocket },
  'WebSocket without lane': { settings: { lane: false }, ...webSocket },
  'WebSocket in TLS': { settings: { tls }, ...webSocket },
};

type Line = Record<string, unknown>;

test('a PUT is answered, logged and counted alike whichever way it comes, whole, refused or broken off', async (t) => {
  const service = await InProcess.start(t);
  const { lane, ...others } = Object.fromEntries(
    await Array.fromAsync(Object.entries(WAYS), async ([name, way]) => [name, await allAlong(service, way)]),
  ) as Record<string, Awaited<ReturnType<typeof allAlong>>>;
  for (const [name, seen] of Object.entries(others)) assert.deepEqual(seen, lane, name);
  const lines = lane!.puts.map(({ line }) => line);
  assert.deepEqual(
    lines.map(({ status }) => status),
    [200, 409, 499, 200, 409, 499],
  );
  for (const { ip } of lines) assert.equal(ip, '5.6.7.8');
  assert.equal(lane!.counted.length, 10, lane!.counted.join());
});

/** What is answered and logged of the PUTs, and what is counted. */
async function allAlong(service: InProcess, way: Way) {
  const { services } = service;
  const lines: Line[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const metrics = new Metrics();
  const config = { ...services.config, trustProxy: parseCidrs('127.0.0.1 10.0.0.0/8'), ...way.settings };
  const app = await createApp({ ...services, config, log, metrics, nodeMetrics: async () => '' });
  try {
    const url = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
    const puts: { line: Line; answer: string }[] = [];
    for (const kind of ['volume', 'file']) {
      for (const outcome of ['whole', 'refused', 'broken off']) {
        const [path, init] =
          kind === 'volume'
            ? [pathOf('writeVolume', { transfer_id: await service.begin([BODY]), idx: 1 }), '']
            : [pathOf('writeFile', { transfer_id: randomBytes(16).toString('hex') }), INIT];
        const answer = await put(service, way, url, `PUT ${path} HTTP/1.1\r\n${init}`, outcome);
        await until(() => lines.some(({ method }) => method === 'PUT'));
        const [line, ...more] = lines.splice(0).filter(({ method }) => method === 'PUT');
        const { time, ms, reqId, transfer, ...rest } = line!;
        assert.ok(time && typeof ms === 'number' && transfer);
        // A socket's PUTs are named after it.
        assert.match(String(reqId), way.hello ? /-\w+\.1$/ : /^mine$/);
        assert.deepEqual(more, [], 'logged once');
        puts.push({ line: rest, answer });
      }
    }
    const counted = Object.entries(metrics.snapshot())
      .filter(([name, value]) => value !== 0 && /_total\{.*(PUT|"in")|rejected|_count\{.*PUT/.test(name))
      .map(([name, value]) => `${name} ${value}`);
    return { puts, counted: counted.sort() };
  } finally {
    await app.close();
  }
}

/** The body of the answer. */
async function put({ folder }: InProcess, way: Way, { port, protocol }: URL, first: string, outcome: string) {
  const { hello, head = (text) => Buffer.from(`${text}\r\n\r\n`), body = (bytes) => bytes } = way;
  const options = { port: Number(port), host: '127.0.0.1', rejectUnauthorized: false };
  const socket = protocol === 'https:' ? connectSecurely(options) : connect(options);
  let text = '';
  socket.on('error', () => undefined);
  socket.on('data', (bytes: Buffer) => {
    text += bytes.toString('latin1');
  });
  try {
    await once(socket, protocol === 'https:' ? 'secureConnect' : 'connect');
    if (hello) {
      socket.write(hello);
      await until(() => text.includes('\r\n\r\n'));
    }
    const more = `Host: x\r\nAuthorization: Bearer ${TOKEN}\r\nContent-Length: ${BODY.length}`;
    socket.write(head(`${first}${hello ? '' : FORWARDED}X-Request-Id: mine\r\n${more}`));
    if (outcome === 'broken off') {
      socket.write(body(BODY.subarray(0, 2)));
      // A file for the body is there.
      await until(() => readdirSync(join(folder, 'tmp', 'p1')).length > 0);
      return '';
    }
    socket.write(body(outcome === 'whole' ? BODY : Buffer.from('jello')));
    const answer = () => /(?:"body":|\r\n\r\n)(\{[^{}]*\})\}?$/.exec(text)?.[1];
    await until(() => answer() !== undefined);
    return answer()!.replace(/"file_id":"\w+"/, '"file_id":"..."');
  } finally {
    socket.destroy();
  }
}

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 2000 && !holds(); tries++) await sleep(5);
  assert.ok(holds());
}
