import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { contentDigest, pathOf } from '@szafa/protocol';
import { Report } from '../src/operator/commands/report.ts';
import type { VolumeName } from '../src/platform/volumes/store.ts';
import { fsck } from '../src/upkeep/commands/fsck.ts';
import { openPair } from '../src/upkeep/commands/pair.ts';
import { Sweeper } from '../src/upkeep/sweeper.ts';
import { InProcess, TOKEN } from './in-process.ts';

const digestOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const nameOf = (idx: number, bytes: Uint8Array): VolumeName => ({ idx, sha256: digestOf(bytes) });

/** An open transfer of no known length, of the administrator. */
class Streamed {
  readonly service: InProcess;
  readonly transferId: string;

  constructor(service: InProcess, transferId: string) {
    this.service = service;
    this.transferId = transferId;
  }

  static async begin(service: InProcess): Promise<Streamed> {
    const { json } = await service.call('POST', pathOf('init'), { streamed: true });
    return new Streamed(service, String(json['transfer_id']));
  }

  async row() {
    return (await this.service.services.metadata.transfers.get(this.transferId))!;
  }

  /** A PUT whose body is wanted by now, since everything that is asked before has been. */
  async offer(t: TestContext, idx: number, bytes: Uint8Array): Promise<Offer> {
    const offer = this.send(t, idx, bytes);
    assert.match(await offer.next(), /^HTTP\/1\.1 100 /);
    return offer;
  }

  send(t: TestContext, idx: number, bytes: Uint8Array): Offer {
    const socket = connect(Number(new URL(this.service.url).port), '127.0.0.1');
    t.after(() => socket.destroy());
    socket.write(
      [
        `PUT ${pathOf('writeVolume', { transfer_id: this.transferId, idx })} HTTP/1.1`,
        'Host: localhost',
        `Authorization: Bearer ${TOKEN}`,
        `Content-Digest: ${contentDigest(digestOf(bytes))}`,
        `Content-Length: ${bytes.length}`,
        'Expect: 100-continue',
        '\r\n',
      ].join('\r\n'),
    );
    const next = async () => String((await once(socket, 'data'))[0]);
    const status = async () => Number(/^HTTP\/1\.1 (\d{3}) /.exec(await next())?.[1]);
    const finish = () => {
      socket.write(bytes);
      return status();
    };
    return { next, status, finish, cut: () => socket.destroy() };
  }

  complete(count: number) {
    const body = { file_name: 'f', file_size: 1, total_sha256: '0'.repeat(64), enc_params: {} };
    const path = pathOf('complete', { transfer_id: this.transferId });
    return this.service.call('POST', path, { ...body, chunk_count: count });
  }
}

interface Offer {
  next(): Promise<string>;
  status(): Promise<number>;
  finish(): Promise<number>;
  cut(): void;
}

test('a volume that loses stays where the group is a file of another database: it may be made of it', async (t) => {
  const service = await InProcess.start(t);
  const { volumes } = service.services;
  const [filed, other] = [randomBytes(200_000), randomBytes(200_000)];
  for (const end of ['another won', 'cancelled'] as const) {
    const transfer = await Streamed.begin(service);
    const { file_id } = await transfer.row();
    // As after a restore of the database: the store knows what became of the transfer.
    assert.equal(await (await transfer.offer(t, 1, filed)).finish(), 200);
    const spec = { ...nameOf(1, filed), size: filed.length };
    const { metadata } = service.services;
    await metadata.streamed.withdraw(transfer.transferId, spec);
    await volumes.writeManifest({
      ...{
        file_id,
        file_name: 'f',
        size: 1,
        sha256: '0'.repeat(64),
        account_id: '0',
        owner: 'admin',
        dir_id: 0,
      },
      ...{ chunk_count: 1, created_at: new Date().toISOString(), enc_params: '{}', rev: 0, volumes: [spec] },
    });
    const late = await transfer.offer(t, 1, filed);
    if (end === 'cancelled') {
      const path = pathOf('cancel', { transfer_id: transfer.transferId });
      assert.equal((await service.call('DELETE', path)).status, 200);
    } else assert.equal(await (await transfer.offer(t, 1, other)).finish(), 200);
    assert.equal(await late.finish(), end === 'cancelled' ? 404 : 409);
    const here = await volumes.open(file_id, spec);
    await here?.close();
    assert.ok(here, `${end}: a volume of the file is gone`);
  }
});

