import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, test } from 'node:test';
import { readConfig } from '../../server/src/config.ts';
import { Files } from '../../server/src/files/files.ts';
import { Metadata } from '../../server/src/metadata.ts';
import { openSpace } from '../../server/src/platform/cluster/shared-limits.ts';
import { streamBody } from '../../server/src/platform/volumes/body.ts';
import type { Manifest, VolumeStore } from '../../server/src/platform/volumes/store.ts';
import { newProcessName, openDatabase, openVolumes, prepareStores } from '../../server/src/stores.ts';
import { SingleVolumeFiles } from '../../server/src/transfers/single-volume-files.ts';
import { DocumentQueue } from '../../server/src/upkeep/documents.ts';
import type { Engines } from './commands.ts';

type Around = (manifest: Manifest, write: () => Promise<void>) => Promise<void>;

/** The parts of the server that handle manifests, on real stores. */
class Workshop {
  readonly metadata: Metadata;
  readonly volumes: VolumeStore;
  readonly files: Files;
  readonly #singleVolumeFiles: SingleVolumeFiles;
  readonly #owner = { username: 'ann', accountId: randomBytes(16).toString('hex') };

  private constructor(metadata: Metadata, volumes: VolumeStore, config: ReturnType<typeof readConfig>) {
    this.metadata = metadata;
    this.volumes = volumes;
    const space = openSpace(config);
    this.files = new Files({ metadata, volumes, space, config, custody: { mayRemove: async () => true } });
    this.#singleVolumeFiles = new SingleVolumeFiles({ metadata, volumes, space, config });
  }

  static async open(engines: Engines, kind: string): Promise<Workshop> {
    const data = await mkdtemp(join(engines.home, 'documents-'));
    const id = `d${randomBytes(6).toString('hex')}`;
    const stores = kind === 'PostgreSQL and S3' ? engines.large(id) : {};
    const config = readConfig({ SZ_DATA: data, SZ_MIN_FREE: '0', ...engines.ceph.environment, ...stores });
    await prepareStores(config);
    const metadata = new Metadata(await openDatabase(config));
    const workshop = new Workshop(metadata, openVolumes(config, newProcessName()), config);
    const { username, accountId } = workshop.#owner;
    await metadata.accounts.create(username, 'hash', 1, { accountId });
    return workshop;
  }

  async file(): Promise<string> {
    const bytes = randomBytes(10);
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const body = {
      file_name: 'name',
      file_size: 10,
      total_sha256: sha256,
      chunk_count: 1,
      chunks: [{ size: 10, sha256 }],
      enc_params: {},
    };
    const stream = streamBody(Readable.from([bytes]));
    const id = randomBytes(20).toString('base64url');
    const init = { body, text: JSON.stringify(body) };
    const file = { transferId: id, init: () => init, length: 10, body: stream };
    return this.#singleVolumeFiles.receive(file, this.#owner, () => undefined);
  }

  /** Creates a queue whose manifest writes can be delayed or fail. */
  queue(around: Around): DocumentQueue {
    const { metadata, volumes } = this;
    return new DocumentQueue({
      metadata,
      volumes: {
        writeManifest: (manifest) => around(manifest, () => volumes.writeManifest(manifest)),
        removeManifest: (id) => volumes.removeManifest(id),
        writeAccount: (account) => volumes.writeAccount(account),
        removeAccount: (id) => volumes.removeAccount(id),
      },
    });
  }

  stale(): Promise<string[]> {
    return this.metadata.documents.staleManifests('', 100);
  }
}

/** Tests the document queue while files are changed at the same time. */
export function documentTests(engines: Engines, kinds: readonly string[]): void {
  for (const kind of kinds) {
    describe(`documents by a queue: ${kind}`, () => {
      test('a file that is deleted while its manifest is written leaves none, and does not come back', async () => {
        const workshop = await Workshop.open(engines, kind);
        const { metadata, volumes, files } = workshop;
        for (const moment of ['before', 'after'] as const) {
          const id = await workshop.file();
          const kept = await workshop.file();
          await Promise.all([files.move(id, 'ann', 0), files.move(kept, 'ann', 0)]);
          const queue = workshop.queue(async ({ file_id }, write) => {
            const isIt = file_id === id;
            if (isIt && moment === 'before') await files.remove(id, 'ann');
            await write();
            if (isIt && moment === 'after') await files.remove(id, 'ann');
          });
          assert.deepEqual(await queue.work(), []);
          assert.deepEqual(await workshop.stale(), [id], 'it is not certain yet');
          assert.deepEqual(await queue.work(), []);
          assert.deepEqual(await workshop.stale(), []);
          assert.equal(await volumes.manifest(id), undefined);
          const groups = await Array.fromAsync(volumes.groups(), (group) => group.id);
          assert.ok(groups.includes(kept) && !groups.includes(id));
          assert.equal((await volumes.manifest(kept))?.rev, 1);
        }
        await metadata.close();
      });

      test('a group that is on its way out is not touched', async () => {
        const workshop = await Workshop.open(engines, kind);
        const { metadata, volumes, files } = workshop;
        const id = await workshop.file();
        await files.move(id, 'ann', 0);
        // Like a DELETE that was interrupted after this step.
        const record = (await metadata.fileChanges.remove(id, 7))!;
        const queue = workshop.queue((_, write) => write());
        assert.deepEqual(await queue.work(), []);
        assert.ok(await volumes.manifest(id));
        assert.deepEqual(await workshop.stale(), [id]);
        await metadata.fileChanges.restore(record, 7);
        assert.deepEqual(await queue.work(), []);
        assert.equal((await volumes.manifest(id))?.rev, 2);
        assert.deepEqual(await workshop.stale(), []);
        await metadata.close();
      });

      test('one that cannot be written keeps no other waiting, and a change meanwhile is not forgotten', async () => {
        const workshop = await Workshop.open(engines, kind);
        const { metadata, volumes, files } = workshop;
        const ids = (await Promise.all(Array.from({ length: 12 }, () => workshop.file()))).sort();
        const [bad, changed] = ids as [string, string];
        await Promise.all(ids.map((id) => files.move(id, 'ann', 0)));
        let fails = true;
        let changes = true;
        const queue = workshop.queue(async ({ file_id }, write) => {
          if (file_id === bad && fails) throw new Error('not now');
          await write();
          if (file_id !== changed || !changes) return;
          changes = false;
          await files.move(changed, 'ann', 0);
        });
        assert.equal((await queue.work()).length, 1);
        assert.deepEqual(await workshop.stale(), [bad, changed]);
        fails = false;
        assert.deepEqual(await queue.work(), []);
        assert.deepEqual(await workshop.stale(), []);
        const revs = await Promise.all(ids.map(async (id) => (await volumes.manifest(id))?.rev));
        assert.deepEqual(revs, [1, 2, ...Array(10).fill(1)]);
        await metadata.close();
      });
    });
  }
}
