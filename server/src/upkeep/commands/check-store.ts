import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Config } from '../../config.ts';
import type { Report } from '../../operator/commands/report.ts';
import { VolumeRejected } from '../../platform/errors.ts';
import { readAnswer, type S3Client } from '../../platform/s3/client.ts';
import { sha256Hex } from '../../platform/s3/signer.ts';
import { streamBody } from '../../platform/volumes/body.ts';
import { FolderStore } from '../../platform/volumes/folder.ts';
import type { VolumeStore } from '../../platform/volumes/store.ts';
import { newProcessName, openS3, openVolumes, requireVolumes } from '../../stores.ts';
import { digestOf } from '../volume-check.ts';

/** Checks by the property they verify. */
type Checks = Record<string, () => Promise<void>>;

const newId = () => randomBytes(16).toString('hex');
const BYTES = 3 * 1024 * 1024;

/** Checks that a volume store has the properties the server relies on. Creates test objects and deletes them. */
export async function checkStore(config: Config, report: Report): Promise<void> {
  if (!config.s3) await FolderStore.prepare(config.dataFolder, { groupReads: config.accel });
  const store = openVolumes(config, newProcessName());
  // An unreachable store is an error, not a failed check.
  await requireVolumes(store);
  const client = config.s3 && openS3(config.s3);
  const checks = { ...storeChecks(store), ...(client && s3Checks(client)) };
  for (const [promise, run] of Object.entries(checks)) {
    try {
      await run();
      report.line({ kept: promise });
      report.count('checks passed');
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      report.problem('checks failed', { promise, why });
    }
  }
  client?.close();
}

/** Checks for any volume store, through the interface that the server uses. */
function storeChecks(store: VolumeStore): Checks {
  const bytes = randomBytes(BYTES);
  const volume = { idx: 1, size: BYTES, sha256: createHash('sha256').update(bytes).digest('hex') };
  const [id, copy] = [newId(), newId()];
  const body = (content: Buffer) => streamBody(Readable.from([content], { objectMode: false }));
  const assertStored = async (group: string) => {
    const open = await store.open(group, volume);
    assert.ok(open, 'an acknowledged volume is missing');
    assert.equal(await digestOf(open), volume.sha256, 'different bytes came back');
    await open.close();
  };
  return {
    'a volume can be read as soon as it is acknowledged': async () => {
      await store.create(id);
      await store.put(id, volume, body(bytes));
      await assertStored(id);
      assert.deepEqual(await store.received(id), [1], 'it is not listed');
    },
    'a wrong body is refused and damages nothing': async () => {
      await assert.rejects(store.put(id, volume, body(randomBytes(BYTES))), VolumeRejected);
      await assertStored(id);
    },
    'a copy is made by the store itself': async () => {
      await store.copy(id, copy, [volume]);
      await assertStored(copy);
    },
    'what is deleted is gone': async () => {
      for (const group of [id, copy]) {
        await store.remove(group);
        assert.equal(await store.open(group, volume), undefined, 'it can still be read');
        assert.deepEqual(await store.received(group), [], 'it is still listed');
      }
      // Reclaims only the test groups and leaves all others to the server.
      await store.reclaim(async (ids) => new Set(ids.filter((one) => one !== id && one !== copy)));
    },
  };
}

/** Further checks for S3 stores. */
function s3Checks(client: S3Client): Checks {
  const [key, broken] = [`check/${newId()}`, `check/${newId()}`];
  const content = Buffer.from('szafa check-store');
  return {
    'conditional put: an object is not created twice (If-None-Match)': async () => {
      assert.equal(await client.write(key, content, { onlyNew: true }), true);
      assert.equal(
        await client.write(key, content, { onlyNew: true }),
        false,
        'it was created a second time',
      );
    },
    'the signed payload hash is verified by the store': async () => {
      const request = client.begin({ method: 'PUT', key }, sha256Hex('something else'), content.length);
      const status = await new Promise<number>((resolve, reject) => {
        request.on('error', reject).on('response', (response) => {
          readAnswer(response).then((answer) => resolve(answer.status), reject);
        });
        request.end(content);
      });
      assert.ok(status >= 400 && status < 500, `a body with a wrong digest was answered with ${status}`);
      assert.ok((await client.read(key))?.equals(content), 'the existing object was damaged');
    },
    'an incomplete body leaves nothing': async () => {
      const request = client.begin({ method: 'PUT', key: broken }, sha256Hex(content), 1_000_000);
      await new Promise<void>((resolve) => {
        request.on('error', () => resolve()).on('close', () => resolve());
        request.write(content, () => request.destroy());
      });
      assert.equal(await client.size(broken), undefined, 'part of it is there');
    },
    'objects are deleted in batches': async () => {
      await client.delete([key, broken]);
      assert.equal(await client.size(key), undefined, 'it is still there');
    },
  };
}
