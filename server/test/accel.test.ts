import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathOf } from '@szafa/protocol';
import { closeDataFolder } from '../src/platform/cluster/data-folder.ts';
import { InProcess, TOKEN } from './in-process.ts';

const bytes = randomBytes(1000);
const OFFER = { 'x-szafa-accel': 'folder' };

async function ask(service: InProcess, fileId: string, headers: Record<string, string>): Promise<Response> {
  const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
  return fetch(service.url + path, { headers: { authorization: `Bearer ${TOKEN}`, ...headers } });
}

const wasHandedOver = async (answer: Response) => {
  const body = Buffer.from(await answer.arrayBuffer());
  const redirect = answer.headers.get('x-accel-redirect');
  if (redirect === null) assert.ok(body.equals(bytes.subarray(0, body.length)) && body.length > 0);
  else assert.equal(body.length, 0);
  return redirect !== null;
};

test('a volume is left to a trusted proxy that offers to send it', async (t) => {
  const service = await InProcess.start(t, { SZ_ACCEL: '1', SZ_TRUST_PROXY: '127.0.0.1' });
  const fileId = await service.upload([bytes]);
  assert.equal(await wasHandedOver(await ask(service, fileId, OFFER)), true);
  const part = await ask(service, fileId, { ...OFFER, range: 'bytes=-10' });
  assert.equal(part.status, 206);
  assert.equal(part.headers.get('x-szafa-range'), 'bytes=990-999');
  assert.equal(await wasHandedOver(part), true);
  for (const headers of [
    {},
    { 'x-szafa-accel': '' },
    { 'x-szafa-accel': 's3' },
    { 'x-accel-redirect': '/szafa-folder/x' },
    { ...OFFER, range: 'bytes=0-1,3-4' },
    { ...OFFER, 'if-none-match': '"other"' },
    { ...OFFER, 'if-match': '"other"' },
    { ...OFFER, 'if-modified-since': new Date().toUTCString() },
    { ...OFFER, 'if-unmodified-since': new Date(0).toUTCString() },
    { ...OFFER, 'if-range': '"other"', range: 'bytes=0-1' },
  ]) {
    assert.equal(await wasHandedOver(await ask(service, fileId, headers)), false, JSON.stringify(headers));
  }
  const refused = await ask(service, fileId, { ...OFFER, authorization: 'Bearer nobody' });
  assert.equal(refused.status, 401);
  assert.equal(refused.headers.get('x-accel-redirect'), null);
});

for (const [who, env] of [
  ['another peer', { SZ_ACCEL: '1', SZ_TRUST_PROXY: '192.0.2.1' }],
  ['a trusted proxy, where SZ_ACCEL is not set', { SZ_TRUST_PROXY: '127.0.0.1' }],
] as const) {
  test(`nothing is left to ${who}`, async (t) => {
    const service = await InProcess.start(t, env);
    const fileId = await service.upload([bytes]);
    assert.equal(await wasHandedOver(await ask(service, fileId, OFFER)), false);
  });
}

/** A service whose database answers when `allow` is called; `asked` resolves when it was asked. */
async function withSlowDatabase(t: TestContext) {
  const service = await InProcess.start(t, { SZ_ACCEL: '1', SZ_TRUST_PROXY: '127.0.0.1' });
  const fileId = await service.upload([bytes]);
  const { sessions } = service.services;
  const identify = sessions.identify.bind(sessions);
  const [asked, allowed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  sessions.identify = async (...args) => {
    asked.resolve();
    await allowed.promise;
    return identify(...args);
  };
  return { service, fileId, asked: asked.promise, allow: allowed.resolve };
}

test('how long the database took counts, whoever answers', async (t) => {
  const { service, fileId, asked, allow } = await withSlowDatabase(t);
  const answers = [OFFER, { ...OFFER, authorization: 'Bearer nobody' }].map((headers) =>
    ask(service, fileId, headers),
  );
  await asked;
  await sleep(200);
  allow();
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 401],
  );
  const ofRoute = 'route="/api/files/:file_id/chunk/:idx",method="GET"';
  const count = (name: string) => service.services.metrics.snapshot()[`szafa_request_seconds_${name}}`];
  for (const end = Date.now() + 10_000; count(`count{${ofRoute}`) !== 2; await sleep(5))
    assert.ok(Date.now() < end);
  assert.equal(count(`bucket{${ofRoute},le="0.1"`), 0);
});

test('bytes do not count of which nobody can be told any more', async (t) => {
  const { service, fileId, asked, allow } = await withSlowDatabase(t);
  const { metrics } = service.services;
  const { hostname, port } = new URL(service.url);
  const gone = connect(Number(port), hostname);
  const path = pathOf('readVolume', { file_id: fileId, idx: 1 });
  gone.write(
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${TOKEN}\r\nX-Szafa-Accel: folder\r\n\r\n`,
  );
  await asked;
  assert.equal(metrics.inFlight, 1);
  gone.destroy();
  await once(gone, 'close');
  for (const end = Date.now() + 10_000; metrics.inFlight > 0; await sleep(5)) assert.ok(Date.now() < end);
  allow();
  // It is answered after that one.
  assert.equal(await wasHandedOver(await ask(service, fileId, { ...OFFER, range: 'bytes=0-9' })), true);
  assert.equal(metrics.snapshot()['szafa_volume_bytes_total{direction="out"}'], 10);
});

test('the group of the server enters the folder of volumes only with SZ_ACCEL, and the data folder is not opened for it', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'szafa-closed-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  for (const name of ['volumes', 'accounts']) await mkdir(join(folder, name), { mode: 0o777 });
  const modeOf = async (name: string) => (await stat(join(folder, name))).mode & 0o077;
  const [warning] = await closeDataFolder(folder, true);
  assert.match(warning ?? '', /cannot be entered by its group/);
  assert.equal(await modeOf('volumes'), 0o010);
  assert.equal(await modeOf('accounts'), 0);
  assert.equal(await modeOf('.'), 0);
  assert.deepEqual(await closeDataFolder(folder, false), []);
  assert.equal(await modeOf('volumes'), 0);
});
