import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { pathOf } from '@szafa/protocol';
import { Ceph } from '../engines/ceph.ts';
import { Postgres } from '../engines/postgres.ts';
import { Relay } from '../engines/relay.ts';
import {
  assertReadable,
  begin,
  checkInvariants,
  complete,
  eventually,
  makeFile,
  putVolume,
  readVolume,
  register,
  Service,
  upload,
} from '../harness/index.ts';

/** What a client may have to wait for a 503 when nothing at all comes back. */
const LIMIT_MS = 50_000;

let postgres: Postgres;
let ceph: Ceph;
let toDatabase: Relay;
let toGateway: Relay;
let service: Service;

before(async () => {
  [postgres, ceph] = await Promise.all([Postgres.start(), Ceph.start()]);
  toDatabase = await Relay.open(Number(new URL(postgres.url).port));
  toGateway = await Relay.open(ceph.port);
  const database = new URL(postgres.url);
  database.port = String(toDatabase.port);
  service = new Service({
    env: {
      SZ_DATABASE: `${database.href}?schema=cut`,
      SZ_VOLUMES: `s3://${ceph.bucket}/cut?endpoint=http://127.0.0.1:${toGateway.port}`,
      ...ceph.environment,
      SZ_WORKERS: '1',
    },
  });
  await service.start();
});
after(async () => {
  await service?.discard();
  toDatabase?.close();
  toGateway?.close();
  await Promise.all([postgres?.stop(), ceph?.stop()]);
});

test('a cut network to a store: 503 in bounded time, nothing lost, and all goes on when it is mended', async () => {
  const user = await register(service);
  const { fileId, file } = await upload(user, makeFile([2_000_000, 40]));
  const pending = makeFile([3_000_000, 50]);
  const transferId = await begin(user, pending);
  const asked = async (what: Promise<{ status: number; text: string }>) => {
    const since = Date.now();
    const { status, text } = await what;
    assert.equal(status, 503, text);
    assert.ok(Date.now() - since < LIMIT_MS, `answered after ${Date.now() - since} ms`);
  };

  toGateway.cut();
  const large = { body: pending.volumes[0]!, timeoutMs: LIMIT_MS };
  const put = pathOf('writeVolume', { transfer_id: transferId, idx: 1 });
  await Promise.all([
    asked(user.call('PUT', put, large)),
    asked(user.get(pathOf('readVolume', { file_id: fileId, idx: 1 }), { timeoutMs: LIMIT_MS })),
    asked(user.get(pathOf('received', { transfer_id: transferId }), { timeoutMs: LIMIT_MS })),
    // What needs no volume goes on meanwhile.
    user.get(pathOf('quota')).then(({ status }) => assert.equal(status, 200)),
  ]);
  toGateway.mend();
  assert.equal((await putVolume(user, transferId, 1, pending.volumes[0]!)).status, 200);

  toDatabase.cut();
  await Promise.all([
    asked(user.get(pathOf('me'), { timeoutMs: LIMIT_MS })),
    asked(user.call('POST', pathOf('complete', { transfer_id: transferId }), { timeoutMs: LIMIT_MS })),
  ]);
  toDatabase.mend();
  await eventually(async () => assert.equal((await user.get(pathOf('me'))).status, 200), LIMIT_MS);
  await eventually(async () => {
    assert.equal((await putVolume(user, transferId, 2, pending.volumes[1]!)).status, 200);
  }, LIMIT_MS);
  const done = await complete(user, transferId);
  assert.equal(done.status, 200, done.text);
  await assertReadable(user, fileId, file);
  await assertReadable(user, String(done.json['file_id']), pending);
  assert.equal((await readVolume(user, fileId, 1, { range: 'bytes=5-9' })).status, 206);
  await checkInvariants(service, user.token);
});
