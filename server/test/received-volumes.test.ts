import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { after, before, test } from 'node:test';
import type { Volume } from '@szafa/protocol';
import { readConfig } from '../src/config.ts';
import { Metadata } from '../src/metadata.ts';
import { DiskSpace } from '../src/platform/disk-space.ts';
import { SqliteStore } from '../src/platform/sql/sqlite.ts';
import { streamBody } from '../src/platform/volumes/body.ts';
import { FolderStore } from '../src/platform/volumes/folder.ts';
import type { VolumeName } from '../src/platform/volumes/store.ts';
import { migrate } from '../src/schema.ts';
import { Completion } from '../src/transfers/completion.ts';
import { IncomingVolumes } from '../src/transfers/incoming-volumes.ts';
import { ReceivedVolumes } from '../src/transfers/received-volumes.ts';
import { Transfers } from '../src/transfers/transfers.ts';

/** A folder that says of itself that it is slow to list, and counts how it is asked. */
class SlowFolder extends FolderStore {
  readonly listsSlowly = true;
  asked = { lists: 0, volumes: 0 };

  override received(id: string): Promise<number[]> {
    this.asked.lists++;
    return super.received(id);
  }

  override open(id: string, volume: VolumeName) {
    this.asked.volumes++;
    return super.open(id, volume);
  }
}

const settings = {
  ...readConfig({}),
  maxVolumeBytes: 1000,
  quotaBytes: 0,
  quotaEnforced: false,
  openTransfers: 1000,
  openVolumes: 1_000_000,
  transferTtlMs: 60_000,
};
/** Without an end. */
const space = new DiskSpace({
  free: () => Number.MAX_SAFE_INTEGER,
  minFreeBytes: 0,
  holdsVolumes: true,
  borrow: async (least) => least,
});
const unannounced = { length: undefined, digest: undefined, begin: () => undefined };
const nothing = () => assert.fail('complete asks for a body');
const bytes = (idx: number) => Buffer.from(`volume ${idx}`);
const specOf = (idx: number): Volume => ({
  idx,
  size: bytes(idx).length,
  sha256: createHash('sha256').update(bytes(idx)).digest('hex'),
});
const body = (idx: number) => streamBody(Readable.from([bytes(idx)]));

const ann = { username: 'ann', accountId: 'ab'.repeat(16) };
let folder = '';
let metadata: Metadata;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'szafa-received-'));
  await FolderStore.prepare(folder);
  const sql = new SqliteStore(join(folder, 'szafa.db'));
  await migrate(sql);
  metadata = new Metadata(sql);
  await metadata.accounts.create(ann.username, 'hash', 0, { accountId: ann.accountId });
});
after(async () => {
  await metadata.close();
  await rm(folder, { recursive: true, force: true });
});

/** An upload of `count` volumes of which all but `missing` came through the service, the latter straight to the store. */
async function upload(count: number, missing: { noted: number[]; absent: number[] }) {
  const store = new SlowFolder(folder, 'p');
  const transfers = new Transfers({ metadata, volumes: store, space, config: settings });
  const receivedVolumes = new ReceivedVolumes({ metadata, volumes: store });
  const deps = { metadata, volumes: store, space, config: settings, transfers, receivedVolumes };
  const [incoming, completion] = [new IncomingVolumes(deps), new Completion(deps)];
  const receive = (idx: number) =>
    incoming.receive(transferId, found, { idx, body: body(idx), ...unannounced });
  const numbers = Array.from({ length: count }, (_, at) => at + 1);
  const chunks = numbers.map((idx) => ({ size: specOf(idx).size, sha256: specOf(idx).sha256 }));
  const init = {
    file_name: 'f',
    file_size: 1,
    total_sha256: 'ab'.repeat(32),
    chunk_count: count,
    chunks,
    enc_params: {},
  };
  const transferId = await transfers.init({ body: init, text: JSON.stringify(init) }, ann);
  const found = await transfers.find(transferId);
  for (const idx of numbers) {
    if (missing.absent.includes(idx)) continue;
    if (missing.noted.includes(idx)) await store.put(found.file_id, specOf(idx), body(idx));
    else await receive(idx);
  }
  store.asked = { lists: 0, volumes: 0 };
  return { transfers, completion, receive, store, transferId, found };
}

test('complete believes the notes and does not list', async () => {
  const { completion, store, transferId } = await upload(40, { noted: [], absent: [] });
  await completion.complete(transferId, ann, nothing);
  assert.deepEqual(store.asked, { lists: 0, volumes: 0 });
});

test('a few missing notes are made good by asking for these volumes', async () => {
  const { completion, store, transferId } = await upload(40, { noted: [1, 17, 40], absent: [] });
  await completion.complete(transferId, ann, nothing);
  assert.deepEqual(store.asked, { lists: 0, volumes: 3 });
});

test('many missing notes are made good by a list', async () => {
  const noted = Array.from({ length: 70 }, (_, at) => at + 1);
  const { completion, store, transferId } = await upload(80, { noted, absent: [] });
  await completion.complete(transferId, ann, nothing);
  assert.deepEqual(store.asked, { lists: 1, volumes: 0 });
});

test('a volume that is not there is missing, and what is there is told exactly', async () => {
  const { transfers, completion, receive, transferId, found } = await upload(6, { noted: [2], absent: [4] });
  await assert.rejects(completion.complete(transferId, ann, nothing), (error: { extra?: unknown }) => {
    assert.deepEqual(error.extra, { status: 'incomplete', received: [1, 2, 3, 5, 6] });
    return true;
  });
  assert.deepEqual(await transfers.received(found), { received: [1, 2, 3, 5, 6] });
  await receive(4);
  await completion.complete(transferId, ann, nothing);
});