test('a volume of a transfer that was cancelled meanwhile is 404, also where the same was there already', async (t) => {
  const service = await InProcess.start(t);
  const transfer = await Streamed.begin(service);
  const bytes = randomBytes(200_000);
  assert.equal(await (await transfer.offer(t, 1, bytes)).finish(), 200);
  const late = await transfer.offer(t, 1, bytes);
  const path = pathOf('cancel', { transfer_id: transfer.transferId });
  assert.equal((await service.call('DELETE', path)).status, 200);
  assert.equal(await late.finish(), 404);
});

test('where too many volumes are open the answer comes before the body, but what is there already is taken again', async (t) => {
  const service = await InProcess.start(t, { SZ_OPEN_VOLUMES: '2' });
  const [one, two] = [await Streamed.begin(service), await Streamed.begin(service)];
  const bytes = randomBytes(200_000);
  assert.equal(await (await one.offer(t, 1, bytes)).finish(), 200);
  assert.equal(await (await two.offer(t, 1, bytes)).finish(), 200);
  assert.equal(await one.send(t, 2, bytes).status(), 429);
  assert.equal(await (await one.offer(t, 1, bytes)).finish(), 200);
  assert.equal((await two.complete(1)).status, 200);
  assert.equal(await (await one.offer(t, 2, bytes)).finish(), 200);
});

