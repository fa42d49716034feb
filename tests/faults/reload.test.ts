/** SIGHUP: the certificate is read again, and nothing ends. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import { eventually, register, Service } from '../harness/index.ts';
import { killWorker, workersAnswer, workersOf } from './processes.ts';

const pem = (path: string) => readFileSync(fileURLToPath(new URL(path, import.meta.url)), 'utf8');
const FIRST = pem('../cross/certificates/self-signed.pem');
const SECOND = pem('../../server/test/pull/tls.pem');
const fingerprintOf = (text: string) => new X509Certificate(text).fingerprint256;

async function open(url: string): Promise<TLSSocket> {
  const { hostname: host, port } = new URL(url);
  const socket = connect({ host, port: Number(port), rejectUnauthorized: false });
  await once(socket, 'secureConnect');
  return socket;
}

/** The certificates that new connections get: enough of them to reach every worker. */
async function offered(url: string): Promise<string[]> {
  const found = new Set<string>();
  for (let i = 0; i < 8; i++) {
    const socket = await open(url);
    found.add(socket.getPeerX509Certificate()!.fingerprint256);
    socket.destroy();
  }
  return [...found];
}

/** Sends a request over a connection that was there before. */
async function answers(socket: TLSSocket): Promise<void> {
  socket.write('GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const [data] = (await once(socket, 'data', { signal: AbortSignal.timeout(60_000) })) as [Buffer];
  assert.match(data.toString(), /^HTTP\/1\.1 200/);
}

test('SIGHUP reloads the certificate; a broken one leaves the old in use, for new workers as well', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-reload-'));
  const path = join(folder, 'tls.pem');
  writeFileSync(path, FIRST);
  const service = new Service({ env: { SZ_TLS_CERT: path, SZ_TLS_KEY: path } });
  const logged = (text: RegExp) => eventually(async () => assert.match(service.log, text));
  try {
    await service.start();
    const before = await open(service.url);
    await answers(before);
    assert.deepEqual(await offered(service.url), [fingerprintOf(FIRST)]);

    writeFileSync(path, SECOND);
    process.kill(service.pid, 'SIGHUP');
    await logged(/SIGHUP: certificate reloaded, valid until \d{4}-/);
    await eventually(async () => assert.deepEqual(await offered(service.url), [fingerprintOf(SECOND)]));
    await answers(before);

    for (const broken of ['no certificate', `${FIRST.split('-----END PRIVATE KEY-----')[0]}`, '']) {
      writeFileSync(path, broken);
      const length = service.log.length;
      process.kill(service.pid, 'SIGHUP');
      await eventually(async () =>
        assert.match(service.log.slice(length), /the certificate in use stays: SZ_TLS_/),
      );
      assert.deepEqual(await offered(service.url), [fingerprintOf(SECOND)]);
    }
    killWorker(workersOf(service)[0]!);
    await eventually(async () => assert.equal(workersOf(service).length, 2));
    await eventually(async () => assert.deepEqual(await offered(service.url), [fingerprintOf(SECOND)]));
    before.destroy();
  } finally {
    await service.terminate();
    await service.discard();
    await rm(folder, { recursive: true });
  }
});

test('SIGHUP to every process of a server without a certificate: it goes on', async () => {
  const service = await new Service().start();
  try {
    for (const pid of [service.pid, ...workersOf(service), service.pid]) process.kill(pid, 'SIGHUP');
    await eventually(async () => assert.match(service.log, /SIGHUP: nothing to reload/));
    await workersAnswer(service, 2);
    await register(service);
    assert.equal(workersOf(service).length, 2);
    assert.doesNotMatch(service.log, /worker died/);
  } finally {
    await service.stop();
  }
});