test('a volume that is acknowledged stays, while another PUT of the same finds that too many are open', async (t) => {
  const service = await InProcess.start(t, { SZ_OPEN_VOLUMES: '1' });
  const { metadata, volumes } = service.services;
  const [one, two] = [await Streamed.begin(service), await Streamed.begin(service)];
  const bytes = randomBytes(200_000);
  // Both are past every question when the account becomes full.
  const [first, second] = [await one.offer(t, 1, bytes), await one.offer(t, 1, bytes)];
  assert.equal(await (await two.offer(t, 1, bytes)).finish(), 200);
  // Its bytes are there, its row is not yet.
  const [secondArrives, firstIsAsked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const record = metadata.streamed.record.bind(metadata.streamed);
  t.mock.method(
    metadata.streamed,
    'record',
    async (...args: Parameters<typeof record>) => {
      secondArrives.resolve();
      await firstIsAsked.promise;
      return record(...args);
    },
    { times: 1 },
  );
  const acknowledged = second.finish();
  await secondArrives.promise;
  // The other one is about to take them away again.
  const withdraw = volumes.withdraw.bind(volumes);
  t.mock.method(volumes, 'withdraw', (...[id, name, isRight]: Parameters<typeof withdraw>) =>
    withdraw(id, name, async (volume) => {
      const right = await isRight(volume);
      assert.equal((await two.complete(1)).status, 200);
      firstIsAsked.resolve();
      assert.equal(await acknowledged, 200);
      return right;
    }),
  );
  const refused = first.finish();
  await Promise.race([refused, firstIsAsked.promise]);
  firstIsAsked.resolve();
  await refused;
  assert.equal(await acknowledged, 200);
  const here = await volumes.open((await one.row()).file_id, nameOf(1, bytes));
  await here?.close();
  assert.ok(here, 'an acknowledged volume is gone');
});

test('under a quota: a stored volume is taken again, and what a crash had claimed goes to whoever sends it', async (t) => {
  const service = await InProcess.start(t, { SZ_QUOTA: '300000', SZ_QUOTA_ENFORCE: '1' });
  const { metadata } = service.services;
  const transfer = await Streamed.begin(service);
  const [one, two] = [randomBytes(200_000), randomBytes(100_000)];
  // As by a process that died with the body half read.
  await metadata.streamed.claimQuota(transfer.transferId, { idx: 1, size: one.length }, 300_000);
  assert.equal(await (await transfer.offer(t, 1, one)).finish(), 200);
  for (let times = 0; times < 2; times++) assert.equal(await (await transfer.offer(t, 1, one)).finish(), 200);
  assert.equal(await transfer.send(t, 2, one).status(), 507);
  (await transfer.offer(t, 2, two)).cut();
  assert.equal(await (await transfer.offer(t, 2, two)).finish(), 200);
  assert.equal((await transfer.row()).stored_size, 300_000);
  assert.equal((await transfer.complete(2)).status, 200);
});

test('under a quota: a volume that loses against another of its number gives back what it claimed', async (t) => {
  const service = await InProcess.start(t, { SZ_QUOTA: '300000', SZ_QUOTA_ENFORCE: '1' });
  const { metadata } = service.services;
  const transfer = await Streamed.begin(service);
  const [kept, late] = [randomBytes(100_000), randomBytes(150_000)];
  const first = await transfer.offer(t, 1, kept);
  // The first one arrives after the second has looked for it, and before the second claims its bytes.
  const claim = metadata.streamed.claimQuota.bind(metadata.streamed);
  t.mock.method(metadata.streamed, 'claimQuota', async (...args: Parameters<typeof claim>) => {
    if (args[1].idx === 1) assert.equal(await first.finish(), 200);
    return claim(...args);
  });
  assert.equal(await (await transfer.offer(t, 1, late)).finish(), 409);
  assert.equal((await transfer.row()).stored_size, kept.length);
  assert.equal(await (await transfer.offer(t, 2, randomBytes(200_000))).finish(), 200);
});

test('a start gives back what was claimed for volumes that were on their way', async (t) => {
  const service = await InProcess.start(t, { SZ_QUOTA: '300000', SZ_QUOTA_ENFORCE: '1' });
  const { metadata } = service.services;
  const transfer = await Streamed.begin(service);
  const bytes = randomBytes(200_000);
  assert.equal(await (await transfer.offer(t, 1, bytes)).finish(), 200);
  for (const idx of [2, 3])
    await metadata.streamed.claimQuota(transfer.transferId, { idx, size: 50_000 }, 300_000);
  assert.equal(await transfer.send(t, 4, bytes.subarray(1)).status(), 507);
  await new Sweeper({ ...service.services, shared: false }).recover();
  assert.equal((await transfer.row()).stored_size, 200_000);
});

test('fsck: a volume that comes again between the last look and its withdrawal, as S3 allows, has to be sent once more', async (t) => {
  const service = await InProcess.start(t);
  const transfer = await Streamed.begin(service);
  const { file_id } = await transfer.row();
  const bytes = randomBytes(200_000);
  const { idx, sha256 } = nameOf(1, bytes);
  const put = async () => (await transfer.offer(t, 1, bytes)).finish();
  assert.equal(await put(), 200);
  const place = join(service.folder, 'volumes', file_id.slice(0, 2), file_id, `${idx}-${sha256}`);
  await writeFile(place, randomBytes(200_000));
  const pair = await openPair(service.services.config);
  t.after(() => pair.close());
  const withdraw = pair.volumes.withdraw.bind(pair.volumes);
  t.mock.method(pair.volumes, 'withdraw', async (...[id, name, isRight]: Parameters<typeof withdraw>) => {
    const volume = (await pair.volumes.open(id, name))!;
    assert.equal(await isRight(volume).finally(() => volume.close()), false);
    assert.equal(await put(), 200);
    return withdraw(id, name, async () => false);
  });
  const silent = () => undefined;
  await fsck(pair, { repair: true, bytesPerSecond: 1e9 }, new Report(true, silent, silent));
  assert.equal((await transfer.complete(1)).status, 409);
  assert.equal(await put(), 200);
  assert.equal((await transfer.complete(1)).status, 200);
});
